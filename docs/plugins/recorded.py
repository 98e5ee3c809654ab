# A backend for the calls of a library (replay --play-layer): it calls nothing, and answers
# each call with the recorded result and duration.
#
#   pianola replay --play-layer hdf5 --backend 'exec:python3 docs/plugins/recorded.py' trace.bin

import re
import sys

LINE = re.compile(r"(?:(\d+) )?\w+:\w+\(.*\) = (-?\d+|\?)(?: (<[\d.]+>))?")

for line in sys.stdin:
    if line.startswith("#"):
        continue
    thread, result, duration = LINE.match(line).groups()
    if result == "?":
        result = "? no result was recorded"
    print(*filter(None, (thread, result, duration)), flush=True)
