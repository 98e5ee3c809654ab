package diagnosis

import "strings"

// Change is what a candidate of the laboratory changes besides time.
type Change struct {
	// Risk is what the program or its data may lose by it, empty for nothing.
	Risk string

	// Bound says that it is no change that a program can make, but the most that one could
	// gain.
	Bound bool

	// Slower says that it shows a loss: what a run takes under worse conditions.
	Slower bool
}

// changes has the first steps of the candidates of rules, as NAME, or as NAME=ARG where
// that matters.
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

// ChangeOf returns what a candidate of a rule changes.
func ChangeOf(candidate string) Change {
	if c, ok := changes[candidate]; ok {
		return c
	}
	name, _, _ := strings.Cut(candidate, "=")
	return changes[name]
}
