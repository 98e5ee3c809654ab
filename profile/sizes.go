package profile

import "math/bits"

// SizeClass adds up the reads, or the writes, that asked for From to To-1
// bytes. The classes are the powers of two, and one for none.
type SizeClass struct {
	From, To int64
	Total
}

// sizes adds up by size: class 0 holds calls that asked for nothing, class n
// those that asked for at least 1<<(n-1) bytes.
type sizes [64]Total

func (s *sizes) count(asked int64, t *Total) { s[bits.Len64(uint64(max(asked, 0)))].add(t) }

// classes returns the classes from the smallest that occurred to the largest,
// with those between.
func (s *sizes) classes() (out []SizeClass) {
	last := len(s) - 1
	for last >= 0 && s[last].Calls == 0 {
		last--
	}
	for i := range last + 1 {
		if len(out) == 0 && s[i].Calls == 0 {
			continue
		}
		c := SizeClass{To: 1, Total: s[i]}
		if i > 0 {
			c.From, c.To = 1<<(i-1), 1<<i
		}
		if i == len(s)-1 {
			c.To = 1<<63 - 1
		}
		out = append(out, c)
	}
	return out
}
