package profile

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"pianola/format"
)

// chartsDocument is what only charts need. Lists of many numbers are text: digits of base
// 36, or the columns of packed. Their numbers are whole nanoseconds, as the fields say.
type chartsDocument struct {
	Curves   curvesDocument `json:"curves"`
	Heat     []heatDocument `json:"heat"`
	Timeline lanesDocument  `json:"timeline"`
	Ranks    *ranksDocument `json:"rank_map,omitempty"`
	Parts    partsDocument  `json:"parts"`
	Calls    *callsDocument `json:"calls,omitempty"`
	Spans    *spansDocument `json:"library_calls,omitempty"`
	Rows     map[string]int `json:"rows"` // of tables that are cut, before that
}

func (p *Profile) charts() *chartsDocument {
	return &chartsDocument{
		Curves: p.curvesDocument(), Heat: p.heatDocuments(), Timeline: p.Timeline.document(), Ranks: p.ranksDocument(),
		Parts: p.partsDocument(), Calls: p.callsDocument(), Spans: p.spansDocument(), Rows: map[string]int{},
	}
}

func secondsOf(nanos []int64) []float64 {
	out := make([]float64, len(nanos))
	for i, n := range nanos {
		out[i] = format.Seconds(n)
	}
	return out
}

// curvesDocument holds the Curves. They have a point at 0, at the end of each column, and
// at the run time.
type curvesDocument struct {
	Column float64         `json:"column_seconds"`
	Lines  []curveDocument `json:"lines"` // of the categories with time
}

type curveDocument struct {
	Name    string    `json:"name"`
	Seconds []float64 `json:"seconds"` // at each point
}

// maxCurvePoints bounds a curve, at about two points for each pixel of a wide screen.
const maxCurvePoints = 1 << 11

func (p *Profile) curvesDocument() curvesDocument {
	d := curvesDocument{Lines: []curveDocument{}}
	for k, c := range p.Curves {
		if len(c) == 0 {
			continue
		}
		each := (len(c) + maxCurvePoints - 1) / maxCurvePoints
		d.Column = format.Seconds(c[min(each, len(c)-1)].Elapsed) // curves of one profile have their points at the same times
		line := curveDocument{Name: Category(k).String()}
		for i := 0; i < len(c)-1; i += each {
			line.Seconds = append(line.Seconds, format.Seconds(c[i].Spent))
		}
		line.Seconds = append(line.Seconds, format.Seconds(c[len(c)-1].Spent))
		d.Lines = append(d.Lines, line)
	}
	return d
}

// heatDocument is the Heat of a file.
type heatDocument struct {
	Name    string  `json:"name"`
	Column  float64 `json:"column_seconds"`
	Row     int64   `json:"row_bytes"`
	Columns int     `json:"columns"`
	Rows    int     `json:"rows"`
	Read    []int64 `json:"read"`    // bytes by column, then row; empty if nothing was
	Written []int64 `json:"written"` // the same
	Missed  float64 `json:"missed_seconds"`
}

// maxHeatDocuments is how many files have a map in a document.
const maxHeatDocuments = 16

func (p *Profile) heatDocuments() []heatDocument {
	list := []heatDocument{}
	for i := range p.Files {
		if h := p.Files[i].Heat; h != nil && len(list) < maxHeatDocuments {
			list = append(list, heatDocument{format.CutName(p.Files[i].Name), format.Seconds(h.ColumnNanos), h.RowBytes, h.Columns, h.Rows,
				blank(h.Read), blank(h.Written), format.Seconds(h.Missed)})
		}
	}
	return list
}

// blank returns an empty list for one without anything.
func blank(cells []int64) []int64 {
	if !slices.ContainsFunc(cells, func(n int64) bool { return n > 0 }) {
		return []int64{}
	}
	return cells
}

// ranksDocument is the RankMap, and what the ranks did in sentences.
type ranksDocument struct {
	Column  float64   `json:"column_seconds"`
	Columns int       `json:"columns"`
	Ranks   []int32   `json:"ranks"`       // of the rows
	Nodes   []string  `json:"nodes"`       // of these
	IO      []float64 `json:"io_seconds"`  // by column, then row
	MPI     []float64 `json:"mpi_seconds"` // the same; empty where none waited
	Notes   []string  `json:"notes"`
}

// maxRankRows is how many ranks have a row in a document.
const maxRankRows = 256

