package table

import (
	"fmt"
	"strconv"
	"strings"
)

// Unit is the unit of all times of a column or an axis.
type Unit struct {
	Name    string
	Seconds float64
}

var units = []Unit{{"s", 1}, {"ms", 1e-3}, {"µs", 1e-6}}

// UnitOf returns the largest unit in which the longest time of a column, in
// seconds, is at least 1.
func UnitOf(seconds float64) Unit {
	for _, u := range units {
		if seconds >= u.Seconds {
			return u
		}
	}
	return units[len(units)-1]
}

// Format prints seconds in the unit, without its name. A value that rounds to 0 but is
// not 0 is printed as less than the last digit.
func (u Unit) Format(seconds float64) string {
	v := seconds / u.Seconds
	if v > 0 && v < 0.0005 {
		return "<0.001"
	}
	return Fixed(v, 3)
}

// Optional is Format for seconds that may be unknown.
func (u Unit) Optional(seconds *float64) string {
	if seconds == nil {
		return Missing
	}
	return u.Format(*seconds)
}

// Duration prints seconds in a suitable unit, with its name.
func Duration(seconds float64) string {
	u := UnitOf(seconds)
	return u.Format(seconds) + " " + u.Name
}

// Micros prints nanoseconds, the duration of a call, in microseconds.
func Micros(nanos int64) string { return Fixed(float64(nanos)/1e3, 1) }

// Fixed prints a number with a fixed number of decimals.
func Fixed(v float64, decimals int) string { return strconv.FormatFloat(v, 'f', decimals, 64) }

// Count prints a whole number.
func Count(n int64) string { return strconv.FormatInt(n, 10) }

// Percent prints a fraction as a percentage with three digits, or as an integer if it
// is large.
func Percent(part float64) string {
	if part >= 10 {
		return Fixed(part*100, 0) + " %"
	}
	return strconv.FormatFloat(part*100, 'g', 3, 64) + " %"
}

// Share prints the fraction part/whole as a percentage with one decimal.
func Share(part, whole int64) string {
	if whole <= 0 {
		return Missing
	}
	return Fixed(100*float64(part)/float64(whole), 1) + " %"
}

// Bytes prints bytes with three digits and a decimal prefix: 88.1 MB.
func Bytes(bytes float64) string {
	unit, name := ByteUnit(bytes)
	if unit == 1 {
		return Fixed(bytes, 0) + " B"
	}
	return three(bytes/unit) + " " + name
}

// ByteUnit returns the unit in which Bytes prints so many bytes, and its name.
func ByteUnit(bytes float64) (unit float64, name string) {
	const prefixes = "kMGTPE"
	unit, name = 1, "B"
	for i := 0; bytes >= 999.5*unit && i < len(prefixes); i++ {
		unit, name = unit*1000, prefixes[i:i+1]+"B"
	}
	return unit, name
}

// ShortDuration prints seconds with three digits in a suitable unit, with its name.
func ShortDuration(seconds float64) string {
	u := UnitOf(seconds)
	return three(seconds/u.Seconds) + " " + u.Name
}

// three prints a number below 1000 with three digits, at most two of which are
// decimals.
func three(v float64) string {
	switch {
	case v < 9.995:
		return Fixed(v, 2)
	case v < 99.95:
		return Fixed(v, 1)
	}
	return Fixed(v, 0)
}

// Plural prints a number and a noun, given in the singular.
func Plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	if strings.HasSuffix(what, "s") {
		what += "e"
	}
	return fmt.Sprintf("%d %ss", n, what)
}
