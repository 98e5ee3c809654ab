package diagnosis

import (
	"strings"

	"pianola/profile"
)

// Change describes the effects of a candidate other than time.
type Change struct {
	// Risk says what the program or its data may lose, "" for nothing.
	Risk string

	// Bound marks a candidate that a program cannot make itself, such as storage in
	// memory. A replay of it predicts the gain of other storage, which can be larger.
	Bound bool

	// Slower marks a candidate that shows a loss: the run time under worse conditions.
	Slower bool
}

// changes are keyed by the first step of a candidate: NAME, or NAME=ARG if the argument
// matters.
var changes = map[string]Change{
	"sync=none":      {Risk: "durability: a crash of the machine loses data that were not synced"},
	"buffered":       {Risk: "durability: data stay in the page cache before they are written"},
	"coalesce":       {Risk: "durability: data stay in a buffer of the program before they are written"},
	"prefetch":       {},
	"readahead":      {},
	"uring-batch":    {},
	"cache=warm":     {Bound: true},
	"cache=cold":     {Slower: true},
	"backend=memory": {Bound: true},
}

// ChangeOf returns the effects of a candidate for a finding. A change of reads alone risks
// no data.
func ChangeOf(f *profile.Finding, candidate string) Change {
	c := changeOf(candidate)
	if f.ReadsOnly {
		c.Risk = ""
	}
	return c
}

func changeOf(candidate string) Change {
	if c, ok := changes[candidate]; ok {
		return c
	}
	name, _, _ := strings.Cut(candidate, "=")
	return changes[name]
}
