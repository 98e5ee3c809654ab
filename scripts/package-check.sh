#!/bin/sh
# package-check.sh: builds the packages twice and compares them: here, and from a copy of
# the tree in another directory, with another umask, time zone and language, and with
# nothing in the cache of Go. VERSION, COMMIT and SOURCE_DATE_EPOCH are those of make.
set -eu
. "$(dirname "$0")/lib.sh"
work=$(mktemp -d)
tidy() { rm -rf "$work"; }
at "nfpm"
${GO-go} build -modfile=packaging/go.mod -o "$work/nfpm" github.com/goreleaser/nfpm/v2/cmd/nfpm
export NFPM="$work/nfpm"
at "the first build"
sh scripts/package.sh "$work/first"
at "a copy of the tree"
mkdir "$work/elsewhere"
git -c safe.directory='*' ls-files -z | tar -cf - --null -T - | tar -xf - -C "$work/elsewhere"
at "the second build"
modules=$(${GO-go} env GOMODCACHE)
(
	umask 077
	cd "$work/elsewhere"
	TZ=Asia/Tokyo LC_ALL=C.UTF-8 GOCACHE=$work/cache GOMODCACHE=$modules sh scripts/package.sh "$work/second"
)
at "the comparison"
diff "$work/first/SHA256SUMS" "$work/second/SHA256SUMS" || fail 1 "two builds of one commit differ"
echo "equal: $(wc -l <"$work/first/SHA256SUMS") files"
