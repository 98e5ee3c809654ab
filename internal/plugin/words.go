package plugin

import (
	"errors"
	"fmt"
	"strings"

	"pianola/format/filter"
)

// Condition cuts the text of a program or a backend at its first " if " that is not in quotes:
// "WHAT if EXPR". EXPR is an expression of package filter, which selects the events that it
// gets. Without one, expr is "".
func Condition(text string) (what, expr string, err error) {
	for i := range text {
		after, ok := strings.CutPrefix(text[i:], " if ")
		if !ok {
			continue
		}
		if _, open := words(text[:i]); open != nil {
			continue
		}
		if _, err := filter.Parse(after); err != nil {
			return "", "", fmt.Errorf("%s: %w", text[:i], err)
		}
		return text[:i], after, nil
	}
	return text, "", nil
}

// words splits a command line like a shell, without expansion of variables and
// patterns. Spaces separate words. A backslash and quotes remove the meaning of the
// characters after or between them. Within double quotes, a backslash is special only
// before a double quote or a backslash.
func words(line string) (list []string, err error) {
	var word strings.Builder
	begun, quote := false, byte(0)
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case quote == '\'' && c != quote:
			word.WriteByte(c)
		case c == quote:
			quote = 0
		case c == '\\' && i+1 < len(line) && (quote == 0 || line[i+1] == '"' || line[i+1] == '\\'):
			i++
			begun = true
			word.WriteByte(line[i])
		case quote == 0 && (c == '\'' || c == '"'):
			begun, quote = true, c
		case quote == 0 && strings.IndexByte(" \t\n", c) >= 0:
			if begun {
				list = append(list, word.String())
			}
			begun = false
			word.Reset()
		default:
			begun = true
			word.WriteByte(c)
		}
	}
	if quote != 0 {
		return nil, errors.New("a quote is not closed")
	}
	if begun {
		list = append(list, word.String())
	}
	return list, nil
}
