# lib.sh: what scripts begin with, to be sourced after set -eu. A script that ends
# early says so: its name, its step, its status, and the end of what was last
# written where nobody looks. Scripts that need it have a function tidy, which is
# called at their end.
script=${0##*/} step=start log='' told=''
tidy() { :; }
has() { command -v "$1" >/dev/null 2>&1; }

# at WORDS…: the step that begins.
at() { step=$*; }

# into FILE COMMAND…: runs it in a subshell, with all that it says in FILE.
into() {
	case $1 in /*) log=$1 ;; *) log=$(pwd)/$1 ;; esac
	shift
	("$@") >"$log" 2>&1
}

# fail STATUS WORDS…: ends the script, which has nothing to add.
fail() {
	status=$1 told=1
	shift
	echo "$script: $*" >&2
	exit "$status"
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
