package importer

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"pianola/format"
)

// skipped counts the lines that are not taken, by their kind.
type skipped map[string]int64

// maxSkipped bounds the kinds that have a count of their own, and maxKind the bytes of one.
const (
	maxSkipped = 1024
	maxKind    = 64
)

// add counts a line.
func (s *skipped) add(prefix string, name []byte) {
	s.count(prefix+string(name[:min(len(name), maxKind)]), 1)
}

func (s *skipped) count(kind string, n int64) {
	if *s == nil {
		*s = make(skipped)
	}
	if _, ok := (*s)[kind]; !ok && len(*s) >= maxSkipped {
		kind = "other"
	}
	(*s)[kind] += n
}

// remark adds the counts to a header.
func (s skipped) remark(h *format.Header) {
	var words []string
	for _, kind := range slices.Sorted(maps.Keys(s)) {
		words = append(words, fmt.Sprintf("%s=%d", kind, s[kind]))
	}
	if len(words) > 0 {
		h.Set(format.MetaSkipped, strings.Join(words, " "))
	}
}
