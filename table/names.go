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

// ShortName is Name, but cuts out the middle of a name that is too long for a cell. The
// end of a path is the most telling part.
func ShortName(name string) string {
	name = Name(name)
	n := utf8.RuneCountInString(name)
	if n <= nameWidth {
		return name
	}
	runes := []rune(name)
	const head = nameWidth / 4
	return string(runes[:head]) + "…" + string(runes[n-(nameWidth-head-1):])
}
