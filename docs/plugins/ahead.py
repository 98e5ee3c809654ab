"""Announces reads by posix_fadvise, some events before each, while a replay runs.

    pianola replay --with 'exec:python3 docs/plugins/ahead.py 4' trace.bin

It announces reads that do not begin where the descriptor's read before ended, because the
kernel itself reads ahead of the others. None is announced before its descriptor is opened.
"""

import re
import sys

THREAD = re.compile(r"# thread: (\d+) process=(\d+)")
EVENT = re.compile(r"((\d+) )?(\w+) \( (.*) \) = (\d+).* \{at=(\d+):(\d+)\}$")
OPENS = {"open", "openm", "dup", "dup2", "dup3", "fcntl"}
WILLNEED = 3

ahead = int(sys.argv[1])
process = {}  # of each thread
since = {}  # of each descriptor of a process: the thread and the event that opened it
place = {}  # of each descriptor of a process: where the next read begins
end = {}  # the same: where the last read ended


def announce(prefix, thread, event, key, offset, size):
    """Writes the call, ahead of an event of the thread."""
    opener, opened = since.get(key, (thread, -1))
    first = opened + 1 if opener == thread else event
    print(f"{prefix}fadvise64 ( {key[1]} {offset} {size} {WILLNEED} ) = 0 {{before={thread}:{max(event - ahead, first, 0)}}}")


for line in sys.stdin:
    if m := THREAD.match(line):
        process[int(m[1])] = int(m[2])
    elif m := EVENT.match(line):
        prefix, operation, result = m[1] or "", m[3], int(m[5])
        thread, event = int(m[6]), int(m[7])
        words = m[4].split()
        numbers = [int(w) for w in words if w.isdigit()]
        of = process.get(thread, 1)
        if operation in OPENS:
            since[of, result] = thread, event
            place[of, result] = end[of, result] = 0
        elif operation == "lseek" and numbers:
            place[of, numbers[0]] = result
        elif operation in ("read", "pread64") and len(numbers) == len(words):
            key = of, numbers[0]
            offset = numbers[2] if operation == "pread64" else place.get(key, 0)
            if offset != end.get(key, 0):
                announce(prefix, thread, event, key, offset, numbers[1])
            end[key] = offset + result
            if operation == "read":
                place[key] = offset + result
    print(line, end="", flush=True)
