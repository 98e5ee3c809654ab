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
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
	{"Ki", 1 << 10}, {"Mi", 1 << 20}, {"Gi", 1 << 30}, {"Ti", 1 << 40},
	{"KB", 1e3}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12},
	{"K", 1 << 10}, {"k", 1 << 10}, {"M", 1 << 20}, {"G", 1 << 30}, {"T", 1 << 40},
	{"B", 1}, {"", 1},
}

// ParseSize parses a number of bytes with an optional unit, as dd does: 64K and 64KiB are
// powers of 1024, 64kB and 64KB of 1000.
func ParseSize(s string) (int64, error) {
	for _, u := range sizeUnits {
		number, ok := strings.CutSuffix(s, u.name)
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

// SizeText returns a number of bytes as ParseSize takes it, in the largest binary unit that
// divides it.
func SizeText(bytes int64) string {
	unit := ""
	for _, next := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if bytes == 0 || bytes%1024 != 0 {
			break
		}
		bytes, unit = bytes/1024, next
	}
	return strconv.FormatInt(bytes, 10) + unit
}

// DirentSize returns how many bytes getdents64 returns for a name.
func DirentSize(name string) int64 {
	const header = 19 // of struct linux_dirent64
	return int64(header+len(name)+1+7) &^ 7
}
