package script

import (
	"bytes"
	"strconv"

	"pianola/format"
)

// The contents of memory filled by a call, which strace shows, are the same facts that
// Pianola's recorder puts into notes.
var fileTypes = map[string]format.FileType{
	"S_IFREG": format.TypeReg, "S_IFDIR": format.TypeDir, "S_IFLNK": format.TypeLnk, "S_IFIFO": format.TypeFifo,
	"S_IFSOCK": format.TypeSock, "S_IFCHR": format.TypeChr, "S_IFBLK": format.TypeBlk,
}

var modeBits = map[string]int64{"S_ISUID": 0o4000, "S_ISGID": 0o2000, "S_ISVTX": 0o1000}

// noteShown turns what strace shows where the argument is an address into
// notes: the struct that stat has filled, and the text of a link.
func (r *Reader) noteShown(e *format.Event, info *format.Info, text []byte) {
	switch {
	case bytes.HasPrefix(text, []byte("{st")):
		r.noteStat(e, text)
	case text[0] == '"' && text[len(text)-1] == '"' && info.Effect == format.EffectReadlink:
		f, _ := format.NotedTarget.Note()
		r.parseNote(e, f, text)
	}
}

// noteStat reads {st_mode=S_IFREG|0644, st_size=123, …} or the same of statx.
func (r *Reader) noteStat(e *format.Event, text []byte) {
	c := cursor{b: text, i: 1}
	var (
		typ        format.FileType
		mode, size int64 = 0, -1
	)
	for c.msg == "" && c.i < len(text) {
		name := c.name()
		if !c.take("=") {
			break // "..."
		}
		switch value := c.value(); string(name) {
		case "st_mode", "stx_mode":
			typ, mode = fileMode(value)
		case "st_size", "stx_size":
			if n, err := strconv.ParseInt(string(value), 10, 64); err == nil {
				size = n
			}
		}
		if c.peek() != ',' {
			break
		}
		c.i++
		c.spaces()
	}
	if typ == format.TypeUnknown {
		return
	}
	n := r.noted(e)
	n.Type, n.Mode, n.Has = typ, uint32(mode)&0o7777, n.Has|format.NotedType|format.NotedMode
	if size >= 0 {
		n.Size, n.Has = size, n.Has|format.NotedSize
	}
}

// fileMode reads S_IFDIR|S_ISVTX|0777.
func fileMode(text []byte) (typ format.FileType, mode int64) {
	for len(text) > 0 {
		var word []byte
		word, text, _ = bytes.Cut(text, []byte{'|'})
		if t, ok := fileTypes[string(word)]; ok {
			typ = t
		} else if bit, ok := modeBits[string(word)]; ok {
			mode |= bit
		} else if n, err := strconv.ParseInt(string(word), 8, 32); err == nil && n >= 0 {
			mode |= n
		}
	}
	return typ, mode
}
