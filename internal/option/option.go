// Package option reads options of which each value has a name.
package option

import (
	"fmt"
	"slices"
	"strings"
)

// Parse returns the value of that name: its position in names. The error lists
// the names there are of what.
func Parse[T ~uint8](what string, names []string, name string) (T, error) {
	i := slices.Index(names, name)
	if i < 0 {
		return 0, fmt.Errorf("unknown %s %q: want %s", what, name, strings.Join(names, ", "))
	}
	return T(i), nil
}
