package profile

import "math/bits"

// SizeClass adds up the reads, or the writes, that moved From to To-1
// bytes. The classes are the powers of two, and one for none.
type SizeClass struct {
	From, To int64
	Total
}

// sizes adds up by size: class 0 holds calls that moved nothing, class n
// those that moved at least 1<<(n-1) bytes.
type sizes [64]Total

func (s *sizes) count(moved int64, t *Total) { s[bits.Len64(uint64(moved))].add(t) }

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
		from, to := classBounds(i)
		out = append(out, SizeClass{from, to, s[i]})
	}
	return out
}

// classBounds returns the first size of a class, and the first beyond it.
func classBounds(n int) (from, to int64) {
	switch n {
	case 0:
		return 0, 1
	case 63:
		return 1 << 62, 1<<63 - 1
	}
	return 1 << (n - 1), 1 << n
}

// Powers counts calls by the bytes that they moved: place 0 holds those that moved nothing,
// place n those that moved at least 10 to the power of n-1 bytes, and less than ten times as
// many.
type Powers [20]int64

func (p *Powers) count(moved int64) {
	n := 0
	for ; moved > 0; moved /= 10 {
		n++
	}
	p[n]++
}

func (p *Powers) add(o *Powers) {
	for n := range p {
		p[n] += o[n]
	}
}

// list returns the least sizes of the places with calls, those of the most calls first.
func (p *Powers) list() (list []Frequent) {
	from := int64(0)
	for n, calls := range p {
		if n == 1 {
			from = 1
		} else if n > 1 {
			from *= 10
		}
		if calls > 0 {
			list = append(list, Frequent{from, calls})
		}
	}
	sortFrequent(list)
	return list
}

// sumOfSizes returns the sums of two counts, each of which can be nil, in memory of its own.
func sumOfSizes(a, b *[2]Powers) *[2]Powers {
	if a == nil && b == nil {
		return nil
	}
	sum := new([2]Powers)
	for _, of := range []*[2]Powers{a, b} {
		for k := 0; of != nil && k < len(sum); k++ {
			sum[k].add(&of[k])
		}
	}
	return sum
}
