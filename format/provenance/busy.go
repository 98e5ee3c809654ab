package provenance

import (
	"fmt"
	"strconv"
	"strings"

	"pianola/format"
)

// strain is other work on the machine of a run, empty for none to speak of.
type strain struct {
	amount float64 // by which one is worse than another
	text   string
}

// waits are the waits for a resource that count as strain, from a part of the time on
// that an idle machine does not have. Those for storage do not count: the run before
// causes them, as does the run itself.
var waits = []struct {
	resource, what string
	percent        float64
}{{"cpu", "a processor", 20}, {"memory", "memory", 10}}

// Busy returns a line for each side with runs before or after which the machine was
// busy, given the names of the sides and the remarks of each run. Where the kernel
// does not tell the pressure, the load counts.
func Busy(names [2]string, applications, replays [][]format.Meta) (lines []string) {
	for side, runs := range [2][][]format.Meta{applications, replays} {
		busy, worst := 0, strain{}
		for _, meta := range runs {
			s := strainOf(&format.Header{Meta: meta})
			if s.text != "" {
				busy++
			}
			if s.amount > worst.amount {
				worst = s
			}
		}
		switch {
		case busy > 0 && len(runs) == 1:
			lines = append(lines, fmt.Sprintf("%s: the machine was busy before or after the run: %s", names[side], worst.text))
		case busy > 0:
			lines = append(lines, fmt.Sprintf("%s: the machine was busy before or after %d of %d runs: %s", names[side], busy, len(runs), worst.text))
		}
	}
	return lines
}

// strainOf returns the worst that the remarks of a run say.
func strainOf(h *format.Header) (worst strain) {
	pressed := false
	for _, key := range []string{format.MetaPressure, format.MetaPressureEnd} {
		text, ok := h.Value(key)
		pressed = pressed || ok
		for _, w := range waits {
			if percent, ok := shareOf(text, w.resource); ok && percent >= w.percent && percent > worst.amount {
				worst = strain{percent, fmt.Sprintf("tasks waited for %s in %.0f %% of the time", w.what, percent)}
			}
		}
	}
	if pressed {
		return worst
	}
	text, _ := h.Value(format.MetaLoad)
	first, _, _ := strings.Cut(text, " ")
	load, err := strconv.ParseFloat(first, 64)
	text, _ = h.Value(format.MetaCPUs)
	if cpus, cerr := strconv.Atoi(text); err == nil && cerr == nil && cpus > 0 && load > float64(cpus) && load < 1e6 {
		return strain{load / float64(cpus), fmt.Sprintf("a load of %.1f on %d processors", load, cpus)}
	}
	return strain{}
}

// shareOf returns the share of a resource in a remark such as "cpu=1.25 io=0.50", in
// per cent.
func shareOf(text, resource string) (percent float64, ok bool) {
	for part := range strings.FieldsSeq(text) {
		if number, is := strings.CutPrefix(part, resource+"="); is {
			percent, err := strconv.ParseFloat(number, 64)
			return percent, err == nil && percent >= 0 && percent <= 100
		}
	}
	return 0, false
}
