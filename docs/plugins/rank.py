"""Keeps one rank of a parallel run: a process or a thread, by its number in the trace.

    pianola compile -o rank.bin --with 'exec:python3 docs/plugins/rank.py process=2' run.txt

What makes processes stays, and so does what the rank's descriptors come from: what the
rank's process and those that it descends from open, copy and close. The time of what goes
is compute, and so is what the rank waited at a pipe for one that goes.
"""

import re
import sys

LIVES = {"clone", "execve", "exit", "exit_group", "wait4", "unshare"}
PIPES = {"pipe_read", "pipe_write"}
DESCRIPTORS = {"open", "openm", "close", "close_range", "dup", "dup2", "dup3", "fcntl"}

EVENT = re.compile(r"(?:(\d+) )?(\w+) \(")
AFTER = re.compile(r"after=(\d+):")
DURATION = re.compile(r" <([0-9.]+)>(?: \{[^\"]*\})?$")
THREAD = re.compile(r"# thread: (\d+) process=(\d+) parent=(\d+)")

kind, _, number = sys.argv[1].partition("=")
if kind not in ("process", "thread") or not number.isdigit():
    sys.exit("usage: rank.py process=N|thread=N")
number = int(number)

process = {1: 1}  # of each thread
parent = {1: 0}  # the thread that made it


def family():
    """Returns the processes that the rank's is or descends from."""
    threads = [t for t in process if (process[t] if kind == "process" else t) == number]
    if not threads:
        sys.exit(f"no {kind} {number}")
    found, t = set(), threads[0]
    while t:
        found.add(process[t])
        t = next((parent[u] for u in process if process[u] == process[t] and process.get(parent[u]) != process[t]), 0)
    return found


def stays(thread):
    return (process[thread] if kind == "process" else thread) == number


kin = None
for line in sys.stdin:
    if line.startswith("#"):
        if m := THREAD.match(line):
            t, p, by = map(int, m.groups())
            process[t], parent[t] = p, by
        sys.stdout.write(line)
        continue
    if kin is None:
        kin = family()
    prefix, operation = EVENT.match(line).groups()
    t = int(prefix or 1)
    near = process[t] in kin
    mine = stays(t)
    if operation in PIPES and mine:
        waited_for = [int(u) for u in AFTER.findall(line)]
        mine = not waited_for or any(map(stays, waited_for))
    if mine or operation in LIVES or near and operation in DESCRIPTORS | {"compute"}:
        sys.stdout.write(line)
    elif near and (m := DURATION.search(line)):
        sys.stdout.write(f"{prefix + ' ' if prefix else ''}compute ( {m[1]} )\n")
