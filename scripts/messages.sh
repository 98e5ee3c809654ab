#!/bin/sh
# messages.sh SCRIPT…: of the receives that the recordings note, how many have a
# send whose bytes reach as far (docs/internals/record.md, Messages). A receive can stand
# before its send, which had not ended.
set -eu
. "$(dirname "$0")/lib.sh"
[ $# -gt 0 ] || fail 2 "no recording"
printf 'recording\tsends\treceives\tfound\tshare\tearlier\n'
for recording; do
	at "$recording"
	awk -v name="${recording##*/}" '
	# The note sent=KIND:CHANNEL+POSITION, or got=; positions wrap at 2^32.
	match($0, /[ {](sent|got)=[^ }]+/) {
		split(substr($0, RSTART + 1, RLENGTH - 1), part, /[=+]/)
		at = part[2]
		if (!(at in first))
			first[at] = part[3]
		pos = (part[3] - first[at] + 6442450944) % 4294967296 # the first one lies in the middle
		if (part[1] == "sent") {
			sends++
			if (pos > most[at])
				most[at] = pos
		} else {
			from[++receives] = at
			to[receives] = pos
			earlier += pos > most[at]
		}
	}
	END {
		for (i = 1; i <= receives; i++)
			found += from[i] in most && to[i] <= most[from[i]]
		printf "%s\t%d\t%d\t%d\t%.2f%%\t%d\n", name, sends, receives, found, receives ? 100 * found / receives : 0, earlier - (receives - found)
	}' "$recording"
done
