// Package option parses options with named values.
package option

import (
	"fmt"
	"slices"
	"strings"
)

// Names are the names of an option's values, in the order of the values.
type Names[T ~uint8] struct {
	What string // the kind of option, for errors
	All  []string
}

// Parse returns the value of a name. The error says what kind of option it is and lists the
// names.
func (n Names[T]) Parse(name string) (T, error) {
	i := slices.Index(n.All, name)
	if i < 0 {
		return 0, fmt.Errorf("unknown %s %q: want %s", n.What, name, strings.Join(n.All, ", "))
	}
	return T(i), nil
}

// Has reports whether there is such a value.
func (n Names[T]) Has(value T) bool { return int(value) < len(n.All) }