func (p *Profile) ranksDocument() *ranksDocument {
	m := p.RankMap
	if m == nil || m.Columns == 0 {
		return nil
	}
	all := len(m.Ranks)
	shown := min(all, maxRankRows)
	d := &ranksDocument{Column: format.Seconds(m.ColumnNanos), Columns: m.Columns, Ranks: m.Ranks[:shown], IO: []float64{}, MPI: []float64{}}
	for column := range m.Columns {
		d.IO = append(d.IO, secondsOf(m.IO[column*all:][:shown])...)
		if len(blank(m.MPI)) > 0 {
			d.MPI = append(d.MPI, secondsOf(m.MPI[column*all:][:shown])...)
		}
	}
	for _, r := range p.Ranks[:shown] {
		d.Nodes = append(d.Nodes, format.CutName(r.Node))
	}
	for _, note := range p.RankNotes() {
		d.Notes = append(d.Notes, format.CutName(note))
	}
	return d
}

// places are values without repeats. Their places count from 1.
type places[T comparable] struct {
	list []T
	at   map[T]int
}

func (p *places[T]) of(v T) int {
	at := p.at[v]
	if at == 0 {
		if p.at == nil {
			p.at = make(map[T]int)
		}
		p.list = append(p.list, v)
		at = len(p.list)
		p.at[v] = at
	}
	return at
}

func (p places[T]) MarshalJSON() ([]byte, error) { return json.Marshal(append([]T{}, p.list...)) }

// names are places of names, of bounded length together.
type names struct {
	places[string]
	bytes int
}

// maxNames bounds names, in bytes.
const maxNames = 1 << 18

// of returns the place of a name. Where there is no room, it returns that of another one, and
// 0 if that is empty.
func (n *names) of(name, instead string) int {
	if n.at[name] == 0 {
		short := format.CutName(name)
		if n.bytes+len(short) > maxNames {
			if name = instead; name == "" {
				return 0
			}
			short = ""
		}
		n.bytes += len(short)
	}
	return n.places.of(name)
}

func (n names) MarshalJSON() ([]byte, error) {
	short := make([]string, len(n.list))
	for i, name := range n.list {
		short[i] = format.CutName(name)
	}
	return json.Marshal(short)
}

// lanesDocument are the lanes of a Timeline. Their columns and activities are those of
// activityDocument.
type lanesDocument struct {
	Lanes  []laneDocument `json:"lanes"`
	Calls  names          `json:"calls"`  // the longest ones, with their files
	Others int            `json:"others"` // threads without a lane
}

// laneDocument is a thread. Its cells are from column First on, with commas between. A
// cell is text: for each activity that it has, a letter from a on, and a digit of
// base 36 for its part of the column in thirty-fifths. The longest call of a cell
// is its place in Calls, from 1, a point and microseconds, in base 36. A cell that
// equals the one before is empty, and one without anything is "-".
type laneDocument struct {
	Name    string `json:"name"`
	Thread  int32  `json:"thread"`
	First   int    `json:"first"`
	Cells   string `json:"cells"`
	Longest string `json:"longest"`
	Short   string `json:"short,omitempty"` // calls of libraries that are not in spansDocument, by kind
}

func (t *Timeline) document() lanesDocument {
	d := lanesDocument{Lanes: []laneDocument{}, Others: t.Others}
	for i := range t.Lanes {
		l := &t.Lanes[i]
		var cells, longest, short sequence
		for k := range l.Cells {
			c := &l.Cells[k]
			cells.add(partsText(c.Doing[:], t.ColumnNanos))
			text := ""
			if name := c.Longest.Name; name != "" {
				text = digits(int64(d.Calls.of(c.Longest.text(), name))) + "." + digits(c.Longest.Nanos/1e3)
			}
			longest.add(text)
		}
		for k := range l.Short {
			short.add(partsText(l.Short[k][:], t.ColumnNanos))
		}
		name := "thread"
		if program, _, _ := strings.Cut(l.Command, " "); program != "" {
			name = program[strings.LastIndexByte(program, '/')+1:]
		}
		name += " " + strconv.Itoa(int(l.TID))
		d.Lanes = append(d.Lanes, laneDocument{format.CutName(name), l.TID, l.First, string(cells.out), string(longest.out), string(short.out)})
	}
	return d
}

// text returns the name of a step with its file.
func (s *Step) text() string {
	if s.File == "" {
		return s.Name
	}
	return s.Name + " " + s.File
}

// sequence is words with a comma after each but the last. A word that is the one
// before is left out, and none is "-".
type sequence struct {
	out    []byte
	before string
}

func (c *sequence) add(word string) {
	if len(c.out) > 0 {
		c.out = append(c.out, ',')
	}
	if word == "" {
		word = "-"
	}
	if word != c.before {
		c.out = append(c.out, word...)
	}
	c.before = word
}

