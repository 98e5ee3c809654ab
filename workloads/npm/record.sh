#!/bin/sh
# npm ci of an application and its tools from npm's cache, which is not in memory.
# The seed fills the cache from the registry.
. "$(dirname "$0")/../record.sh"
programs=npm=npm
version() { npm --version 2>/dev/null; }
seed() {
	cat >package.json <<'J'
{"name": "load", "version": "1.0.0", "private": true, "dependencies": {"express": "4.21.2", "lodash": "4.17.21", "mocha": "10.8.2"}}
J
	npm install --no-audit --no-fund --no-update-notifier --ignore-scripts
	rm -rf node_modules .npm/_logs
}
run() { "$@" npm ci --offline --no-audit --no-fund --no-update-notifier --ignore-scripts --loglevel error; }
record
