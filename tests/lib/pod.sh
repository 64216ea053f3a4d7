# SPDX-License-Identifier: Apache-2.0
# The two processes of the pod of pkg/kubernetes, with the rights of their containers. Source it after daemon.sh.

CAPS=bpf,perfmon,sys_ptrace,syslog,dac_read_search,checkpoint_restore
POD_VIEW=()

# start_recorder, start_web [OPTION..]: the two containers' processes, as their manifests have them. $POD_VIEW are words
# before the recorder's command.
start_recorder() {
	start "${POD_VIEW[@]}" setpriv --bounding-set="-all,+${CAPS//,/,+}" --inh-caps=-all --no-new-privs \
		"$SYSFLAME" serve --role recorder --socket "$TMP/pod/channel" --web-user 65532 --agent never 2>>recorder.err
	RECORDER=$PID
	wait_for 60 grep -q 'the recorder waits' recorder.err
}

start_web() {
	start setpriv --reuid 65532 --regid 65532 --groups 65532 --bounding-set=-all --inh-caps=-all --no-new-privs \
		"$SYSFLAME" serve --role web --socket "$TMP/pod/channel" --dir "$TMP/d" --listen 127.0.0.1:0 "$@" 2>>serve.err
	DAEMON=$PID
	await_daemon
}

# give_store FOLDER: as the container of that name, without any right but CHOWN.
give_store() {
	setpriv --bounding-set=-all,+chown --inh-caps=-all --no-new-privs \
		"$SYSFLAME" serve --role store --dir "$1" --web-user 65532
}

has_recorder() {
	[ "$(api api/v1/node | field 'd.recorder.up ?? d.recorder.is_up ?? d.recorder')" != false ] &&
		[ "$(code api/v1/sessions -d '{"events":"cpu","duration_s":1,"target":{"kind":"node","text":""}}')" = 201 ]
}

# pod [OPTION..]: both, with options of the web process.
pod() {
	setpriv --help | grep -q bounding-set || skip 'setpriv cannot set capabilities'
	mkdir pod
	chmod 1777 pod
	chmod 711 "$TMP"
	give_store "$TMP/d"
	start_recorder
	start_web "$@"
	wait_for 60 has_recorder
}
