"""An output to begin with: it is given each event, plays it in its own way, and answers with a result.

    pianola replay --backend 'exec:python3 docs/plugins/template/output.py' input.bin
"""

import re
import sys

EVENT = re.compile(r"(\d+ )?(\w+) \((.*)\) = (\S+)(.*)$")

for line in sys.stdin:
    if line.startswith("#"):
        continue  # the header
    thread, operation, arguments, result, rest = EVENT.match(line).groups()
    print(f"{operation} {arguments.strip()}", file=sys.stderr)  # play it here
    print(f"{thread or ''}{result}{rest}", flush=True)
