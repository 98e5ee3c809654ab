// Package option parses options with named values.
package option

import (
	"fmt"
	"slices"
	"strings"
)

// Parse returns the position of name in names. The error says what kind of option it is
// and lists the names.
func Parse[T ~uint8](what string, names []string, name string) (T, error) {
	i := slices.Index(names, name)
	if i < 0 {
		return 0, fmt.Errorf("unknown %s %q: want %s", what, name, strings.Join(names, ", "))
	}
	return T(i), nil
}
