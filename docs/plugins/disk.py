"""Simulates a disk: one call after the other, each LATENCY and its bytes at RATE, full after CAPACITY.

    pianola replay --backend 'exec:python3 docs/plugins/disk.py 100e-6 200e6 10e9' trace.bin

Seconds, bytes a second, bytes. Only reads, writes and syncs take time, and nothing that was
written is given back. Answers come when they are due, so threads wait side by side.
"""

import heapq
import os
import re
import select
import sys
import time

EVENT = re.compile(r"(\d+ )?(\w+) \(.* = (\S+)(.*)$")
MOVING = re.compile(r"p?(read|write)(v2?|64)?$|f(data)?sync$")

latency, rate, capacity = map(float, sys.argv[1:])
busy = 0.0  # until when the disk has work
used = 0  # bytes
due = []  # when, and the answer


def play(line):
    """Puts the answer to an event where it is due."""
    global busy, used
    thread, operation, result, text = EVENT.match(line).groups()
    when = time.monotonic()
    if MOVING.match(operation) and result.isdigit():
        size = int(result) if "sync" not in operation else 0
        if "write" in operation and used + size > capacity:
            result, text = "-1", " ENOSPC"
        else:
            used += size if "write" in operation else 0
            when = busy = max(busy, when) + latency + size / rate
    heapq.heappush(due, (when, f"{thread or ''}{result}{text}"))


rest = ""
while True:
    while due and due[0][0] <= time.monotonic():
        print(heapq.heappop(due)[1], flush=True)
    left = max(due[0][0] - time.monotonic(), 0) if due else None
    if select.select([0], [], [], left)[0]:
        text = os.read(0, 65536).decode("ascii")
        if not text:
            break  # the end of the replay
        *lines, rest = (rest + text).split("\n")
        for line in lines:
            if not line.startswith("#"):
                play(line)