// partsText returns the parts of a column, or of their sum if that is longer.
func partsText(parts []int64, column int64) string {
	sum := 0.0
	most := 0
	for k, nanos := range parts {
		sum += float64(nanos)
		if nanos > parts[most] {
			most = k
		}
	}
	var text []byte
	for k, nanos := range parts {
		part := int64(math.Round(35 * float64(nanos) / max(sum, float64(column))))
		if k == most && nanos > 0 {
			part = max(part, 1) // it can be seen
		}
		if part > 0 {
			text = strconv.AppendInt(append(text, byte(k)+'a'), part, 36)
		}
	}
	return string(text)
}

func digits(n int64) string { return strconv.FormatInt(n, 36) }

// partsDocument are the Parts. Records is text, records with commas between, of fields with
// points between, in base 36: the places of the file in Files, the thread in Threads and the
// operation in Operations, all from 1, 0 for others and, of files, - for none; the category, the
// piece, calls, errors, bytes, nanoseconds, the first class of durations, and the calls of that
// class and the next ones. A place that is the one of the record before is empty, and one class
// that has all calls has no number.
type partsDocument struct {
	Piece      float64        `json:"piece_seconds"`
	Files      names          `json:"files"`
	Threads    places[int32]  `json:"threads"`
	Operations places[string] `json:"operations"`
	Categories []string       `json:"classes"`
	Durations  []float64      `json:"durations_seconds"` // where the classes begin
	Records    string         `json:"records"`
}

func (p *Profile) partsDocument() partsDocument {
	d := partsDocument{Piece: format.Seconds(p.Parts.Nanos), Categories: categoryNames[:]}
	for k := range NumDurations {
		d.Durations = append(d.Durations, format.Seconds(DurationFrom(k)))
	}
	var b []byte
	var before [3]string
	for i := range p.Parts.List {
		from := &p.Parts.List[i]
		at := [3]string{"-", "0", digits(int64(d.Operations.of(from.Op.String())))}
		if from.File != PartNone {
			at[0] = digits(max(d.Files.file(p, from.File), 0))
		}
		if from.Thread >= 0 {
			at[1] = digits(int64(d.Threads.of(from.Thread)))
		}
		if i > 0 {
			b = append(b, ',')
		}
		for k, place := range at {
			if place != before[k] {
				b = append(b, place...)
			}
			b = append(b, '.')
		}
		before = at
		rest := []int64{int64(from.Category), int64(from.Piece), from.Calls, from.Errors, from.Bytes, from.Nanos, int64(from.First)}
		if len(from.Durations) == 0 {
			rest = append(rest, 0)
		} else if len(from.Durations) > 1 || from.Durations[0] != from.Calls {
			rest = append(rest, from.Durations...)
		}
		for k, n := range rest {
			if k > 0 {
				b = append(b, '.')
			}
			b = strconv.AppendInt(b, n, 36)
		}
	}
	d.Records = string(b)
	return d
}

// file returns the place of a file of a profile, 0 for none, -1 for those that have no name
// here.
func (n *names) file(p *Profile, place int) int64 {
	if place == PartNone {
		return 0
	}
	if place >= 0 {
		if at := n.of(p.Files[place].Name, ""); at > 0 {
			return int64(at)
		}
	}
	return -1
}

// callsDocument are the Calls. Data is packed.
type callsDocument struct {
	Least      float64          `json:"least_seconds"` // shorter calls are left out
	From       float64          `json:"from_seconds"`
	To         float64          `json:"to_seconds"`
	Count      int              `json:"count"`
	Files      names            `json:"files"`
	Threads    places[int32]    `json:"threads"`
	Operations places[string]   `json:"operations"`
	Errors     map[int64]string `json:"errors"` // names of the error numbers that occur
	Data       string           `json:"data"`

	p     *Profile
	start int64
	ends  map[int]int64 // by place of the file
}

// callColumns are the columns of a callsDocument. Places count from 1, times are nanoseconds.
var callColumns = []func(d *callsDocument, one *Call) int64{
	func(d *callsDocument, one *Call) int64 { return since(&d.start, one.Start) },
	func(_ *callsDocument, one *Call) int64 { return one.Nanos }, // -1 for unknown
	func(d *callsDocument, one *Call) int64 { return int64(d.Threads.of(one.TID)) },
	func(d *callsDocument, one *Call) int64 { return int64(d.Operations.of(one.Op.String())) },
	func(d *callsDocument, one *Call) int64 { return d.Files.file(d.p, one.File) },
	func(_ *callsDocument, one *Call) int64 {
		if one.Request {
			return ^int64(one.Activity)
		}
		return int64(one.Activity)
	},
	func(d *callsDocument, one *Call) int64 { // from where the last one on the file ended
		if one.Offset < 0 {
			return 0
		}
		before := d.ends[one.File]
		d.ends[one.File] = one.Offset + max(one.Ret, 0)
		return one.Offset - before
	},
	func(_ *callsDocument, one *Call) int64 { // whether there is an offset
		if one.Offset < 0 {
			return 0
		}
		return 1
	},
	func(d *callsDocument, one *Call) int64 {
		switch {
		case one.Ret == format.NoResult:
			d.Errors[noResult] = "none"
			return -noResult
		case one.Ret < 0 && one.Ret >= -format.MaxErrno:
			d.Errors[-one.Ret] = format.ErrnoName(int(-one.Ret))
		}
		return one.Ret
	},
	func(_ *callsDocument, one *Call) int64 { return int64(one.Waker) },
	func(_ *callsDocument, one *Call) int64 { return one.Gap },
	func(_ *callsDocument, one *Call) int64 { return one.Off.Ready + one.Off.Own },
	func(_ *callsDocument, one *Call) int64 { return one.Off.Wait + one.Off.Other },
	func(_ *callsDocument, one *Call) int64 { return one.Off.Timer },
	func(_ *callsDocument, one *Call) int64 { return one.Off.Storage },
}

