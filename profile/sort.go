package profile

import (
	"cmp"
	"slices"
)

// sortByTime sorts by a time, the longest first, and what took as long by name.
func sortByTime[T any, N cmp.Ordered](list []T, nanos func(T) int64, name func(T) N) {
	slices.SortStableFunc(list, func(a, b T) int {
		return cmp.Or(cmp.Compare(nanos(b), nanos(a)), cmp.Compare(name(a), name(b)))
	})
}
