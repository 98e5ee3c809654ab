#!/usr/bin/env python3
"""trees.py REPORT WORK ROOT: what differs between the tree below WORK that an
application left and the one that its replay left below ROOT, a line each: names,
types, sizes, blocks, modes, owners, link counts, targets and extended attributes.
REPORT is that of pianola compile, which has the names in the replay.

trees.py --differences RESULT: the kinds of differences of pianola replay --json."""
import ast
import json
import os
import stat
import sys


def differences(result):
    try:
        with open(result) as f:
            document = json.load(f)
    except ValueError:
        print("no result")
        return
    for d in found(document, "differences") or []:
        print(f"{d['operation']} = {d['got']} for {d['recorded']}, {d['count']} times, first of {d['path'][-40:]!r} {d.get('reason', '')}".rstrip())


def found(document, key):
    """The first value of a key, at any depth."""
    if isinstance(document, dict):
        if key in document:
            return document[key]
        document = list(document.values())
    for v in document if isinstance(document, list) else []:
        value = found(v, key)
        if value is not None:
            return value
    return None


def names(report):
    """The names in the replay, by those of the application."""
    table, on = {}, False
    with open(report, errors="surrogateescape") as f:
        for line in f:
            if line.startswith("substitutions:"):
                on = True
            elif on and " -> " in line:
                original, mapped = line.strip().split(" -> ")
                table[ast.literal_eval("b" + original)] = ast.literal_eval("b" + mapped)
    return table


KINDS = {stat.S_IFREG: "file", stat.S_IFDIR: "directory", stat.S_IFLNK: "link"}


def facts(path):
    s = os.lstat(path)
    kind = KINDS.get(stat.S_IFMT(s.st_mode), "other")
    f = {"type": kind, "owner": (s.st_uid, s.st_gid)}
    if kind != "link":
        f["mode"] = oct(stat.S_IMODE(s.st_mode))
    if kind == "file":
        f.update(size=s.st_size, blocks=s.st_blocks, links=s.st_nlink)
    if kind in ("file", "directory"):
        f["attributes"] = {n: len(os.getxattr(path, n)) for n in sorted(os.listxattr(path)) if n.startswith("user.")}
    return f


def below(top):
    for at, dirs, files in os.walk(top):
        for name in dirs + files:
            yield os.path.join(at, name)


def compare(report, work, root):
    table = names(report)
    work, root = os.fsencode(os.path.abspath(work)), os.fsencode(root)
    seen = set()
    for path in sorted(below(work)):
        there = os.path.join(root, table.get(path, path.lstrip(b"/")))
        seen.add(there)
        try:
            mine, others = facts(path), facts(there)
        except OSError as e:
            print(f"{os.fsdecode(path)}: {e.strerror} in the replay")
            continue
        for key, value in mine.items():
            if others.get(key) != value:
                print(f"{os.fsdecode(path)}: {key} is {others.get(key)} in the replay, was {value}")
    for path in sorted(below(os.path.join(root, work.lstrip(b"/")))):
        if path not in seen:
            print(f"{os.fsdecode(path)}: only in the replay")


if sys.argv[1] == "--differences":
    differences(sys.argv[2])
else:
    compare(*sys.argv[1:])
