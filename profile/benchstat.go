package profile

import (
	"bufio"
	"fmt"
	"io"
)

// benchmarkNames are the names of the categories, and of the run, as benchmarks.
var benchmarkNames = [NumCategories + 1]string{"Read", "Write", "Sync", "Metadata", "MappedRead", "MappedWrite", "Communication", "Submit", "Elapsed"}

// WriteBenchstat writes the time, calls and bytes of each category and of the run as a
// result of a Go benchmark (https://go.dev/design/14313-benchmark-format). suffix, such
// as "/side=replay", ends the names. Categories without time are left out, because
// benchstat gives 0 ns its own unit.
func (p *Profile) WriteBenchstat(w io.Writer, suffix string) error {
	b := bufio.NewWriter(w)
	for k, name := range benchmarkNames {
		m := p.Measure(Category(k))
		if m.Seconds != nil && *m.Seconds > 0 {
			fmt.Fprintf(b, "Benchmark%s%s 1 %.0f ns/op %d calls/op %d bytes/op\n", name, suffix, *m.Seconds*1e9, m.Calls, m.Bytes)
		}
	}
	return b.Flush()
}
