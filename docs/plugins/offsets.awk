# Reads and writes at random offsets of the same files, by a seed:
#
#   pianola compile -o random.bin --with 'exec:awk -v seed=1 -f docs/plugins/offsets.awk' trace.txt
#
# pread64 and pwrite64 that moved all they were asked to go to a random multiple
# of their size within the file. Files that the trace makes are left as they are,
# and so are those with a quote in their name.

# below returns a random whole number below n, the same in every awk: it is the
# generator of Park and Miller.
function below(n) {
	state = state * 16807 % 2147483647
	return int(state / 2147483647 * n)
}

BEGIN { state = seed % 2147483646 + 1 }

/^# thread: / { split($4, field, "="); process[$3] = field[2] }

/^# file: "[^"]*" reg / {
	match($0, /"[^"]*"/)
	name = substr($0, RSTART + 1, RLENGTH - 2)
	match($0, / size=[0-9]+/)
	size[name] = substr($0, RSTART + 6, RLENGTH - 6)
}

/^#/ { print; next }

{
	thread = $1 ~ /^[0-9]+$/ ? $1 : 1
	table = thread in process ? process[thread] : 1
}

match($0, /(^| )openm? \( ("[^"]*"|[^ "]+) /) {
	name = substr($0, RSTART, RLENGTH - 1)
	sub(/^.*\( "?/, "", name)
	sub(/"$/, "", name)
	rest = substr($0, RSTART + RLENGTH)
	sub(/^.*\) = /, "", rest)
	opened[table, rest + 0] = name
}

match($0, /p(read|write)64 \( [0-9]+ [0-9]+ [0-9]+ \) = [0-9]+/) {
	split(substr($0, RSTART, RLENGTH), word, " ") # operation ( descriptor size offset ) = result
	blocks = word[4] > 0 ? int(size[opened[table, word[3]]] / word[4]) : 0
	if (word[4] == word[8] && blocks > 0) {
		call = word[1] " ( " word[3] " " word[4] " " below(blocks) * word[4] " ) = " word[8]
		$0 = substr($0, 1, RSTART - 1) call substr($0, RSTART + RLENGTH)
	}
}

{ print }
