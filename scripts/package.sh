#!/bin/sh
# package.sh DIR: makes pianola_VERSION_ARCH.deb, pianola-VERSION.ARCH.rpm and
# pianola-VERSION-linux-ARCH.tar.gz for each architecture in DIR, with their checksums.
# The same commit gives the same bytes: all times are SOURCE_DATE_EPOCH.
# VERSION and COMMIT are those of make. NFPM is the program that makes packages.
set -eu
. "$(dirname "$0")/lib.sh"
dir=$1
go=${GO-go}
nfpm=${NFPM-$go tool -modfile=packaging/go.mod nfpm}
umask 022
export TZ=UTC0 LC_ALL=C
# A version of packages begins with a number: 0.1.0, 0.1.0~rc1 before that,
# 0.1.0+3.g01234 three commits behind it, and 0.0.0+01234 where there is no tag.
PACKAGE_VERSION=$(printf %s "$VERSION" | sed 's/^v//; /^[0-9][0-9]*\./!s/^/0.0.0-/; s/-\(alpha\|beta\|rc\)/~\1/; s/-/+/; s/-/./g')
export PACKAGE_VERSION
work=$(mktemp -d)
tidy() { rm -rf "$work"; }
rm -rf "$dir"
mkdir -p "$dir"
at "licences"
sh scripts/licenses.sh >"$work/THIRD-PARTY-LICENSES"
for ARCH in amd64 arm64; do
	STAGE=$work/$ARCH
	export ARCH STAGE
	at "$ARCH"
	GOARCH=$ARCH make -s --no-print-directory install BIN="$work/bin" DESTDIR="$STAGE" PREFIX=/usr ZSHDIR=/zsh VERSION="$VERSION" COMMIT="$COMMIT"
	install -m 644 -t "$STAGE/usr/share/doc/pianola" "$work/THIRD-PARTY-LICENSES"
	find "$STAGE" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
	# A manual page of an archive is read as it is; packages have them compressed.
	name=pianola-$PACKAGE_VERSION-linux-$ARCH
	tar -C "$STAGE" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" \
		--transform "s,^usr,$name," --transform "s,^zsh,$name/share/zsh/site-functions," -cf - usr zsh | gzip -9n >"$dir/$name.tar.gz"
	gzip -9n "$STAGE"/usr/share/man/man1/*.1
	find "$STAGE" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
	for packager in deb rpm; do
		into "$work/nfpm.log" $nfpm package --packager "$packager" --config packaging/nfpm.yaml --target "$(cd "$dir" && pwd)"
	done
done
(cd "$dir" && sha256sum -- * >SHA256SUMS && ls -l)
