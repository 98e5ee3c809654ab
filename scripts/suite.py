"""suite.py PART FILE…: the tables of suite.sh, from the documents of pianola suite."""
import json
import math
import statistics
import sys


def systems(name):
    """Run times on each system, and their geometric means."""
    d = json.load(open(name))
    sides = [s["name"] for s in d["sides"]]
    print("\nRun time, s; in brackets the ratio to", sides[0])
    print(f"{'':16}{'recorded':>10}" + "".join(f"{s:>18}" for s in sides))
    for w in d["workloads"]:
        line = f"{w['name']:16}{w['recorded_seconds']['run_time']:10.3f}"
        for s in w["sides"]:
            if "run_time" not in s["seconds"]:
                line += f"{'left out':>18}"
                continue
            ratio = s.get("to_first", {}).get("run_time", {}).get("ratio", 1)
            line += f"{s['seconds']['run_time']:10.3f} ({ratio:5.2f})"
        print(line)
    print(f"{'geometric mean':26}" + "".join(
        f"{'':10} ({s.get('to_first', {}).get('run_time', {}).get('ratio', 1):5.2f})" for s in d["sides"]))
    for w in d["workloads"]:
        for s in w["sides"]:
            if s["differed"] or s.get("refused"):
                print(f"{w['name']} on {s['name']}: {s['differed']} differed {s.get('example', '')} {s.get('refused', '')}")


def programs(name, times):
    """Pairs of systems that programs and replays put in the same order."""
    d = json.load(open(name))
    took = {}
    for line in open(times):
        program, system, seconds = line.split()
        took.setdefault(program, {}).setdefault(system, []).append(float(seconds))
    print("\nRun time of programs and of replays, s; pairs of systems in the same order, of those that the programs tell apart by 5 %")
    for w in d["workloads"]:
        if w["name"] not in took:
            continue
        program = {s: statistics.median(v) for s, v in took[w["name"]].items()}
        replay = {s["name"]: s["seconds"]["run_time"] for s in w["sides"] if "run_time" in s["seconds"]}
        names = [s for s in replay if s in program]
        print(f"{w['name']:12}" + "".join(f"{s:>8} {program[s]:7.3f} {replay[s]:7.3f}" for s in names))
        same = pairs = 0
        for i, a in enumerate(names):
            for b in names[i + 1:]:
                if max(program[a], program[b]) / min(program[a], program[b]) < 1.05:
                    continue
                pairs += 1
                same += (program[a] < program[b]) == (replay[a] < replay[b])
        print(f"{'':12}{same} of {pairs} pairs in the same order")


STUDENT = [math.nan, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228]  # 0.975, by degrees of freedom


def spread(*names):
    """How much suites of one disk differ, and the difference that one can tell."""
    all_suites = [json.load(open(n)) for n in names]
    print("\nRun time on one disk in each suite, s; the largest difference; the difference that two suites of as many runs can tell")
    able = []
    for works in zip(*(d["workloads"] for d in all_suites)):
        sides = [w["sides"][0] for w in works]
        if any(not s["run_seconds"] for s in sides):
            continue
        means = [s["seconds"]["run_time"] for s in sides]
        logs = [[math.log(v) for v in s["run_seconds"]] for s in sides]
        runs = len(logs[0])
        variance = statistics.mean(statistics.variance(v) for v in logs) if runs > 1 else math.nan
        freedom = min(2 * (runs - 1), len(STUDENT) - 1)
        told = math.exp(STUDENT[freedom] * math.sqrt(2 * variance / runs)) - 1 if runs > 1 else math.nan
        off = max(means) / min(means) - 1
        if told < 0.05 and off < 0.05:
            able.append(works[0]["name"])
        print(f"{works[0]['name']:12}" + "".join(f"{m:9.3f}" for m in means) + f"{off:9.1%}{told:9.1%}")
    means = [d["sides"][0]["to_recorded"]["run_time"]["ratio"] for d in all_suites]
    print(f"geometric mean of the ratios to the recordings: {', '.join(f'{m:.3f}' for m in means)}; largest difference {max(means) / min(means) - 1:.1%}")
    print("can tell 5 %:", ", ".join(able) or "none")


if __name__ == "__main__":
    {"systems": systems, "programs": programs, "spread": spread}[sys.argv[1]](*sys.argv[2:])
