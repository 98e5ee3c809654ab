package format

import "unicode/utf8"

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
