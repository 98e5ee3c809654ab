package transform

import (
	"fmt"
	"strconv"

	"pianola/format"
)

// maxSize bounds the sizes of arguments, in bytes.
const maxSize = 1 << 40

// parseSize reads a number of bytes of at least one.
func parseSize(arg string) (int64, error) {
	n, err := format.ParseSize(arg)
	if err != nil {
		return 0, err
	}
	if n < 1 || n > maxSize {
		return 0, fmt.Errorf("%q is not between 1 byte and 1 TiB", arg)
	}
	return n, nil
}

// parseCount reads a whole number from 1 to limit.
func parseCount(arg string, limit int) (int, error) {
	n, err := strconv.Atoi(arg)
	if err != nil || n < 1 || n > limit {
		return 0, fmt.Errorf("%q is not a number from 1 to %d", arg, limit)
	}
	return n, nil
}
