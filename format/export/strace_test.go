package export

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
)

// The output can be read again: operation, arguments, strings, times and results, of
// every operation.
func TestStraceIsRead(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	h := &format.Header{Meta: []format.Meta{{Key: format.MetaStart, Value: "2024-05-06T07:08:09Z"}}}
	for op := format.OpNone + 1; int(op) < format.NumOps; op++ {
		if op.Info().Class == format.ClassSubmit {
			continue // not in a trace; strace shows no requests
		}
		if op == format.OpReopen {
			continue // strace shows the open of a name in /proc
		}
		if op.Info().Canon != nil && op.Info().Sys[0] >= 0 && !canonical(op) {
			continue // not in a trace
		}
		if op.Info().Kind == format.MadeKind {
			require.Empty(t, exported(t, "strace", h, []format.Event{{Op: op, TID: 1}}), "no call")
			continue
		}
		for range 20 {
			first := format.Event{Op: format.OpFsync, TID: 1, Dur: 5, Args: [6]int64{3}}
			want := random(rnd, op)
			text := exported(t, "strace", h, []format.Event{first, want})
			_, events := parsed(t, bytes.NewReader(text))
			require.Len(t, events, 2, "%s", text)
			got := events[1]
			require.Equal(t, want.Start, got.Start-events[0].Start, "%s", text)
			got.Start = want.Start
			require.Equal(t, shown(want), shown(got), "%s", text)
		}
	}
}

// canonical reports whether an operation with a Canon can stand for itself.
func canonical(op format.Op) bool {
	switch op {
	case format.OpOpen, format.OpStatx, format.OpFaccessat2, format.OpFchmodat2, format.OpLinkat:
		return true
	}
	return false
}

// random returns an event of a trace, with nothing that strace can't show.
func random(rnd *rand.Rand, op format.Op) format.Event {
	e := format.Event{Op: op, TID: 1 + rnd.Int32N(3), Start: rnd.Int64N(1e15), Dur: rnd.Int64N(1e12), Ret: rnd.Int64N(1 << 40)}
	switch rnd.IntN(4) {
	case 0:
		e.Ret = -1 - rnd.Int64N(100)
	case 1:
		e.Dur = format.Unknown
	}
	str := 0
	for k, a := range op.Info().Args {
		switch a.Kind {
		case format.Path, format.Text:
			e.Str[str] = []byte(strings.Repeat("a\x80\n\", ", rnd.IntN(3)))
			str++
		case format.Flags:
			if a.Opt {
				continue
			}
			e.Args[k] = int64(a.Flags.Flags[rnd.IntN(len(a.Flags.Flags))].Canon)
			if op == format.OpOpenm || op == format.OpOpen {
				e.Args[k] = format.RDWR
				if op == format.OpOpenm {
					e.Args[k] |= format.CREAT
				}
			}
		case format.Mode:
			if a.Opt {
				continue
			}
			e.Args[k] = rnd.Int64N(0o10000)
		case format.OptMode:
		case format.DirFD:
			e.Args[k] = format.AtFDCWD
		case format.FD, format.Count, format.Int:
			e.Args[k] = rnd.Int64N(1 << 20)
			if set := op.Info().FlagsOf(&e, k); set != nil {
				e.Args[k] = set.FromNative(format.HostArch, uint64(e.Args[k]))
			}
		default:
			if !a.Opt {
				e.Args[k] = rnd.Int64N(1 << 40)
			}
		}
	}
	return e
}

// shown is the text of an event, without what strace doesn't show: addresses
// of structs and of what a lock is in, and that an open has a mode.
func shown(e format.Event) format.Event {
	switch e.Op {
	case format.OpOpenm:
		e.Op = format.OpOpen
	case format.OpFstatx:
		e = format.Event{Op: format.OpStatx, TID: e.TID, Start: e.Start, Dur: e.Dur, Ret: e.Ret, Str: [2][]byte{{}},
			Args: [6]int64{e.Args[0], 0, e.Args[1], e.Args[2]}}
	case format.OpFaccess:
		e.Op, e.Str[0], e.Args = format.OpFaccessat2, []byte{}, [6]int64{e.Args[0], 0, e.Args[1], format.AtEmptyPath}
	case format.OpUtimens:
		e.Op, e.Args = format.OpUtimensat, [6]int64{format.AtFDCWD, 0, 0, e.Args[2]}
	case format.OpFutimens:
		e.Op, e.Args = format.OpUtimensat, [6]int64{e.Args[0]}
	case format.OpFcntl:
		if e.Args[1] == 1 || e.Args[1] == 3 || formOf(&e) == lockForm {
			e.Args[2] = 0
		}
	}
	for k, a := range e.Op.Info().Args {
		if a.Kind == format.Addr {
			e.Args[k] = 0
		}
	}
	e.Notes, e.Line = nil, 0
	return e
}
