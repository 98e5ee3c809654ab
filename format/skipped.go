package format

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Skipped counts the lines of a recording that hold no event, by their kind. Its size is
// bounded, whatever the recording says.
type Skipped map[string]int64

// MaxSkipped bounds the kinds that have a count of their own; the kind "other" has the rest.
// maxKind bounds the bytes of one.
const (
	MaxSkipped = 1024
	maxKind    = 64
)

// Add counts n lines of a kind.
func (s *Skipped) Add(kind string, n int64) {
	if *s == nil {
		*s = make(Skipped)
	}
	kind = kind[:min(len(kind), maxKind)]
	if _, ok := (*s)[kind]; !ok && len(*s) >= MaxSkipped {
		kind = "other"
	}
	(*s)[kind] += n
}

// Remark adds the counts to a header, if there are any.
func (s Skipped) Remark(h *Header) {
	var words []string
	for _, kind := range slices.Sorted(maps.Keys(s)) {
		words = append(words, fmt.Sprintf("%s=%d", kind, s[kind]))
	}
	if len(words) > 0 {
		h.Set(MetaSkipped, strings.Join(words, " "))
	}
}
