package script

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/internal/testkit"
)

// readAll returns copies of all events of a source, read in batches of size. They
// lack their lines, so that those of different texts can be compared.
func readAll(r *Reader, size int) ([]format.Event, error) {
	events, err := testkit.ReadAll(r, size)
	for i := range events {
		events[i].Line = 0
	}
	return events, err
}

func parse(t testing.TB, text string) ([]format.Event, *Reader) {
	t.Helper()
	r := NewReader(strings.NewReader(text), "trace.txt")
	events, err := readAll(r, 7)
	require.NoError(t, err)
	return events, r
}

func parseOne(t testing.TB, line string) format.Event {
	t.Helper()
	events, _ := parse(t, line+"\n")
	require.Len(t, events, 1)
	return events[0]
}

// setNotes gives an event the notes of a text, as between the braces of a script.
func setNotes(e *format.Event, text string) { new(Reader).parseNotes(e, []byte(text)) }

func printRecorded(t testing.TB, h *format.Header, events []format.Event) string {
	t.Helper()
	var out bytes.Buffer
	w := NewWriter(&out)
	require.NoError(t, w.WriteHeader(h))
	require.NoError(t, w.Write(events))
	require.NoError(t, w.Flush())
	return out.String()
}

func printIntermediate(t testing.TB, h *format.Header, events []format.Event) string {
	t.Helper()
	var out bytes.Buffer
	w := NewIntermediateWriter(&out, h)
	require.NoError(t, w.Write(events))
	require.NoError(t, w.Flush())
	return out.String()
}

// randomEvent returns an event with arguments that the operation can have.
func randomEvent(rnd *rand.Rand, op format.Op) format.Event {
	e := format.Event{Op: op, TID: 1 + rnd.Int32N(3), Dur: format.Unknown, Ret: number(rnd)}
	if rnd.IntN(2) == 0 {
		e.Dur = rnd.Int64N(3e9)
	}
	if rnd.IntN(4) == 0 {
		e.Ret = -1 - rnd.Int64N(600)
	}
	info := op.Info()
	str := 0
	for k, a := range info.Args {
		switch a.Kind {
		case format.Path, format.Text:
			e.Str[str] = randomString(rnd)
			str++
		case format.Items:
			e.List = randomList(rnd)
		case format.Flags:
			// A flag word of a random kind, with random bits.
			e.Args[k] = a.Flags.FromNative(format.AMD64, uint64(rnd.Uint32()&rnd.Uint32()&rnd.Uint32()))
			if rnd.IntN(4) == 0 {
				e.Args[k] = int64(rnd.Uint64())
			}
			if k+1 < len(info.Args) && rnd.IntN(2) == 0 {
				for v := range info.Args[k+1].On {
					e.Args[k] = v
				}
			}
		case format.OptMode:
			if format.HasMode(e.Args[k-1]) {
				e.Args[k] = rnd.Int64N(0o10000)
			}
		default:
			e.Args[k] = number(rnd)
			if set := info.FlagsOf(&e, k); set != nil {
				e.Args[k] = set.FromNative(format.HostArch, uint64(uint32(e.Args[k])))
			}
		}
	}
	return e
}

func randomList(rnd *rand.Rand) *format.List {
	l := &format.List{Update: rnd.IntN(2) == 0}
	if l.Update {
		l.From = number(rnd)
	}
	if n := rnd.IntN(4); n > 0 { // an empty list is of no kind
		l.Of = format.ListOf(rnd.IntN(int(format.NumListOf)))
		for range n * l.Width() {
			l.Items = append(l.Items, number(rnd))
		}
	}
	return []*format.List{nil, l}[rnd.IntN(2)]
}

func number(rnd *rand.Rand) int64 {
	switch rnd.IntN(5) {
	case 0:
		return 0
	case 1:
		return format.AtFDCWD
	case 2:
		return int64(rnd.Uint64())
	case 3:
		return rnd.Int64N(100)
	}
	return rnd.Int64N(1 << 40)
}

func randomString(rnd *rand.Rand) []byte {
	fixed := []string{"", "NULL", "NULLs", "?", "12", "-1.5", "0x1f", "0x", "0xg", "+", "a b", "a,b", "x)", "pianola_tmp1", "/etc/a.b+c-d", "\"", "\\", "}", "{", "#", "compute"}
	switch rnd.IntN(4) {
	case 0:
		return nil
	case 1:
		b := make([]byte, rnd.IntN(20))
		for i := range b {
			b[i] = byte(rnd.Uint32())
		}
		return b
	}
	return []byte(fixed[rnd.IntN(len(fixed))])
}
