#!/bin/sh
# clean-install.sh PACKAGES [PAGE…]: installs the deb for this machine from the directory
# PACKAGES in a new Debian, checks what it brings, and runs the commands of each PAGE there
# as the tests do, with the installed pianola: TestRecipes has the rules.
# Root only. Nothing stays behind, except in DEBIAN, where given: a directory that keeps
# the bare system for the next time. SUITE and MIRROR choose the Debian.
set -eu
. "$(dirname "$0")/lib.sh"
packages=$1
shift
[ $# -gt 0 ] || set -- tutorial.md README.md
suite=${SUITE-bookworm} mirror=${MIRROR-http://deb.debian.org/debian}
[ "$(id -u)" = 0 ] || fail 1 "only root can make a system"
sh scripts/need.sh debootstrap=debootstrap
# The mounts below are of this script alone, and end with it.
[ -n "${CLEAN_INSTALL_APART-}" ] || CLEAN_INSTALL_APART=1 exec unshare --mount --propagation private sh "$0" "$packages" "$@"

work=$(mktemp -d)
system=$work/system
tidy() {
	umount -R -l "$system" "$work/changes" 2>/dev/null || :
	rm -rf --one-file-system "$work"
}
base=${DEBIAN-$work/base}
if [ ! -e "$base/etc/debian_version" ]; then
	at "debootstrap"
	into "$work/log" debootstrap --variant=minbase "$suite" "$base" "$mirror"
fi
at "a system"
mkdir "$system" "$work/changes"
mount -t tmpfs -o mode=755 tmpfs "$work/changes" # an overlay can't be over some file systems
mkdir "$work/changes/upper" "$work/changes/work"
mount -t overlay -o "lowerdir=$base,upperdir=$work/changes/upper,workdir=$work/changes/work" overlay "$system"
for dir in proc sys dev; do mount --rbind "/$dir" "$system/$dir"; done
cp /etc/resolv.conf "$system/etc/"
in_system() { chroot "$system" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"; }
into "$work/log" in_system apt-get update
# bash-completion and man-db show what the package brings; the others are those of pages.
into "$work/log" in_system apt-get install -y --no-install-recommends bash-completion man-db sqlite3 e2fsprogs python3-minimal

at "the installation"
arch=$(in_system dpkg --print-architecture)
deb=$(ls "$packages"/pianola_*_"$arch".deb)
cp "$deb" "$system/root/pianola.deb"
into "$work/log" in_system apt-get install -y /root/pianola.deb
in_system pianola --version

at "doctor"
in_system sh -c 'cd /root && pianola doctor'

at "the manual pages"
in_system sh -c 'for page in pianola pianola-record; do man -w $page; done' >/dev/null
in_system env MANWIDTH=200 man -P cat pianola-record | grep -q 'record the I/O' || fail 1 "pianola-record(1) is not that of record"

at "completion"
# shellcheck disable=SC2016
got=$(in_system bash -c '. /usr/share/bash-completion/bash_completion; _completion_loader pianola
	COMP_WORDS=(pianola rep) COMP_CWORD=1 COMP_LINE="pianola rep" COMP_POINT=11; _pianola; echo "${COMPREPLY[@]}"')
[ "$got" = replay ] || fail 1 "bash completes \"pianola rep\" to \"$got\""

at "the pages"
CGO_ENABLED=0 "${GO-go}" test -c -o "$system/root/pages" ./cmd/pianola
mkdir -p "$system/root/src/cmd/pianola"
cp -r README.md docs "$system/root/src/"
cp -r cmd/pianola/testdata "$system/root/src/cmd/pianola/"
for page; do
	at "$page"
	in_system sh -c "cd /root/src/cmd/pianola && PIANOLA_INSTALLED=1 PIANOLA_REQUIRE_BPF=1 /root/pages -test.v -test.run 'TestRecipes/^$page\$'" >"$work/log" 2>&1 || { cat "$work/log"; fail 1 "$page does not work"; }
	grep -q -- "--- PASS: TestRecipes/$page" "$work/log" || { cat "$work/log"; fail 1 "$page was not run"; }
	echo "$page: its commands print what it says"
done
