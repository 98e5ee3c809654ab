# Generates what iozone -i 0 -i 1 -i 2 does: write, rewrite, read, reread, random read and
# random write of a file, each record once in each.
#
#   pianola compile -o iozone.bin 'exec:python3 docs/plugins/iozone.py [SIZE RECORD]'
#
# SIZE and RECORD are bytes, 8 MiB and 64 KiB where they are left out.
import random
import sys

size, record = [int(n) for n in sys.argv[1:]] or (8 << 20, 64 << 10)
if record < 1 or size % record:
    sys.exit("want a SIZE that is a multiple of RECORD")
rnd = random.Random(1)  # the same trace each time

READ, BOTH, TRUNC, CREAT = 1, 4, 16, 32  # flags of an open
NAME, FD = "iozone.tmp", 3


def test(opened, calls, sync):
    print(f"{opened} = {FD}")
    for call in calls:
        print(f"{call} = {record}")
    if sync:
        print(f"fsync ( {FD} ) = 0")
    print(f"close ( {FD} ) = 0")


def in_order(call):
    return [f"{call} ( {FD} {record} )"] * (size // record)


def shuffled(call):
    offsets = range(0, size, record)
    return [f"{call} ( {FD} {record} {at} )" for at in rnd.sample(offsets, len(offsets))]


print("# pianola intermediate 1\n# command: iozone\n# unknown: durations")
test(f"openm ( {NAME} {BOTH | TRUNC | CREAT} 420 )", in_order("write"), True)
test(f"open ( {NAME} {BOTH} )", in_order("write"), True)
for again in range(2):
    test(f"open ( {NAME} {READ} )", in_order("read"), False)
test(f"open ( {NAME} {READ} )", shuffled("pread64"), False)
test(f"open ( {NAME} {BOTH} )", shuffled("pwrite64"), True)
print("exit_group ( 0 ) = ?")
