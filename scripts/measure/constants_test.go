package main

// constants are the numbers of pages that are not measured, by the reason.
var constants = []struct {
	reason string
	pages  map[string]string
}{
	{"a threshold, bound or default of the program", map[string]string{
		"docs/concepts.md":               "95 %",
		"docs/internals/compare.md":      "1 %, 5 %",
		"docs/internals/compile.md":      "20 µs, 50 µs",
		"docs/internals/diagnosis.md":    "5 %, 10 %, 20 %, 10 ms, 20 µs",
		"docs/internals/fidelity.md":     "1 ms",
		"docs/internals/layers.md":       "2000 times",
		"docs/internals/ranks.md":        "100 µs",
		"docs/internals/record.md":       "1 ms, 50 ms",
		"docs/internals/replay.md":       "20 µs, 200 µs, 3 ms, 8 µs, 0.25 ns",
		"docs/internals/transforms.md":   "20 µs",
		"docs/measured/README.md":        "5 %",
		"docs/reference/bench.md":        "10 %",
		"docs/reference/checks.md":       "50 times, 5 %",
		"docs/reference/compare.md":      "1 %, 5 %, 10 %, 20 %",
		"docs/reference/compile.md":      "5 %, 100 times",
		"docs/reference/coverage.md":     "95 %, 10 ms",
		"docs/reference/diagnosis.md":    "5 %, 10 %, 15 %, 20 %, 90 %, 99 %, 10 ms, 20 µs",
		"docs/reference/profile.md":      "1 %",
		"docs/reference/replay.md":       "8 µs, 0.25 ns",
		"docs/reference/script.md":       "20 µs",
		"docs/recipes/running-server.md": "10 %",
		"docs/tutorial.md":               "95 %",
	}},
	{"a confidence, or a chance that follows from a formula", map[string]string{
		"docs/internals/compare.md":          "0.5 %, 99.5 %, 95 %, 99 %",
		"docs/measured/README.md":            "95 %",
		"docs/recipes/faster-file-system.md": "95 %",
		"docs/reference/bench.md":            "95 %",
		"docs/reference/checks.md":           "15.5 %, 5.7 %, 4.9 %, 1.8 %, 0.9 %, 1.1 %, 0.02 %",
		"docs/reference/compare.md":          "95 %",
	}},
	{"a change that a study makes, or a goal", map[string]string{
		"docs/internals/compare.md": "10 %, 20 %",
		"docs/internals/record.md":  "0.35 µs, 1 %",
	}},
	{"a figure of one of the five works", map[string]string{
		"docs/five-works.md": "10 %, 140 ns, 354 ns, 2 877 ns, 2.5 %, 14 %",
	}},
	{"the premise of an example", map[string]string{
		"docs/README.md":                "10 %",
		"docs/internals/compile.md":     "0.92 ms, 200 ms",
		"docs/recipes/nightly-check.md": "10 %, 10 ms, 40 ms, 80 ms",
		"docs/recipes/slow-rank.md":     "64 times",
		"docs/reference/plugins.md":     "5 ms",
		"docs/reference/replay.md":      "200 µs",
		"docs/reference/script.md":      "2000 ns, 0.12 ms",
		"docs/tutorial.md":              "3 ms",
	}},
}
