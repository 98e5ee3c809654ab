#!/bin/sh
# pictures.sh DEMO DIR: takes pictures of the page about the demo that stands in
# DEMO. The directory of this clone is shown as another.
set -eu
. "$(dirname "$0")/lib.sh"
tmp=$(mktemp -d)
tidy() { rm -rf "$tmp"; }
sed "s,$(pwd),/home/user/pianola,g" "$1/trace.txt" >"$tmp/trace.txt"
bin/pianola profile --html "$tmp/page.html" "$tmp/trace.txt" >"$tmp/profile.txt"
go run ./scripts/pictures "$tmp/page.html" "$2"
