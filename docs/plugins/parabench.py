# Plays a program of parabench with several processes.
#
#   pianola compile -o app.bin 'exec:python3 docs/plugins/parabench.py FILE [PROCESSES]'
#
# The language is as far as J. Ahlers (2012) shows it, with the loops of parabench's examples:
#
#   define pattern {"NAME", COUNT, SIZE, 0};  COUNT blocks of SIZE bytes for each process
#   $p = "pvfs2://pvfs2";                     a text or a number, for what follows
#   barrier;                                  processes wait for each other
#   pwrite("$p/file", "NAME"); pread(…);      all processes access the file
#   time["TEXT"] STATEMENT                    a header line tells its events in each process
#   repeat $i 10 { STATEMENT… }               $i, if it is there, counts from 0
#
# MPI opens a file once all processes do, so each access begins with a barrier, and needs no
# other one. Block i of process p of n is block i*n+p of the file.
# The last number of a pattern is its level in MPI. The thesis has level 0 only, where each
# process accesses its blocks one by one.
import re
import sys

READ, WRITE, CREAT, FD = 1, 2, 32, 3
TOKEN = re.compile(r'//.*|#.*|/\*(?:.|\n)*?\*/|\s+|("[^"\n]*"|\$?\w+|[-+*/{}()\[\],;=])')
MOST = 1 << 20  # statements that run

if len(sys.argv) not in (2, 3) or not re.fullmatch("[1-9][0-9]{0,4}", sys.argv[-1] if sys.argv[2:] else "4"):
    sys.exit("want FILE [PROCESSES]")
source, processes = sys.argv[1], int((sys.argv + ["4"])[2])
tokens = []  # of the program, with their lines
at, ran = 0, 0  # the next token, and how many statements ran
patterns, values = {}, {}
steps = []  # (name, path, count, size) of an access
times = []  # (text, first step, step after the last)


def fail(message):
    sys.exit(f"{source}:{tokens[min(at, len(tokens)) - 1][1]}: {message}")


def peek():
    return tokens[at][0] if at < len(tokens) else "the end"


def take(*wanted):
    global at
    got = peek()
    at += 1
    if wanted and got not in wanted:
        fail(f"expected {' or '.join(wanted)}, not {got}")
    return got


def string():
    got = take()
    if got[0] != '"':
        fail(f"expected a text, not {got}")
    return re.sub(r"\$\w+", lambda name: str(values.get(name[0], name[0])), got[1:-1]).strip()


def number():
    words = []
    while peek() not in (",", "}", ";", "{", "the end"):
        words.append(str(values.get(peek(), peek())))
        take()
    words = " ".join(words)
    try:
        if re.fullmatch("[-+*/() 0-9]+", words):
            return int(eval(words.replace("/", "//")))
    except Exception:
        pass
    fail(f"expected a number, not {words or peek()}")


def run():
    """Runs a statement."""
    global at, ran
    ran += 1
    if ran > MOST:
        fail(f"more than {MOST} statements")
    word = take()
    if word == "define":
        take("pattern"), take("{")
        name, pattern = string(), []
        for _ in range(3):
            take(",")
            pattern.append(number())
        take("}"), take(";")
        if pattern[0] < 0 or pattern[1] < 1 or pattern[2]:
            fail("want a pattern with a number of blocks, their size and level 0")
        patterns[name] = pattern[:2]
    elif word[0] == "$":
        take("=")
        values[word] = string() if peek()[0] == '"' else number()
        take(";")
    elif word == "barrier":
        take(";")
    elif word in ("pread", "pwrite"):
        take("(")
        path = re.sub(r"^\w+://", "", string()).strip("/")
        take(",")
        name = string()
        take(")"), take(";")
        if name not in patterns:
            fail(f'no pattern "{name}"')
        if set(path.split("/")) & {"", ".", ".."} or "\\" in path:
            fail(f'"{path}" is no name of a file')
        steps.append((word, path, *patterns[name]))
    elif word == "time":
        take("[")
        label, first = string(), len(steps)
        take("]")
        run()
        times.append((label, first, len(steps)))
    elif word == "repeat":
        name = take() if peek()[0] == "$" else None
        count, body = number(), at
        if count < 1 or peek() != "{":
            fail("want a number from 1 on and a block")
        for values[name] in range(count):
            at = body
            run()
    elif word == "{":  # of a loop
        while peek() != "}":
            run()
        take()
    else:
        fail(f"{word} is not a statement of the thesis")


with open(source, encoding="utf-8", errors="surrogateescape") as f:
    text = f.read()
place, line = 0, 1
while place < len(text):
    found = TOKEN.match(text, place)
    if not found:
        sys.exit(f"{source}:{line}: {text[place]!r} is not of the language")
    if found[1]:
        tokens.append((found[1], line))
    place, line = found.end(), line + found[0].count("\n")
while at < len(tokens):
    run()

# What is read and was not written before exists, and so do all directories.
sizes, before, folders, events = {}, {}, set(), [0]
for call, path, count, size in steps:
    events.append(events[-1] + count + 2)  # with open and close
    folders.update(path[: slash.start()] for slash in re.finditer("/", path))
    end = count * size * processes
    if call == "pread" and (path not in sizes or path in before):
        before[path] = max(before.get(path, 0), end)
    if call == "pwrite" or path in before:
        sizes[path] = max(sizes.get(path, 0), end)
print("# pianola intermediate 1\n# command: parabench\n# unknown: durations")
for label, first, after in times:
    print(f'# time: "{label}" from {events[first]} to {events[after] - 1}')
for p in range(processes):
    print(f"# thread: {p + 1} process={p + 1} parent=0 start=0.000000000")
for name in sorted(folders):
    print(f'# file: "{name}" dir mode=0755 size=0 cached=-1')
for name, size in before.items():
    print(f'# file: "{name}" reg mode=0644 size={size} cached=-1')

sizes = before
for done, (call, path, count, size) in zip(events, steps):
    if call == "pwrite":
        opened, call = f'openm ( "{path}" {WRITE | CREAT} 420 )', "pwrite64"
        sizes[path] = max(sizes.get(path, 0), count * size * processes)
    else:
        opened, call = f'open ( "{path}" {READ} )', "pread64"
    for p in range(processes):
        waits = " ".join(f"after={other + 1}:{done - 1}" for other in range(processes) if other != p and done)
        print(p + 1, opened, "=", FD, *[f"{{{waits}}}"] * bool(waits))
        for i in range(count):
            where = (i * processes + p) * size
            print(p + 1, call, "(", FD, size, where, ")", "=", min(size, max(sizes[path] - where, 0)))
        print(p + 1, "close (", FD, ") = 0")
for p in range(processes):
    print(p + 1, "exit_group ( 0 ) = ?")
