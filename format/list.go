package format

import (
	"bytes"
	"slices"
	"strconv"
)

// List is what a call registers with a ring: all files or buffers, or an update of some.
// Items are borrowed as the strings of an event are.
type List struct {
	Of     ListOf
	Update bool    // Items replace those from place From on, otherwise all
	From   int64   // from 0; a source can give any number
	Items  []int64 // those of a pair follow one another
}

// ListOf is what the items of a List are. The comment says how a script prints one.
type ListOf uint8

// The numbers are part of the compiled trace.
const (
	ListNumbers ListOf = iota // descriptors: 3, -1 for none
	ListRanges                // addresses and sizes: 0x7f00+4096
	ListPlaces                // places in the memory of a replay, and sizes: 512+4096
	NumListOf
)

// MaxRegistered bounds the files and buffers of a ring, and so what a compiled trace has in
// a List.
const MaxRegistered = 1 << 15

// Unchanged is an item of an update of files that stays as it is (IORING_REGISTER_FILES_SKIP).
const Unchanged = -2

// Width returns how many numbers an item has.
func (l *List) Width() int { return 1 + index(l.Of != ListNumbers) }

// Len returns how many items there are. There are none in a List that is nil.
func (l *List) Len() int {
	if l == nil {
		return 0
	}
	return len(l.Items) / l.Width()
}

// At returns the i-th item, whose second number is 0 if it has none.
func (l *List) At(i int) (item [2]int64) {
	w := l.Width()
	copy(item[:w], l.Items[w*i:])
	return item
}

// First returns the place of the first item, at most MaxRegistered.
func (l *List) First() int {
	if l == nil || !l.Update {
		return 0
	}
	return int(min(max(l.From, 0), MaxRegistered))
}

// Clone returns a copy that shares no memory with l, which can be nil.
func (l *List) Clone() *List {
	if l == nil {
		return nil
	}
	c := *l
	c.Items = slices.Clone(l.Items)
	return &c
}

// Append appends the text of a list: "8,-1,9" are all files, "2=8,9" is an update of
// places 2 and 3.
func (l *List) Append(dst []byte) []byte {
	if l.Update {
		dst = append(AppendInt(dst, l.From), '=')
	}
	for i := range l.Len() {
		if i > 0 {
			dst = append(dst, ',')
		}
		item := l.At(i)
		if l.Of == ListRanges {
			dst = AppendHex(append(dst, "0x"...), uint64(item[0]))
		} else {
			dst = AppendInt(dst, item[0])
		}
		if l.Of != ListNumbers {
			dst = AppendInt(append(dst, '+'), item[1])
		}
	}
	return dst
}

// AppendQuoted appends a list as an argument, NULL for none.
func (l *List) AppendQuoted(dst []byte) []byte {
	if l == nil {
		return append(dst, "NULL"...)
	}
	return append(l.Append(append(dst, '"')), '"')
}

// ParseList parses the text of a list. It appends the items to memory, and returns false
// at something that is no item, with those before it.
func ParseList(text []byte, memory []int64) (l List, grown []int64, ok bool) {
	ok = true
	if from, items, update := bytes.Cut(text, []byte("=")); update {
		l.From, ok = parseItem(from)
		l.Update, text = true, items
	}
	if bytes.IndexByte(text, '+') >= 0 {
		l.Of = ListPlaces
		if bytes.HasPrefix(text, []byte("0x")) {
			l.Of = ListRanges
		}
	}
	start, width := len(memory), l.Width()
	for more := len(text) > 0; more && ok; {
		var one []byte
		var item [2]int64
		one, text, more = bytes.Cut(text, []byte(","))
		number, size, sized := bytes.Cut(one, []byte("+"))
		if item[0], ok = parseItem(number); ok && sized {
			item[1], ok = parseItem(size)
		}
		if ok {
			memory = append(memory, item[:width]...)
		}
	}
	l.Items = memory[start:len(memory):len(memory)]
	return l, memory, ok
}

// parseItem parses a number, decimal or of hexadecimal digits, whose bits it keeps.
func parseItem(text []byte) (n int64, ok bool) {
	var err error
	if digits, hex := bytes.CutPrefix(text, []byte("0x")); hex {
		var bits uint64
		bits, err = strconv.ParseUint(string(digits), 16, 64)
		n = int64(bits)
	} else {
		n, err = strconv.ParseInt(string(text), 10, 64)
	}
	return n, err == nil
}
