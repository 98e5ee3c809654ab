package compare

import (
	"io"

	"pianola/profile"
)

// WriteBenchstat writes each run as results of Go benchmarks, for benchstat -col
// /side: see profile.Profile.WriteBenchstat.
func (c *Comparison) WriteBenchstat(w io.Writer) error {
	for side, runs := range [2][]*profile.Profile{c.applications, c.replays} {
		for _, p := range runs {
			if err := p.WriteBenchstat(w, "/side="+c.Names[side]); err != nil {
				return err
			}
		}
	}
	return nil
}
