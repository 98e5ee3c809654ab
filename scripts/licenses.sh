#!/bin/sh
# licenses.sh: prints the licences of all modules that are in the commands, and that of
# Go's standard library. Their terms are that a binary comes with them.
set -eu
go=${GO-go}
echo "Pianola contains the following modules."
{
	echo "go $($go env GOVERSION) $($go env GOROOT)"
	$go list -deps -tags urfave_cli_no_docs -f '{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}' ./cmd/pianola ./cmd/pianola-ranks | sort -u
} | while read -r module version dir; do
	printf '\n%s\n%s %s\n\n' "----------------------------------------" "$module" "$version"
	found=
	for file in "$dir"/LICEN[SC]E* "$dir"/COPYING* "$dir"/NOTICE*; do
		[ -f "$file" ] || continue
		cat "$file"
		found=1
	done
	[ -n "$found" ] || { echo "$module: no licence found" >&2; exit 1; }
done
