# Generates what a mail server does, after postmark: threads deliver messages of 500 bytes to
# 10 KB into a folder each, as maildir does, read recent ones, and remove what is older than
# ten messages.
#
#   pianola compile -o mail.bin 'exec:python3 docs/plugins/mail.py [THREADS MESSAGES]'
import random
import sys

threads, messages = [int(n) for n in sys.argv[1:]] or (4, 100)
rnd = random.Random(42)  # the same trace each time

READ, WRITE, CREAT, EXCL, DIRECTORY = 1, 2, 32, 64, 128  # flags of an open

print("# pianola intermediate 1\n# command: mail\n# unknown: durations")
for t in range(1, threads + 1):  # threads of one process; the first creates the others
    print(f"# thread: {t} process=1 parent={min(t - 1, 1)} start=0.000000000")
print('# file: "mail" dir mode=0755 size=0 cached=-1')

for t in range(1, threads + 1):
    fd = 2 + t  # threads share their descriptors, so each has one of its own
    folder = f"mail/{t - 1}"
    sizes = []

    def call(name, *args, result=0):
        print(t, name, "(", *args, ")", "=", result)

    call("mkdir", folder, 0o755)
    call("mkdir", f"{folder}/new", 0o755)
    for n in range(messages):
        sizes.append(rnd.randint(500, 10000))
        call("openm", f"{folder}/{n}.tmp", WRITE | CREAT | EXCL, 0o644, result=fd)
        call("write", fd, sizes[n], result=sizes[n])
        call("fsync", fd)
        call("close", fd)
        call("rename", f"{folder}/{n}.tmp", f"{folder}/new/{n}")
        for what in rnd.choices(["read", "list", "sleep"], [60, 30, 10], k=2):
            if what == "read":
                m = rnd.randint(max(n - 9, 0), n)
                call("open", f"{folder}/new/{m}", READ, result=fd)
                call("fstat", fd)
                for at in range(0, 3 * 4096, 4096):
                    call("read", fd, 4096, result=min(max(sizes[m] - at, 0), 4096))
                call("close", fd)
            elif what == "list":
                call("open", f"{folder}/new", READ | DIRECTORY, result=fd)
                call("getdents64", fd, 32768, result=24 * (3 + min(n, 10)))
                call("close", fd)
            else:
                time = f"{rnd.expovariate(2000):.9f}"  # all of it off the processor
                print(t, "compute (", time, time, f"timer={time} )")
        call("stat", f"{folder}/new/{n + 1}", result="-1 ENOENT")
        if n >= 10:
            call("unlink", f"{folder}/new/{n - 10}")
