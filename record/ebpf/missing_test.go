package ebpf

import (
	"slices"

	"pianola/coverage"
	"pianola/record"
)

// missing returns what a recording lacks of a kind.
func missing(r *record.Result, kind coverage.Kind) coverage.Missing {
	i := slices.IndexFunc(r.Coverage.Missing, func(m coverage.Missing) bool { return m.Kind == kind })
	if i < 0 {
		return coverage.Missing{}
	}
	return r.Coverage.Missing[i]
}
