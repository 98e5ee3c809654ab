package importer

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/bits"

	"pianola/format/script"
)

// nextLine returns the next line without its end, valid until the next call.
func (l *lines) nextLine() ([]byte, error) {
	for {
		if n := bytes.IndexByte(l.buf[l.start:l.end], '\n'); n >= 0 {
			line := bytes.TrimSuffix(l.buf[l.start:l.start+n], []byte{'\r'})
			l.start += n + 1
			if blanks(line, 0) == len(line) {
				if l.empty++; l.empty > script.MaxEmpty {
					l.line++
					return nil, l.fault(script.ErrEmpty)
				}
			}
			return line, nil
		}
		if l.ended != nil {
			break
		}
		copy(l.buf, l.buf[l.start:l.end])
		l.start, l.end = 0, l.end-l.start
		if l.end == len(l.buf) {
			l.line++
			return nil, l.fault(fmt.Errorf("line longer than %d KiB", maxLine>>10))
		}
		l.fill()
	}
	if l.ended != io.EOF {
		return nil, fmt.Errorf("%s:%d: %w", l.name, l.line+1, l.ended)
	}
	if l.start < l.end {
		line := l.buf[l.start:l.end]
		l.start = l.end
		if line[len(line)-1] >= '0' && line[len(line)-1] <= '9' {
			l.line++
			return nil, l.fault(errNoNewline)
		}
		return line, nil
	}
	l.p.finish()
	return nil, io.EOF
}

var errNoNewline = errors.New("no newline after the last line, so its number may be truncated")

func (l *lines) fill() {
	for range 100 {
		n, err := l.r.Read(l.buf[l.end:])
		l.end += n
		if err != nil {
			l.ended = err
			return
		}
		if n > 0 {
			return
		}
	}
	l.ended = io.ErrNoProgress
}

// field cuts the first of the words, separated by sep, off a line. A space as
// sep stands for any number of spaces and tabs.
func field(line []byte, sep byte) (word, rest []byte) {
	if sep == ' ' {
		start := blanks(line, 0)
		end := start
		for end < len(line) && line[end] != ' ' && line[end] != '\t' {
			end++
		}
		return line[start:end], line[blanks(line, end):]
	}
	word, rest, _ = bytes.Cut(line, []byte{sep})
	return word, rest
}

// blanks returns the position after the spaces and tabs at position i.
func blanks(line []byte, i int) int {
	for i < len(line) && (line[i] == ' ' || line[i] == '\t') {
		i++
	}
	return i
}

// number parses decimal digits, at most 63 bits of them.
func number(word []byte) (v int64, ok bool) {
	if len(word) == 0 || len(word) > 19 {
		return 0, false
	}
	var u uint64
	for _, b := range word {
		if b < '0' || b > '9' {
			return 0, false
		}
		u = u*10 + uint64(b-'0') // 19 digits fit into 64 bits
	}
	return int64(u), u < 1<<63
}

// scale returns v * mul / div, or false if that is out of the range of times.
func scale(v, mul, div uint64) (int64, bool) {
	hi, lo := bits.Mul64(v, mul)
	if hi >= div {
		return 0, false
	}
	q, _ := bits.Div64(hi, lo, div)
	return int64(q), q <= maxNanos
}

// names holds each path of a source once, so that events can borrow it.
type names struct {
	index map[string]int
	text  [][]byte
	bytes int
}

// maxNames bounds the text of all names, in bytes. Each name takes some 100 bytes in
// addition.
const maxNames = 256 << 20

var errNames = fmt.Errorf("names of files take more than %d MiB", maxNames>>20)

// add returns the number of a name, from 0.
func (n *names) add(name []byte) (int, error) {
	if i, ok := n.index[string(name)]; ok {
		return i, nil
	}
	if n.index == nil {
		n.index = make(map[string]int)
	}
	if n.bytes += len(name) + 100; n.bytes > maxNames {
		return 0, errNames
	}
	text := bytes.Clone(name)
	n.index[string(text)] = len(n.text)
	n.text = append(n.text, text)
	return len(n.text) - 1, nil
}
