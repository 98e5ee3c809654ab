package table

import (
	"unicode"
	"unicode/utf8"

	"pianola/format"
)

// nameWidth is how many characters of a name a cell shows.
const nameWidth = 44

// Name returns a name for a terminal: quoted as in a script if it has invisible
// characters.
func Name(name string) string {
	for _, r := range name {
		if !unicode.IsPrint(r) || r == unicode.ReplacementChar {
			return string(format.AppendQuoted(nil, []byte(name)))
		}
	}
	return name
}

// ShortName is Name, but cut to nameWidth.
func ShortName(name string) string { return Cut(Name(name), nameWidth) }

// Cut cuts out the middle of a name of more than so many characters. The end of a path is
// the most telling part.
func Cut(name string, width int) string {
	n := utf8.RuneCountInString(name)
	if n <= width {
		return name
	}
	runes := []rune(name)
	head := width / 4
	return string(runes[:head]) + "…" + string(runes[n-(width-head-1):])
}
