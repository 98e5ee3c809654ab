#!/bin/sh
# A program that imports many modules, and writes, lists, reads, copies, moves and
# archives 2000 small files. The library is not in the page cache.
. "$(dirname "$0")/../record.sh"
programs=python3=python3
python=/usr/bin/python3
library=$($python -c 'import os; print(os.path.dirname(os.__file__))')
inputs=$library
version() { $python -c 'import platform; print(platform.python_version())'; }
seed() {
	cat >load.py <<'P'
import asyncio, csv, ctypes, decimal, email.message, http.client, json, logging.config, multiprocessing, os
import shutil, sqlite3, ssl, tarfile, unittest, urllib.request, xml.etree.ElementTree, zipfile
for i in range(2000):
    d = f"work/a/d{i % 30}"
    os.makedirs(d, exist_ok=True)
    with open(f"{d}/f{i}.json", "w") as f:
        json.dump({"i": i, "list": list(range(i % 300)), "text": "x" * (i % 1000)}, f)
total = 0
for at, dirs, files in os.walk("work/a"):
    for name in sorted(files):
        with open(os.path.join(at, name)) as f:
            total += len(json.load(f)["list"])
shutil.copytree("work/a", "work/b")
for i in range(30):
    shutil.move(f"work/b/d{i}", f"work/b/e{i}")
shutil.make_archive("work/c", "tar", "work/b")
with zipfile.ZipFile("work/c.zip", "w", zipfile.ZIP_DEFLATED) as z:
    for i in range(500):
        z.write(f"work/b/e{i % 30}/f{i}.json")
with open("work/log", "w") as f:
    for i in range(200):
        f.write(f"{i} {total}\n" * 50)
        f.flush()
        os.fsync(f.fileno())
shutil.rmtree("work/a")
P
}
run() { "$@" $python -I load.py; }
record
