package page

import (
	"math"
	"path"
	"strconv"
	"strings"

	"pianola/profile"
)

// timeline is what threads did over time, and the critical path on them.
type timeline struct {
	ColumnNanos int64         `json:"column_nanos"`
	Activities  []string      `json:"activities"`
	Calls       []string      `json:"calls"` // names of calls with their files
	Lanes       []lane        `json:"lanes"`
	All         string        `json:"all"`    // cells of all threads together, from the first column on
	Others      int           `json:"others"` // threads without a lane
	Path        []pathSegment `json:"path"`
}

// lane is a thread. Its cells are from column First on, with commas between. A
// cell is text: for each activity that it has, a letter from a on, and a digit of
// base 36 for its part of the column in thirty-fifths. The longest call of a cell
// is its place in Calls, from 1, a point and microseconds, in base 36. A cell that
// equals the one before is empty, and one without anything is "-".
type lane struct {
	Name    string `json:"name"`
	First   int    `json:"first"`
	Cells   string `json:"cells"`
	Longest string `json:"longest"`
	Thread  int32  `json:"thread"` // its number, for selections

	// Short are cells of the calls of libraries that are not in spanCalls, by kind, from First
	// on; "" for none.
	Short string `json:"short,omitempty"`
}

// pathSegment is a segment of the critical path: the lane, -1 for none, and where it begins
// and ends in nanoseconds; and the place of its step in Calls, from 1.
type pathSegment [4]int64

// names are those of calls, without repeats.
type names struct {
	list   []string
	places map[[2]string]int
	bytes  int
}

// maxNames bounds the names of calls with their files, in bytes. Later calls have no
// file.
const maxNames = 1 << 18

// place returns the place of a call from 1, 0 for none.
func (n *names) place(call, file string) int {
	if call == "" {
		return 0
	}
	if n.bytes > maxNames {
		file = ""
	}
	key := [2]string{call, file}
	if n.places[key] == 0 {
		if file != "" {
			call += " " + plain(file)
		}
		n.list = append(n.list, call)
		n.bytes += len(call)
		n.places[key] = len(n.list)
	}
	return n.places[key]
}

func newTimeline(p *profile.Profile) timeline {
	from := &p.Timeline
	t := timeline{ColumnNanos: from.ColumnNanos, Lanes: []lane{}, Others: from.Others, Path: []pathSegment{}}
	for k := range profile.NumActivities {
		t.Activities = append(t.Activities, k.String())
	}
	calls := names{list: []string{}, places: make(map[[2]string]int)}
	for i := range from.Lanes {
		l := &from.Lanes[i]
		var cells, longest sequence
		for k := range l.Cells {
			c := &l.Cells[k]
			cells.add(cellText(c, from.ColumnNanos))
			text := ""
			if at := calls.place(c.Longest.Name, c.Longest.File); at > 0 {
				text = strconv.FormatInt(int64(at), 36) + "." + strconv.FormatInt(c.Longest.Nanos/1e3, 36)
			}
			longest.add(text)
		}
		name := "thread"
		if program, _, _ := strings.Cut(l.Command, " "); program != "" {
			name = path.Base(program)
		}
		name += " " + strconv.Itoa(int(l.TID))
		t.Lanes = append(t.Lanes, lane{plain(name), l.First, cells.text(), longest.text(), l.TID, shortText(l, from.ColumnNanos)})
	}
	var all sequence
	for i := range from.All {
		all.add(cellText(&profile.Cell{Doing: from.All[i]}, 0))
	}
	t.All = all.text()
	for _, s := range from.Segments {
		t.Path = append(t.Path, pathSegment{int64(s.Lane), s.From, s.To, int64(calls.place(s.Name, s.File))})
	}
	t.Calls = calls.list
	return t
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

func (c *sequence) text() string { return string(c.out) }

// cellText returns what a thread did in a column.
func cellText(c *profile.Cell, column int64) string {
	return partsText(c.Doing[:], column)
}

// shortText returns the calls of libraries of a thread that are too short to be single ones.
func shortText(l *profile.Lane, column int64) string {
	var cells sequence
	for i := range l.Short {
		cells.add(partsText(l.Short[i][:], column))
	}
	return cells.text()
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
			part = max(part, 1) // something is to be seen of it
		}
		if part > 0 {
			text = strconv.AppendInt(append(text, byte(k)+'a'), part, 36)
		}
	}
	return string(text)
}
