# lib.sh: functions for all scripts, to be sourced after set -eu. A script that
# fails prints its name, its step, its status, and the end of the last log file. A
# script can define a function tidy, which is called at its end.
script=${0##*/} step=start log='' told=''
tidy() { :; }
has() { command -v "$1" >/dev/null 2>&1; }

# at WORDS…: names the step that begins.
at() { step=$*; }

# into FILE COMMAND…: runs the command in a subshell, with its output in FILE.
into() {
	case $1 in /*) log=$1 ;; *) log=$(pwd)/$1 ;; esac
	shift
	("$@") >"$log" 2>&1
}

# lacks CASE: whether one of $programs, which the case needs, is not here. It says so.
lacks() {
	for program in $programs; do
		has "$program" || { echo "$1: left out, $program is not here" >&2; return 0; }
	done
	return 1
}

# seeded CASE: makes what the case starts from, by the commands $seed, in $dir/CASE/seed,
# and goes to $dir/CASE.
seeded() {
	rm -rf "${dir:?}/$1"
	mkdir -p "$dir/$1/seed"
	cd "$dir/$1/seed"
	at "$1: what it starts from"
	into ../seed.out eval "$seed"
	cd ..
}

# judged COMMAND…: runs pianola, and lets it end with 1, where results or run
# times differ, or 3, where the recording or the runs tell too little for a verdict.
judged() {
	verdict=0
	"$@" || verdict=$?
	case $verdict in 0 | 1 | 3) ;; *) return $verdict ;; esac
}

# fail STATUS WORDS…: ends the script with a message.
fail() {
	status=$1 told=1
	shift
	echo "$script: $*" >&2
	exit "$status"
}

# medians is the start of an awk program that reads lines of a figure, the way in
# which it was measured, and a number, the last word. sorted(figure, way) returns
# the median of these numbers, sets low and high to the smallest and the largest,
# and each to all of them in rising order. Without numbers it returns 0, and
# (figure, way) is not in all.
medians='
function sorted(figure, way,    v, n, i, j, t) {
	n = split(all[figure, way], v, " ")
	for (i = 2; i <= n; i++) for (j = i; j > 1 && v[j] + 0 < v[j - 1] + 0; j--) { t = v[j]; v[j] = v[j - 1]; v[j - 1] = t }
	low = v[1] + 0; high = v[n] + 0; each = ""
	for (i = 1; i <= n; i++) each = each sprintf(i > 1 ? " %.3f" : "%.3f", v[i])
	return n % 2 ? v[(n + 1) / 2] + 0 : (v[n / 2] + v[n / 2 + 1]) / 2
}
{ way = $2; for (i = 3; i < NF; i++) way = way " " $i; all[$1, way] = all[$1, way] " " $NF }
'

# figure KEY FILE: the first value of that key in a JSON document.
figure() { awk -F'[:,]' -v key="\"$1\"" '$1 ~ key { print $2 + 0; exit }' "$2"; }

# beside OPTION…: what compare says, in rows for programs.
beside() { judged "$pianola" compare --format csv --tolerance 1000% "$@"; }

# unmount DIRECTORY: unmounts it and removes it. The loop device, what looks at new devices,
# or a server that ends, can hold that up for a moment.
unmount() {
	[ -d "$1" ] || return 0
	for _ in $(seq 100); do
		mountpoint -q "$1" 2>/dev/null || break
		umount "$1" 2>/dev/null || sleep 0.1
	done
	rmdir "$1"
}

ended() {
	status=$?
	set +e
	if [ $status != 0 ] && [ -z "$told" ]; then
		echo "$script: ended early, with status $status, at: $step" >&2
		if [ -s "$log" ]; then
			echo "$script: the end of $log:" >&2
			tail -n 20 "$log" >&2
		fi
	fi
	tidy || { echo "$script: could not tidy up" >&2; [ $status != 0 ] || status=1; }
	exit $status
}
trap ended EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'exit 129' HUP
