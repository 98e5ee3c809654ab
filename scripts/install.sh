#!/bin/sh
# install.sh BIN: copies what make build and make man left in BIN to PREFIX, below
# DESTDIR: the commands, the manual pages, completions, workloads, docs and licences. ZSHDIR is the
# directory of functions of zsh.
set -eu
bin=$1 to=${DESTDIR-}$PREFIX
umask 022
for file in "$bin/pianola" "$bin/pianola-ranks" "$bin/man/pianola.1"; do
	[ -f "$file" ] || { echo "no $file: run make build man first" >&2; exit 1; }
done
put() { # MODE FILE… DIRECTORY, or MODE FILE NAME with -T
	mode=$1; shift
	install -D -m "$mode" "$@"
}
put 755 -t "$to/bin" "$bin/pianola" "$bin/pianola-ranks"
put 644 -t "$to/share/man/man1" "$bin"/man/*.1
put 644 -T cmd/cli/completion/pianola.bash "$to/share/bash-completion/completions/pianola"
put 644 -T cmd/cli/completion/pianola.fish "$to/share/fish/vendor_completions.d/pianola.fish"
put 644 -T cmd/cli/completion/pianola.zsh "${DESTDIR-}$ZSHDIR/_pianola"
doc=$to/share/doc/pianola
put 644 -t "$doc" README.md CHANGELOG.md LICENSE
find docs -type f | while read -r file; do put 644 -T "$file" "$doc/$file"; done
find workloads -name trace.bin | while read -r trace; do
	name=${trace%/trace.bin}
	put 644 -t "$to/share/pianola/$name" "$name/trace.bin" "$name/workload.yaml" "$name/profile.svg"
done
