package format

import (
	"bytes"
	"errors"
	"strings"
	"unicode/utf8"
)

var (
	errQuote   = errors.New("malformed string")
	errUnended = errors.New("string without an end")
)

// AppendQuoted appends s in quotes, escaped as by strace: C escapes for the
// common control characters, octal for every other byte that is not printable
// ASCII. Unquote recovers any sequence of bytes.
func AppendQuoted(dst, s []byte) []byte {
	dst = append(dst, '"')
	for i, c := range s {
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c >= ' ' && c < 0x7f:
			dst = append(dst, c)
		default:
			dst = appendEscape(dst, s[i:])
		}
	}
	return append(dst, '"')
}

// appendEscape appends the escape of the first byte of s, in octal unless C has
// a letter for it.
func appendEscape(dst, s []byte) []byte {
	dst = append(dst, '\\')
	switch s[0] {
	case '\n':
		return append(dst, 'n')
	case '\t':
		return append(dst, 't')
	case '\r':
		return append(dst, 'r')
	case '\v':
		return append(dst, 'v')
	case '\f':
		return append(dst, 'f')
	}
	// strace uses as few octal digits as the next byte allows.
	c := s[0]
	full := len(s) > 1 && s[1] >= '0' && s[1] <= '7'
	if full || c >= 0o100 {
		dst = append(dst, '0'+c>>6)
	}
	if full || c >= 0o10 {
		dst = append(dst, '0'+c>>3&7)
	}
	return append(dst, '0'+c&7)
}

// Unquote appends to dst the bytes of the quoted string at the front of src,
// and returns dst and what follows the closing quote. It reads every escape
// that AppendQuoted and strace (-x, -xx) write.
func Unquote(dst, src []byte) (value, rest []byte, err error) {
	if len(src) == 0 || src[0] != '"' {
		return dst, src, errQuote
	}
	for i := 1; i < len(src); {
		c := src[i]
		i++
		if c == '"' {
			return dst, src[i:], nil
		}
		if c != '\\' {
			dst = append(dst, c)
			continue
		}
		if i == len(src) {
			break
		}
		c = src[i]
		i++
		switch {
		case c == 'n':
			dst = append(dst, '\n')
		case c == 't':
			dst = append(dst, '\t')
		case c == 'r':
			dst = append(dst, '\r')
		case c == 'v':
			dst = append(dst, '\v')
		case c == 'f':
			dst = append(dst, '\f')
		case c == 'x':
			v, n := 0, 0
			for ; n < 2 && i < len(src) && hexDigit(src[i]) >= 0; n++ {
				v = v<<4 | hexDigit(src[i])
				i++
			}
			if n == 0 {
				return dst, src, errQuote
			}
			dst = append(dst, byte(v))
		case c >= '0' && c <= '7':
			v := int(c - '0')
			for n := 1; n < 3 && i < len(src) && src[i] >= '0' && src[i] <= '7'; n++ {
				v = v<<3 | int(src[i]-'0')
				i++
			}
			if v > 0xff {
				return dst, src, errQuote
			}
			dst = append(dst, byte(v))
		case c == '"' || c == '\\' || c == '\'' || c == '?':
			dst = append(dst, c)
		default:
			return dst, src, errQuote
		}
	}
	return dst, src, errUnended
}

func hexDigit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// CommandLine joins words as a shell would take them apart again.
func CommandLine(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		if w == "" || strings.ContainsFunc(w, func(c rune) bool { return !strings.ContainsRune(plainRunes, c) }) {
			w = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		quoted[i] = w
	}
	return strings.Join(quoted, " ")
}

const plainRunes = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789@%+=:,./_-"

// CutNote cuts the first note off a text of notes, from between the braces of
// an event in a script, or from a remark: "key=value" or a bare word, separated
// by spaces. Spaces between double quotes in a value belong to it; a backslash
// escapes a quote. The results are parts of notes. A nil key means that there
// are no more notes.
func CutNote(notes []byte) (key, value, rest []byte) {
	notes = bytes.TrimLeft(notes, " ")
	if len(notes) == 0 {
		return nil, nil, nil
	}
	end, quoted := 0, false
	for ; end < len(notes) && (quoted || notes[end] != ' '); end++ {
		switch {
		case notes[end] == '"':
			quoted = !quoted
		case notes[end] == '\\' && quoted && end+1 < len(notes):
			end++
		}
	}
	key, value, _ = bytes.Cut(notes[:end], []byte("="))
	return key, value, notes[end:]
}

// Note returns the value of the first note with that key in such a text. A bare
// word has an empty value; a quoted value keeps its
// quotes (see Unquote). The value is part of notes.
func Note(notes []byte, key string) (value []byte, ok bool) {
	for len(notes) > 0 {
		k, v, rest := CutNote(notes)
		if k != nil && string(k) == key {
			return v, true
		}
		notes = rest
	}
	return nil, false
}

// Name is AppendName for strings.
func Name(name string) string { return string(AppendName(nil, []byte(name))) }

// AppendName appends a name as valid UTF-8, for formats that hold text. Names
// are bytes: a byte that is not part of valid UTF-8 becomes \xNN, and a
// backslash is doubled. Every name can be recovered, and nearly every name is
// unchanged.
func AppendName(dst, name []byte) []byte {
	const hex = "0123456789abcdef"
	for len(name) > 0 {
		if c := name[0]; c < utf8.RuneSelf {
			if c == '\\' {
				dst = append(dst, '\\')
			}
			dst, name = append(dst, c), name[1:]
			continue
		}
		r, n := utf8.DecodeRune(name)
		if r == utf8.RuneError && n == 1 {
			dst = append(dst, '\\', 'x', hex[name[0]>>4], hex[name[0]&15])
		} else {
			dst = append(dst, name[:n]...)
		}
		name = name[n:]
	}
	return dst
}

// maxCutName bounds a CutName, in bytes.
const maxCutName = 1 << 12

// CutName returns text of strangers as Name does, of bounded length.
func CutName(name string) string {
	if len(name) <= maxCutName {
		return Name(name)
	}
	return Name(name[:maxCutName]) + "…"
}
