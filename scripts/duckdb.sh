#!/bin/sh
# duckdb.sh DIR: installs DuckDB for Node.js in DIR/node_modules, if it is not there. Without
# npm, or without a registry, it says so and ends well: what needs DuckDB will say so again.
set -eu
. "$(dirname "$0")/lib.sh"
package=@duckdb/node-api@1.5.6-r.1
at "making $1"
mkdir -p "$1"
at "installing $package"
[ ! -d "$1/node_modules/@duckdb/node-api" ] || exit 0
if ! has npm; then
	echo "duckdb.sh: npm is not here, so questions in SQL are not asked" >&2
	exit 0
fi
npm install --silent --no-audit --no-fund --prefix "$1" "$package" >"$1/npm.out" 2>&1 ||
	echo "duckdb.sh: npm could not install $package: $(tail -n 1 "$1/npm.out")" >&2
