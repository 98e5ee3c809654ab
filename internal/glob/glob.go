// Package glob matches names with patterns.
package glob

import "strings"

// Match reports whether a text matches a pattern: * matches any bytes including
// slashes, and ? matches one byte. It backtracks only to the last star, so its time is
// at most the product of the lengths.
func Match(pattern, text string) bool {
	p, t := 0, 0
	star, mark := -1, 0
	for t < len(text) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, t
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == text[t]):
			p++
			t++
		case star >= 0:
			mark++
			p, t = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// EscapePath returns the pattern of filepath.Glob that matches only a name.
func EscapePath(name string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(name)
}
