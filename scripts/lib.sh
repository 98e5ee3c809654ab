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

# figure KEY FILE: the first value of that key in a JSON document.
figure() { awk -F'[:,]' -v key="\"$1\"" '$1 ~ key { print $2 + 0; exit }' "$2"; }

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
