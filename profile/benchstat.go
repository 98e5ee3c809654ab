package profile

import (
	"bufio"
	"fmt"
	"io"
)

// benchmarkNames are the names of the rows of a comparison as benchmarks.
var benchmarkNames = [NumCategories + 1]string{"Read", "Write", "Sync", "Metadata", "Elapsed"}

// WriteBenchstat writes the time, calls and bytes of each run and row as a
// result of a Go benchmark (https://go.dev/design/14313-benchmark-format), for
// benchstat -col /side. Rows without time are left out, for benchstat gives 0 ns a
// unit of its own.
func (c *Comparison) WriteBenchstat(w io.Writer) error {
	b := bufio.NewWriter(w)
	for _, side := range []struct {
		name string
		runs []*Profile
	}{{"application", c.applications}, {"replay", c.replays}} {
		for _, p := range side.runs {
			p.writeBenchmarks(b, "/side="+side.name)
		}
	}
	return b.Flush()
}

// WriteBenchstat writes the same of one profile.
func (p *Profile) WriteBenchstat(w io.Writer) error {
	b := bufio.NewWriter(w)
	p.writeBenchmarks(b, "")
	return b.Flush()
}

func (p *Profile) writeBenchmarks(b *bufio.Writer, suffix string) {
	for k, name := range benchmarkNames {
		m := p.measure(Category(k))
		if m.Seconds != nil && *m.Seconds > 0 {
			fmt.Fprintf(b, "Benchmark%s%s 1 %.0f ns/op %d calls/op %d bytes/op\n", name, suffix, *m.Seconds*1e9, m.Calls, m.Bytes)
		}
	}
}
