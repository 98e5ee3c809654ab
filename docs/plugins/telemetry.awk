# Generates reads from telemetry of iozone, as the example of Tracereplay does:
# each line is an offset, a length, and the milliseconds to compute after that.
#
#   pianola compile -o reads.bin 'exec:awk -f docs/plugins/telemetry.awk telemetry.txt'
#
# The file that is read is as long as that takes.

/^[ \t]*(#|$)/ { next }

NF != 3 || $0 ~ /[^0-9. \t\r]/ {
	print FILENAME ":" FNR ": want OFFSET LENGTH MILLISECONDS" | "cat >&2"
	failed = 1
	exit
}

{
	calls = calls sprintf("lseek ( 3 %d 0 ) = %d\nread ( 3 %d ) = %d\ncompute ( %.9f )\n", $1, $1, $2, $2, $3 / 1000)
	if ($1 + $2 > size)
		size = $1 + $2
}

END {
	if (failed)
		exit 1
	print "# pianola intermediate 1"
	printf "# file: \"telemetry\" reg mode=0600 size=%d cached=-1\n", size
	printf "open ( telemetry 1 ) = 3\n%sclose ( 3 ) = 0\n", calls
}
