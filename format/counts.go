package format

import (
	"fmt"
	"strconv"
	"strings"
)

// Counts counts events by operation.
type Counts [NumOps]int64

// ParseCounts reads the output of String. It skips unknown operations.
func ParseCounts(text string) (c Counts) {
	for word := range strings.FieldsSeq(text) {
		name, number, _ := strings.Cut(word, "=")
		if op, ok := Lookup([]byte(name)); ok {
			n, _ := strconv.ParseUint(number, 10, 48)
			c[op] += int64(n)
		}
	}
	return c
}

// String returns "read=12 write=3", in the order of the table.
func (c *Counts) String() string {
	var b strings.Builder
	for op, n := range c {
		if n > 0 {
			fmt.Fprintf(&b, " %s=%d", Op(op), n)
		}
	}
	return strings.TrimPrefix(b.String(), " ")
}

// Total returns the sum over all operations.
func (c *Counts) Total() (n int64) {
	for _, v := range c {
		n += v
	}
	return n
}
