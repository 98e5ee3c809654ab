package spans

import (
	"context"
	"errors"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/format/layer"
	"pianola/format/script"
	"pianola/internal/plugin"
	"pianola/replay"
)

// text is a trace, as an intermediate script.
type text struct {
	t *testing.T
	s string
}

func (s text) Events() format.Reader { return script.NewReader(strings.NewReader(s.s), "test") }

func (s text) Header() *format.Header {
	r := s.Events()
	events := make([]format.Event, 1)
	_, err := r.Read(events)
	require.NoError(s.t, err)
	return r.Header()
}

// fake is a player that answers as was recorded, but for functions that it is told.
type fake struct {
	lock   sync.Mutex
	played []string
	answer map[string]plugin.Answer
	before func(function string)
	closed bool
}

func (f *fake) PlaySpan(thread int32, e *format.Event) (plugin.Answer, error) {
	if f.before != nil {
		f.before(e.Span.Function)
	}
	f.lock.Lock()
	defer f.lock.Unlock()
	line := string(script.AppendSpan(nil, e))
	f.played = append(f.played, line[:strings.Index(line, " =")])
	if a, ok := f.answer[e.Span.Function]; ok {
		return a, nil
	}
	return plugin.Answer{Result: e.Ret, Dur: e.Dur}, nil
}

func (f *fake) Close() error { f.closed = true; return nil }

func play(t *testing.T, s string, f *fake, o Options) (*Result, error) {
	l, err := layer.Load("hdf5")
	require.NoError(t, err)
	r, err := New(text{t, s}, l, 1<<20)
	require.NoError(t, err)
	o.Timing = replay.AFAP
	o.Open = func(context.Context, int32) (Player, error) { return f, nil }
	o.Place = func(path string) (string, bool) { return "at" + path, path != "/dev/null" }
	return r.Run(t.Context(), o)
}

const head = "# pianola intermediate 1\n# layer: hdf5 libhdf5.so\n# thread: 1 process=1 parent=0 start=0.000000000\n"

func TestRun(t *testing.T) {
	f := &fake{answer: map[string]plugin.Answer{
		"H5Fclose": {Result: -1, Dur: 500},
		"H5Dopen2": {Refused: "no"},
	}}
	var log strings.Builder
	got, err := play(t, head+`hdf5:H5Fcreate(path="/a", 2, 0, 0) = 7 <0.000001000> {span=open end=0.000001000}
hdf5:H5Fopen(path="/dev/null", 2, 0) = 8 <0.000001000> {span=open end=0.000002000}
hdf5:H5Dopen2(7, "x", 0) = 9 <0.000001000> {span=open end=0.000003000}
hdf5:H5Znew(7) = 9 <0.000001000> {span=open end=0.000004000}
compute ( 0.000010000 )
close ( 3 ) = 0 <0.000002000>
hdf5:H5Fclose(7) = 0 <0.000004000> {span=close end=0.000001000}
close ( 4 ) = 0 <0.000002000>
`, f, Options{Log: &log, About: []format.Meta{{Key: "host", Value: "here"}}})
	require.NoError(t, err)
	require.True(t, f.closed)
	require.Equal(t, []string{`hdf5:H5Fcreate(path="at/a", 2, 0, 0)`, `hdf5:H5Dopen2(7, "x", 0)`, `hdf5:H5Fclose(7)`}, f.played)
	require.Equal(t, []Function{
		{Name: "H5Fcreate", Kind: "open", Calls: 1, Nanos: 1000, Recorded: 1000},
		{Name: "H5Fopen", Kind: "open", Refused: 1},
		{Name: "H5Fclose", Kind: "close", Calls: 1, Failed: 1, Differed: 1, Nanos: 500, Recorded: 4000, First: &Difference{Thread: 1, Call: "H5Fclose(7)", Recorded: 0, Got: -1}},
		{Name: "H5Dopen2", Kind: "open", Refused: 1},
	}, got.Functions)
	require.Equal(t, []Reason{{"no", 1}, {"the file has no place below the root", 1}, {"the layer lacks the function", 1}}, got.Reasons)
	require.EqualValues(t, 1, got.Inside)
	require.EqualValues(t, 1, got.Outside)
	require.Equal(t, `# pianola script 1
# host: here
# layer: hdf5 libhdf5.so
# replay: timing=afap speed=1 wait=auto layer=hdf5 backend=program
1 hdf5:H5Fcreate(path="/a", 2, 0, 0) = 7 <0.000001000> {span=open}
1 hdf5:H5Fclose(7) = -1 <0.000000500> {span=close failed}
`, regexp.MustCompile(`(?m)^1 [0-9.]+`).ReplaceAllString(log.String(), "1"))
}

