package profile

import (
	"cmp"
	"slices"
)

// Frequent is a number that occurs often, and how often.
type Frequent struct {
	Value int64
	Calls int64
}

// numFrequent is how many numbers a counter tells apart.
const numFrequent = 4

// frequent counts the most frequent of a sequence of numbers in fixed memory:
// a number that is not counted yet takes the place of the least frequent, and
// its count (Space-Saving; Metwally and others, Efficient Computation of
// Frequent and Top-k Elements in Data Streams, 2005). The counts are exact for
// up to four different numbers, and of more they are too high by at most a
// quarter of the length of the sequence.
type frequent [numFrequent]Frequent

func (f *frequent) add(v int64) {
	least := 0
	for i := range f {
		if f[i].Value == v && f[i].Calls > 0 {
			f[i].Calls++
			return
		}
		if f[i].Calls < f[least].Calls {
			least = i
		}
	}
	f[least] = Frequent{v, f[least].Calls + 1}
}

// list returns what was counted, the most frequent first.
func (f *frequent) list() []Frequent {
	var out []Frequent
	for _, v := range f {
		if v.Calls > 0 {
			out = append(out, v)
		}
	}
	sortFrequent(out)
	return out
}

func sortFrequent(list []Frequent) {
	slices.SortFunc(list, func(a, b Frequent) int {
		return cmp.Or(cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Value, b.Value))
	})
}
