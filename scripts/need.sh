#!/bin/sh
# need.sh PROGRAM=PACKAGE …: installs the Debian package of each program that is
# missing. Without root, or without apt-get, it says what is missing and goes
# on: what needs the program will say so again.
missing=
for pair in "$@"; do
	command -v "${pair%%=*}" >/dev/null 2>&1 || missing="$missing ${pair#*=}"
done
[ -n "$missing" ] || exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
	echo "missing, and can't be installed without root and apt-get:$missing" >&2
	exit 0
fi
echo "installing:$missing"
{ apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $missing; } >/dev/null ||
	echo "could not install:$missing" >&2
