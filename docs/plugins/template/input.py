"""An input to begin with: it prints a recording, here four reads of a file.

    pianola compile -o input.bin 'exec:python3 docs/plugins/template/input.py 4'

docs/reference/script.md has the lines.
"""

import sys

print("# pianola intermediate 1")
print('# file: "data" reg mode=0644 size=65536 cached=-1')
print("open ( data 1 ) = 3")
for _ in range(int(sys.argv[1])):
    print("compute ( 0.000100000 )")
    print("read ( 3 4096 ) = 4096")
print("close ( 3 ) = 0")