// noResult stands for the result of a call that did not return; no error has that number.
const noResult = 1 << 20

// since returns how much a value has grown.
func since(last *int64, now int64) int64 {
	grown := now - *last
	*last = now
	return grown
}

func (p *Profile) callsDocument() *callsDocument {
	c := p.Calls
	if c == nil {
		return nil
	}
	d := &callsDocument{Least: format.Seconds(c.Least), From: format.Seconds(c.From), To: format.Seconds(c.To), Count: len(c.List), Errors: map[int64]string{},
		p: p, ends: map[int]int64{}}
	d.Data = packed(d, c.List, callColumns)
	return d
}

// spansDocument are the SpanCalls of the threads that have a lane. Data is packed.
type spansDocument struct {
	Least     float64              `json:"least_seconds"` // shorter calls are in lanes
	Kinds     []string             `json:"kinds"`         // of the short ones in lanes
	Count     int                  `json:"count"`
	Threads   places[int32]        `json:"threads"`
	Functions places[spanFunction] `json:"functions"`
	Files     names                `json:"files"`
	Data      string               `json:"data"`

	start int64
}

// spanFunction is a function of a library.
type spanFunction struct {
	Name string `json:"name"` // LAYER:FUNCTION
	Kind string `json:"kind"`
}

// spanCallColumns are the columns of a spansDocument. Places count from 1, times are
// nanoseconds.
var spanCallColumns = []func(d *spansDocument, one *SpanCall) int64{
	func(d *spansDocument, one *SpanCall) int64 { return since(&d.start, one.Start) },
	func(_ *spansDocument, one *SpanCall) int64 { return one.Nanos },
	func(_ *spansDocument, one *SpanCall) int64 { return one.Nanos - one.Self },
	func(d *spansDocument, one *SpanCall) int64 { return int64(d.Threads.of(one.TID)) },
	func(d *spansDocument, one *SpanCall) int64 { // negative if it failed
		f := int64(d.Functions.of(spanFunction{format.CutName(one.Function), format.CutName(one.Kind)}))
		if one.Failed {
			return -f
		}
		return f
	},
	func(d *spansDocument, one *SpanCall) int64 { // 0 for none
		if one.File == "" {
			return 0
		}
		return int64(d.Files.of(one.File, ""))
	},
	func(_ *spansDocument, one *SpanCall) int64 { return max(one.Bytes, format.Unknown) },
}

func (p *Profile) spansDocument() *spansDocument {
	if p.SpanCalls == nil {
		return nil
	}
	shown := map[int32]bool{}
	for i := range p.Timeline.Lanes {
		shown[p.Timeline.Lanes[i].TID] = true
	}
	list := slices.DeleteFunc(slices.Clone(p.SpanCalls.List), func(one SpanCall) bool { return !shown[one.TID] })
	d := &spansDocument{Least: format.Seconds(p.SpanCalls.Least), Kinds: []string{}, Count: len(list)}
	for _, kind := range p.SpanCalls.Kinds {
		d.Kinds = append(d.Kinds, format.CutName(kind))
	}
	d.Data = packed(d, list, spanCallColumns)
	return d
}

// packed returns columns of a number for each row, one column after the other: signed varints as
// of encoding/binary, compressed by zlib (RFC 1950), in base 64.
func packed[D, T any](d *D, rows []T, columns []func(d *D, row *T) int64) string {
	var to bytes.Buffer
	z, err := zlib.NewWriterLevel(&to, zlib.DefaultCompression)
	if err != nil {
		panic("internal error: " + err.Error()) // the level is valid
	}
	var b []byte
	for _, of := range columns {
		b = b[:0]
		for i := range rows {
			b = binary.AppendVarint(b, of(d, &rows[i]))
		}
		z.Write(b) // to memory
	}
	z.Close()
	return base64.StdEncoding.EncodeToString(to.Bytes())
}
