package experiment

import (
	"fmt"
	"strings"
	"unicode"
)

// maxName bounds the name of a side, in bytes: it heads columns.
const maxName = 32

// IsName reports whether a word can name a side. It stands in the heads of CSV and in the
// names of Go benchmarks, whose parts a slash separates.
func IsName(s string) bool {
	return s != "" && len(s) <= maxName && !strings.ContainsFunc(s, func(r rune) bool {
		return !unicode.IsPrint(r) || r == ' ' || r == unicode.ReplacementChar || strings.ContainsRune(`,/"'`, r)
	})
}

// ParseNames parses the names of two sides, "nvme,sata".
func ParseNames(s string) (names [2]string, err error) {
	list := strings.Split(s, ",")
	if len(list) != 2 || !IsName(list[0]) || !IsName(list[1]) {
		return names, fmt.Errorf("%q is not a pair of names (want for example nvme,sata, without spaces, slashes and quotes, at most %d bytes each)", s, maxName)
	}
	if list[0] == list[1] {
		return names, fmt.Errorf("both sides are called %s", list[0])
	}
	return [2]string(list), nil
}
