package export

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/format/script"
	"pianola/internal/testkit"
)

// sample returns a small trace with an instance of most that matters.
func sample(t testing.TB) (*format.Header, []format.Event) {
	t.Helper()
	f, err := os.Open("testdata/trace.txt")
	require.NoError(t, err)
	defer f.Close()
	return parsed(t, f)
}

// parsed returns the events of an intermediate script.
func parsed(t testing.TB, source io.Reader) (*format.Header, []format.Event) {
	t.Helper()
	r := script.NewReader(source, "trace.txt")
	events, err := testkit.ReadAll(r, 16)
	require.NoError(t, err)
	return r.Header(), events
}

// exported returns what a format makes of events.
func exported(t testing.TB, kind string, h *format.Header, events []format.Event) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := New(kind, &out, h)
	require.NoError(t, err)
	require.NoError(t, w.Write(events))
	require.NoError(t, w.Close())
	return out.Bytes()
}

func TestGolden(t *testing.T) {
	h, events := sample(t)
	for _, kind := range Kinds() {
		if kind == "parquet" {
			continue // see TestParquet
		}
		t.Run(kind, func(t *testing.T) {
			got := exported(t, kind, h, events)
			if kind == "c" {
				got = withoutProgram(t, got)
			}
			testkit.Golden(t, "trace."+kind, got)
		})
	}
}

func TestUnknownKind(t *testing.T) {
	_, err := New("xml", io.Discard, &format.Header{})
	require.EqualError(t, err, `unknown format "xml": expected one of script, fio, fio2, fiofiles, strace, json, csv, parquet, perfetto, c`)
}

func TestUnknownOperation(t *testing.T) {
	for _, kind := range Kinds() {
		w, err := New(kind, io.Discard, &format.Header{})
		require.NoError(t, err)
		require.Error(t, w.Write([]format.Event{{Op: format.Op(format.NumOps)}}), kind)
	}
}

// full is a disk with room for n more bytes.
type full struct{ n int }

var errFull = errors.New("no space left")

func (f *full) Write(b []byte) (int, error) {
	if len(b) > f.n {
		n := f.n
		f.n = 0
		return n, errFull
	}
	f.n -= len(b)
	return len(b), nil
}

// Wherever the output ends early, Close says so at the latest.
func TestOutputEndsEarly(t *testing.T) {
	h, events := sample(t)
	for _, kind := range Kinds() {
		whole := len(exported(t, kind, h, events))
		for _, room := range []int{0, 1, whole / 2, whole - 1} {
			w, err := New(kind, &full{room}, h)
			require.NoError(t, err)
			for i := range events {
				if err := w.Write(events[i : i+1]); err != nil {
					require.ErrorIs(t, err, errFull, kind)
				}
			}
			require.ErrorIs(t, w.Close(), errFull, "%s with room for %d of %d bytes", kind, room, whole)
		}
	}
}

// An error in mid-stream is returned by Write, so that a long export ends
// then.
func TestErrorStays(t *testing.T) {
	h, events := sample(t)
	for _, kind := range Kinds() {
		if kind == "fiofiles" || kind == "c" {
			continue // write at the end only
		}
		w, err := New(kind, &full{1000}, h)
		require.NoError(t, err)
		var failed error
		for i := 0; i < 80_000 && failed == nil; i++ {
			failed = w.Write(events[1:6])
		}
		require.ErrorIs(t, failed, errFull, kind)
		require.ErrorIs(t, w.Write(events), errFull, kind)
		require.ErrorIs(t, w.Close(), errFull, kind)
	}
}

func TestNoEvents(t *testing.T) {
	for kind, want := range map[string]string{
		"script": "", "fio": "fio version 3 iolog\n", "fio2": "fio version 2 iolog\n", "fiofiles": "#!/bin/sh\nset -eC # noclobber\n# fio --name=replay --thread --read_iolog=LOG --ioengine=psync\n",
		"strace": "", "json": "{}\n",
		"csv": "thread,process,index,op,class,start,duration,compute,off_cpu,ready,own,wait,timer,storage,held,result,error,fd,path,path2,offset,size,flags,mode,after,waker,woken,ring,batch,reaped,how,root_path,root_path2,recorded\r\n",
	} {
		require.Equal(t, want, string(exported(t, kind, &format.Header{}, nil)), kind)
	}
	require.NotEmpty(t, exported(t, "parquet", &format.Header{}, nil))
}

// The output is the same however events come in batches, and every time.
func TestDeterministic(t *testing.T) {
	h, events := sample(t)
	for _, kind := range Kinds() {
		var out bytes.Buffer
		w, err := New(kind, &out, h)
		require.NoError(t, err)
		for i := range events {
			require.NoError(t, w.Write(events[i:i+1]))
		}
		require.NoError(t, w.Close())
		require.Equal(t, exported(t, kind, h, events), out.Bytes(), kind)
	}
}

// A trace may come from a stranger: no events make a Writer panic.
func TestAnyEvents(t *testing.T) {
	h := &format.Header{
		Threads:     []format.Thread{{Process: 1}, {Process: 1, Parent: 1}, {Process: 2, Parent: 9}},
		Descriptors: []format.Descriptor{{Process: 7, FD: -1, Offset: -1}},
		Files:       []format.File{{Path: "a", Link: "a"}, {Path: "b", Type: format.TypeDir, Size: -1}},
	}
	for _, kind := range Kinds() {
		rnd := rand.New(rand.NewPCG(3, 3))
		w, err := New(kind, io.Discard, h)
		require.NoError(t, err)
		failures := 0
		for range 20_000 {
			e := format.Event{Op: format.Op(1 + rnd.IntN(format.NumOps-1)), TID: rnd.Int32N(6) - 1, Start: anyNumber(rnd), Dur: anyNumber(rnd), Ret: anyNumber(rnd)}
			for k := range e.Args {
				e.Args[k] = anyNumber(rnd)
			}
			for k := range e.Str {
				if n := rnd.IntN(4); n > 0 {
					e.Str[k] = []byte("a/b/"[:n])
				}
			}
			if w.Write([]format.Event{e}) != nil {
				failures++
			}
		}
		if err := w.Close(); !slices.Contains([]string{"fio", "fio2", "fiofiles", "c"}, kind) { // which must refuse names
			require.NoError(t, err)
			require.Zero(t, failures)
		}
	}
}

func anyNumber(rnd *rand.Rand) int64 {
	switch rnd.IntN(3) {
	case 0:
		return rnd.Int64N(8) - 2
	case 1:
		return int64(rnd.Uint64())
	}
	return rnd.Int64N(1 << 20)
}

// A descriptor that fcntl makes append writes to the end of the file, and strace
// shows the flags.
func TestAppendBySetFlags(t *testing.T) {
	h, events := parsed(t, bytes.NewReader([]byte("openm ( a 34 420 ) = 3\nwrite ( 3 100 ) = 100\nfcntl ( 3 4 10 ) = 0\nlseek ( 3 0 0 ) = 0\nwrite ( 3 7 ) = 7\n")))
	f := newFiles(h)
	f.start()
	var last effects
	for i := range events {
		last = f.apply(&events[i])
	}
	require.Equal(t, int64(100), last.written.offset)
	require.Contains(t, string(exported(t, "strace", h, events)), "fcntl(3, F_SETFL, O_WRONLY|O_APPEND) = 0")
}
