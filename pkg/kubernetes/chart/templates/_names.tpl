{{- /* SPDX-License-Identifier: Apache-2.0 */}}
{{- define "sysflame.labels" -}}
app.kubernetes.io/name: sysflame
{{- end }}
{{- define "sysflame.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}
{{- define "sysflame.conf" -}}
max_hz = {{ .Values.recorder.maxHz }}
max_duration = {{ .Values.recorder.maxDuration }}
max_recordings = {{ .Values.recorder.maxRecordings }}
{{- range .Values.recorder.allow }}
allow = {{ . }}
{{- end }}
{{- range .Values.recorder.redact }}
redact = {{ . }}
{{- end }}
{{- range .Values.recorder.triggers }}
trigger = {{ . }}
{{- end }}
{{ end }}
{{- define "sysflame.placed" -}}
nodeSelector:
  kubernetes.io/os: linux
  kubernetes.io/arch: amd64
  {{- with .Values.nodeSelector }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
priorityClassName: {{ .Values.priorityClass.name }}
{{- end }}
{{- define "sysflame.probe" -}}
httpGet: { path: /healthz, port: http{{ if .Values.tls.secret }}, scheme: HTTPS{{ end }} }
{{- end }}
