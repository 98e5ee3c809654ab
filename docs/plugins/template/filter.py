"""A filter to begin with: it copies all lines, and changes those that match, here sizes of reads.

    pianola compile -o small.bin --with 'exec:python3 docs/plugins/template/filter.py' input.bin
"""

import re
import sys

READ = re.compile(r"^((?:\d+ )?read \( \d+ )4096( \) = )4096")

for line in sys.stdin:
    print(READ.sub(r"\g<1>1024\g<2>1024", line), end="", flush=True)
