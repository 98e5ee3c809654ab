package process

import (
	"bytes"
	"strconv"

	"pianola/format"
)

// appendPath appends the path of a name in a directory. It is absolute if one
// of them is. Symbolic links are not resolved.
func appendPath(dst []byte, dir string, name []byte) []byte {
	if len(name) > 0 && name[0] == '/' {
		dir = ""
	}
	start := len(dst)
	dst = append(dst, dir...)
	if len(dir) > 0 {
		dst = append(dst, '/')
	}
	dst = append(dst, name...)
	if len(dst) == start {
		return append(dst, '.')
	}
	return dst[:start+len(clean(dst[start:]))]
}

// clean removes empty components, "." and ".." from a path that is not empty,
// in place.
func clean(path []byte) []byte {
	if isClean(path) {
		return path
	}
	rooted := len(path) > 0 && path[0] == '/'
	n := 0
	if rooted {
		n = 1
	}
	first := n // position of the first component
	for rest := path; len(rest) > 0; {
		word, after, _ := bytes.Cut(rest, []byte("/"))
		rest = after
		switch {
		case len(word) == 0 || string(word) == ".":
		case string(word) == "..":
			n = max(bytes.LastIndexByte(path[:n], '/'), first)
		default:
			if n > first {
				path[n] = '/'
				n++
			}
			n += copy(path[n:], word)
		}
	}
	if n == 0 {
		return append(path[:0], '.')
	}
	return path[:n]
}

// isClean reports whether clean has nothing to do, as for nearly all paths. It
// is conservative: it returns false for "/.git".
func isClean(path []byte) bool {
	return len(path) > 0 && path[len(path)-1] != '/' && path[0] != '.' &&
		!bytes.Contains(path, []byte("//")) && !bytes.Contains(path, []byte("/."))
}

// unknownName appends the name of a descriptor whose open is not in the
// recording.
func unknownName(dst []byte, fd int64, typ format.FileType) []byte {
	switch typ {
	case format.TypeSock:
		return append(dst, "socket"...)
	case format.TypeFifo:
		return append(dst, "pipe"...)
	case format.TypePseudo:
		return append(dst, "anon_inode"...)
	}
	switch fd {
	case 0:
		return append(dst, "stdin"...)
	case 1:
		return append(dst, "stdout"...)
	case 2:
		return append(dst, "stderr"...)
	}
	return strconv.AppendInt(append(dst, "fd "...), fd, 10)
}