// A call within another of the layer is not replayed, except where the outer one calls
// the program back. Calls beside each other have no duration if they are short.
func TestNested(t *testing.T) {
	f := &fake{}
	got, err := play(t, head+`hdf5:H5Dget_space(1) = 2 <0.000001000> {span=metadata end=0.000002000}
hdf5:H5Dwrite(1, 2, 0, 0, 0, 0x10) = 0 <0.000005000> {span=write end=0.000004000}
hdf5:H5Sclose(2) = 0 <0.000000000> {span=setup end=0.000004000}
hdf5:H5Sclose(3) = 0 <0.000001000> {span=setup end=0.000005000}
hdf5:H5Oopen(1, "x", 0) = 4 <0.000001000> {span=open end=0.000007000}
hdf5:H5Oclose(4) = 0 <0.000001000> {span=close end=0.000008000}
hdf5:H5Literate(1, 0, 0, NULL, 0x10, NULL) = 0 <0.000003000> {span=metadata end=0.000009000}
close ( 4 ) = 0 <0.000002000>
`, f, Options{})
	require.NoError(t, err)
	require.Len(t, f.played, 6)
	require.NotContains(t, strings.Join(f.played, " "), "H5Dget_space")
	require.EqualValues(t, 1, got.Nested)
}

// A thread uses a handle only after the thread that made it.
func TestOrder(t *testing.T) {
	f := &fake{before: func(function string) {
		for range 1000 { // the other thread gets time to be wrong
			runtime.Gosched()
		}
	}}
	_, err := play(t, head+`# thread: 2 process=1 parent=0 start=0.000000000
1 hdf5:H5Fcreate(path="/a", 2, 0, 0) = 7 <0.000001000> {span=open end=0.000001000}
2 hdf5:H5Gcreate2(7, "x", 0, 0, 0) = 8 <0.000001000> {span=open end=0.000003000}
1 hdf5:H5Gclose(8) = 0 <0.000001000> {span=close end=0.000005000}
`, f, Options{})
	require.NoError(t, err)
	require.Equal(t, []string{`hdf5:H5Fcreate(path="at/a", 2, 0, 0)`, `hdf5:H5Gcreate2(7, "x", 0, 0, 0)`, `hdf5:H5Gclose(8)`}, f.played)
}

// failing is a writer that can't write.
type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestErrors(t *testing.T) {
	l, err := layer.Load("hdf5")
	require.NoError(t, err)
	_, err = New(text{t, head + "close ( 4 ) = 0 <0.000002000>\n"}, l, 1<<20)
	require.ErrorIs(t, err, ErrNoSpans)
	many := head + strings.Repeat("hdf5:H5Sclose(2) = 0 <0.000000000> {span=setup end=0.000004000}\n", 100)
	_, err = New(text{t, many}, l, 100)
	require.ErrorIs(t, err, replay.ErrLimit)

	f := &fake{answer: map[string]plugin.Answer{"H5Sclose": {Result: -1}}}
	got, err := play(t, many, f, Options{Strict: true})
	require.ErrorIs(t, err, ErrDiffers)
	require.ErrorContains(t, err, "span 0 of thread 1, H5Sclose: result differs: H5Sclose(2) of thread 1: recorded 0, which succeeded, got -1")
	require.EqualValues(t, 1, got.Functions[0].Calls)

	full := errors.New("full")
	_, err = play(t, many, &fake{}, Options{Log: failing{full}})
	require.ErrorIs(t, err, full)
}
