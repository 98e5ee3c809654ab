package page

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"

	"pianola/format"
	"pianola/profile"
)

// calls are single calls, for the timeline. Data is columns of Count numbers each, one
// column after the other, in the order of the list of callColumns: signed varints as of
// encoding/binary, compressed by zlib (RFC 1950), in base 64.
type calls struct {
	Least   int64            `json:"least"` // nanoseconds; shorter calls are left out
	From    int64            `json:"from"`
	To      int64            `json:"to"`
	Count   int              `json:"count"`
	Files   []string         `json:"files"`
	Threads []int32          `json:"threads"`
	Ops     []string         `json:"ops"`
	Errors  map[int64]string `json:"errors"` // names of the error numbers that occur
	Data    string           `json:"data"`
}

// callColumns are the columns of calls. Places count from 1.
var callColumns = []func(c *callWriter, one *profile.Call) int64{
	func(c *callWriter, one *profile.Call) int64 { return since(&c.start, one.Start) },
	func(_ *callWriter, one *profile.Call) int64 { return one.Nanos }, // -1 for unknown
	func(c *callWriter, one *profile.Call) int64 { return placeOf(c.threads, &c.Threads, one.TID) },
	func(c *callWriter, one *profile.Call) int64 { return placeOf(c.ops, &c.Ops, one.Op.String()) },
	func(c *callWriter, one *profile.Call) int64 { return c.file(one.File) }, // 0 for none, -1 for others
	func(_ *callWriter, one *profile.Call) int64 {
		if one.Request {
			return ^int64(one.Activity)
		}
		return int64(one.Activity)
	},
	func(c *callWriter, one *profile.Call) int64 { // from where the last one on the file ended
		if one.Offset < 0 {
			return 0
		}
		before := c.ends[one.File]
		c.ends[one.File] = one.Offset + max(one.Ret, 0)
		return one.Offset - before
	},
	func(_ *callWriter, one *profile.Call) int64 { // whether there is an offset
		if one.Offset < 0 {
			return 0
		}
		return 1
	},
	func(c *callWriter, one *profile.Call) int64 {
		switch {
		case one.Ret == format.NoResult:
			c.Errors[noResult] = "none"
			return -noResult
		case one.Ret < 0 && one.Ret >= -format.MaxErrno:
			c.Errors[-one.Ret] = format.ErrnoName(int(-one.Ret))
		}
		return one.Ret
	},
	func(_ *callWriter, one *profile.Call) int64 { return int64(one.Waker) },
	func(_ *callWriter, one *profile.Call) int64 { return one.Gap },
	func(_ *callWriter, one *profile.Call) int64 { return one.Off.Ready + one.Off.Own },
	func(_ *callWriter, one *profile.Call) int64 { return one.Off.Wait + one.Off.Other },
	func(_ *callWriter, one *profile.Call) int64 { return one.Off.Timer },
	func(_ *callWriter, one *profile.Call) int64 { return one.Off.Storage },
}

// noResult stands for the result of a call that did not return; no error has that number.
const noResult = 1 << 20

// callWriter encodes calls.
type callWriter struct {
	*calls
	p       *profile.Profile
	start   int64
	ends    map[int]int64 // by place of the file
	files   fileNames
	threads map[int32]int64
	ops     map[string]int64
}

// since returns how much a value has grown.
func since(last *int64, now int64) int64 {
	grown := now - *last
	*last = now
	return grown
}

// placeOf returns the place of a value in a list, from 1.
func placeOf[T comparable](places map[T]int64, list *[]T, v T) int64 {
	if places[v] == 0 {
		*list = append(*list, v)
		places[v] = int64(len(*list))
	}
	return places[v]
}

// maxFileNames bounds the names of files, in bytes. Later ones have no place.
const maxFileNames = 1 << 18

// fileNames are names of files, without repeats.
type fileNames struct {
	list   []string
	places map[string]int64
	bytes  int
}

func newFileNames() fileNames { return fileNames{list: []string{}, places: map[string]int64{}} }

// place returns the place of a name from 1, 0 where it has no room.
func (n *fileNames) place(name string) int64 {
	if n.places[name] == 0 {
		text := plain(name)
		if n.bytes += len(text); n.bytes > maxFileNames {
			return 0
		}
		n.list = append(n.list, text)
		n.places[name] = int64(len(n.list))
	}
	return n.places[name]
}

// file returns the place of a file, 0 for none, -1 for those that have no name here.
func (c *callWriter) file(place int) int64 {
	switch {
	case place == profile.PartNone:
		return 0
	case place < 0:
		return -1
	}
	if at := c.files.place(c.p.Files[place].Name); at > 0 {
		return at
	}
	return -1
}

// newCalls returns nil where the profile has none.
func newCalls(p *profile.Profile) *calls {
	if p.Calls == nil {
		return nil
	}
	out := &calls{Least: p.Calls.Least, From: p.Calls.From, To: p.Calls.To, Count: len(p.Calls.List), Threads: []int32{}, Ops: []string{}, Errors: map[int64]string{}}
	c := &callWriter{calls: out, p: p, ends: map[int]int64{}, files: newFileNames(), threads: map[int32]int64{}, ops: map[string]int64{}}
	out.Data = packed(p.Calls.List, len(callColumns), func(column int, one *profile.Call) int64 { return callColumns[column](c, one) })
	out.Files = c.files.list
	return out
}

// packed returns the numbers of rows, column by column, as calls.Data.
func packed[T any](rows []T, columns int, of func(column int, row *T) int64) string {
	var to bytes.Buffer
	z, err := zlib.NewWriterLevel(&to, zlib.DefaultCompression)
	if err != nil {
		panic("internal error: " + err.Error()) // the level is valid
	}
	var b []byte
	for k := range columns {
		b = b[:0]
		for i := range rows {
			b = binary.AppendVarint(b, of(k, &rows[i]))
		}
		z.Write(b) // to memory
	}
	z.Close()
	return base64.StdEncoding.EncodeToString(to.Bytes())
}
