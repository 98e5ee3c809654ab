package format

import (
	"fmt"
	"strconv"
	"strings"
)

var sizeUnits = []struct {
	name  string
	bytes float64
}{
	{"Ki", 1 << 10}, {"Mi", 1 << 20}, {"Gi", 1 << 30}, {"Ti", 1 << 40},
	{"K", 1e3}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}, {"", 1},
}

// ParseSize parses a number of bytes with an optional unit: 4096, 64KiB, 1.5MB. The units
// with an i are powers of 1024, the others of 1000. The B may be left out.
func ParseSize(s string) (int64, error) {
	text := strings.TrimSuffix(s, "B")
	for _, u := range sizeUnits {
		number, ok := strings.CutSuffix(text, u.name)
		if !ok {
			continue
		}
		v, err := strconv.ParseFloat(number, 64)
		if err != nil || !(v*u.bytes > -1<<62 && v*u.bytes < 1<<62) {
			break
		}
		return int64(v * u.bytes), nil
	}
	return 0, fmt.Errorf("%q is not a size such as 4096, 64KiB or 1.5MB", s)
}

// DirentSize returns how many bytes getdents64 returns for a name.
func DirentSize(name string) int64 {
	const header = 19 // of struct linux_dirent64
	return int64(header+len(name)+1+7) &^ 7
}
