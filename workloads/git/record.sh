#!/bin/sh
# Clone, checkout, status, commit, gc and grep of a repository of 30 commits.
. "$(dirname "$0")/../record.sh"
programs=git=git
version() { git --version | cut -d ' ' -f 3; }
export GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
seed() {
	tree src 1500
	git -c init.defaultBranch=main init -q src
	for k in $(seq 30); do
		for f in src/d$((k % 20))/*; do echo "line $k" >>"$f"; done
		git -C src add .
		git -C src commit -q -m "commit $k"
	done
	cat >load.sh <<'S'
set -e
git clone -q --no-local src work
git -C work checkout -q HEAD~25
git -C work status --short
git -C work checkout -q main
for d in 1 2 3 4; do for f in work/d$d/*; do echo changed >>"$f"; done; done
git -C work status --short
git -C work commit -q -a -m changed
git -C work gc -q
git -C work log --stat -n 10
git -C work grep -c 'in file 77$' || :
S
}
run() { "$@" sh load.sh; }
record
