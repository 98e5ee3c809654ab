package parts

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/format/coverage"
	"pianola/format/filter"
	"pianola/format/script"
)

// page is a Script in memory.
type page struct {
	*script.Writer
	text   bytes.Buffer
	name   string
	closed bool
}

func (p *page) Written() int64 { return int64(p.text.Len() + p.Buffered()) }
func (p *page) Close() error   { p.closed = true; return p.Flush() }
func (p *page) Name() string   { return p.name }

// shelf opens pages.
type shelf struct{ pages []*page }

func (s *shelf) open() (Script, error) {
	p := &page{name: fmt.Sprint("page ", len(s.pages)+1)}
	p.Writer = script.NewWriter(&p.text)
	s.pages = append(s.pages, p)
	return p, nil
}

// read returns what a page holds.
func (p *page) read(t *testing.T) (*format.Header, []format.Event) {
	t.Helper()
	require.True(t, p.closed)
	r := script.NewReader(bytes.NewReader(p.text.Bytes()), p.name)
	var all []format.Event
	batch := make([]format.Event, 64)
	for {
		n, err := r.Read(batch)
		for i := range batch[:n] {
			all = append(all, batch[i].Clone())
		}
		if errors.Is(err, io.EOF) {
			return r.Header(), all
		}
		require.NoError(t, err)
	}
}

// begin is the header of a recording.
func begin() *format.Header {
	return &format.Header{
		Meta: []format.Meta{{Key: format.MetaCommand, Value: "x"}, {Key: format.MetaStart, Value: "2026-01-02T03:04:05Z"}, {Key: format.MetaCwd, Value: `"/w"`}},
	}
}

// end is the last header of a recording, or what it would be: the more events were lost, the
// later it is.
func end(lost int64) *format.Header {
	return &format.Header{Meta: []format.Meta{{Key: format.MetaLost, Value: fmt.Sprint(lost)}, {Key: format.MetaElapsed, Value: "99.0"}, {Key: format.MetaExit, Value: "3"},
		{Key: format.MetaCoverage, Value: fmt.Sprintf("bytes=%d seconds=1", 100*lost)}, {Key: format.MetaUnsupported, Value: fmt.Sprintf("lost calls=%d bytes=%d", lost, 10*lost)}}}
}

// lostBytes returns the bytes of events that an account has as lost.
func lostBytes(a *coverage.Account) (n int64) {
	for _, m := range a.Missing {
		if m.Kind == coverage.Lost {
			n += m.Bytes
		}
	}
	return n
}

func opened(at int64) format.Event {
	return format.Event{Op: format.OpOpen, TID: 1, Start: at, Dur: 10, Ret: 3, Args: [format.MaxArgs]int64{0, format.RDWR}, Str: [format.MaxStrings][]byte{[]byte("file")}}
}

func wrote(at int64) format.Event {
	return format.Event{Op: format.OpWrite, TID: 1, Start: at, Dur: 10, Ret: 100, Args: [format.MaxArgs]int64{3, 0, 100}}
}

// offset returns the offset of descriptor 3 in a header.
func offset(t *testing.T, h *format.Header) int64 {
	t.Helper()
	require.Len(t, h.Descriptors, 1)
	require.Equal(t, "/w/file", h.Descriptors[0].Path)
	return h.Descriptors[0].Offset
}

func TestRotate(t *testing.T) {
	for name, rotation := range map[string]Rotation{"size": {Bytes: 1000}, "time": {Every: 2000}} {
		t.Run(name, func(t *testing.T) {
			var s shelf
			r := NewRotate(rotation, s.open)
			lost := int64(0)
			r.Ends(func() (*format.Header, error) { lost += 2; return end(lost), nil })
			require.NoError(t, r.WriteHeader(begin()))
			require.NoError(t, r.Write([]format.Event{opened(0)}))
			const n = 100
			for i := range int64(n) {
				require.NoError(t, r.Write([]format.Event{wrote(100 * (i + 1))}))
			}
			total := lost + 5
			require.NoError(t, r.WriteHeader(end(total)))
			require.NoError(t, r.Close())

			require.Greater(t, len(s.pages), 3)
			var events, start, all, covered, missing int64
			for i, p := range s.pages {
				h, found := p.read(t)
				if i > 0 {
					require.Equal(t, 100*(events-1), offset(t, h), "as it stood")
					require.Equal(t, "/w", h.Running()[0].Cwd)
				}
				from, _ := h.Value(format.MetaPart)
				began, err := format.ParseSeconds([]byte(from))
				require.NoError(t, err)
				for k, e := range found {
					if i > 0 || k > 0 {
						require.Equal(t, 100*(events), began+e.Start)
					}
					events++
				}
				all += lostIn(h)
				elapsed, _ := h.Value(format.MetaElapsed)
				lasted, err := format.ParseSeconds([]byte(elapsed))
				require.NoError(t, err)
				require.Equal(t, start, began)
				start = began + lasted
				at, _ := h.Value(format.MetaStart)
				require.Equal(t, time.Date(2026, 1, 2, 3, 4, 5, int(began), time.UTC).Format(time.RFC3339Nano), at)
				account := coverage.Of(h)
				require.True(t, account.Known)
				covered += account.Recorded.Bytes
				missing += lostBytes(&account)
				_, ended := h.Value(format.MetaExit)
				require.Equal(t, i == len(s.pages)-1, ended)
			}
			require.Equal(t, int64(n+1), events)
			require.Equal(t, total, all)
			require.Equal(t, 100*total, covered)
			require.Equal(t, 10*total, missing)
		})
	}
}

// A child has events before its parent's fork: the next script waits for that.
func TestRotateWaits(t *testing.T) {
	var s shelf
	r := NewRotate(Rotation{Every: 1000}, s.open)
	require.NoError(t, r.WriteHeader(begin()))
	child := wrote(1100)
	child.TID = 2
	fork := format.Event{Op: format.OpVfork, TID: 1, Start: 50, Dur: 1300, Ret: 2}
	late := wrote(1500)
	for _, e := range []format.Event{opened(0), child, child, fork, late} {
		require.NoError(t, r.Write([]format.Event{e}))
	}
	require.NoError(t, r.WriteHeader(end(0)))
	require.NoError(t, r.Close())
	require.Len(t, s.pages, 2)
	_, first := s.pages[0].read(t)
	require.Len(t, first, 4)
	h, _ := s.pages[1].read(t)
	require.Len(t, h.Running(), 2)
}

// flight returns a Flight of 16 segments of a thousand nanoseconds.
func flight(t *testing.T, s *shelf, o FlightOptions) *Flight {
	t.Helper()
	o.Last = 16000
	if o.Memory == 0 {
		o.Memory = 1 << 20
	}
	f := NewFlight(o, s.open)
	require.NoError(t, f.WriteHeader(begin()))
	require.NoError(t, f.Write([]format.Event{opened(0)}))
	return f
}

// wait waits for what Look began to write.
func (f *Flight) wait() {
	if f.writing != nil {
		<-f.writing
	}
}

func TestFlight(t *testing.T) {
	var s shelf
	var told []Window
	f := flight(t, &s, FlightOptions{Wrote: func(w Window) { told = append(told, w) }})
	for i := range int64(1000) {
		require.NoError(t, f.Write([]format.Event{wrote(100 * (i + 1))}))
		require.NoError(t, f.Look())
	}
	require.Empty(t, s.pages)
	f.Ask()
	require.NoError(t, f.Look())
	f.wait()
	require.Len(t, s.pages, 1)
	h, events := s.pages[0].read(t)
	require.GreaterOrEqual(t, len(events), 160)
	require.LessOrEqual(t, len(events), 180)
	require.Equal(t, int64(100*(1000-len(events))), offset(t, h), "as it stood")
	require.Equal(t, []Window{{Name: "page 1", Events: int64(len(events)), Elapsed: time.Duration(100 * len(events))}}, told)
	from, _ := h.Value(format.MetaPart)
	began, err := format.ParseSeconds([]byte(from))
	require.NoError(t, err)
	require.Equal(t, int64(100010), began+events[len(events)-1].End())

	// It goes on, and writes at the end.
	require.NoError(t, f.Write([]format.Event{wrote(100100)}))
	require.NoError(t, f.WriteHeader(end(0)))
	require.NoError(t, f.Close())
	require.Len(t, s.pages, 2)
	h, events = s.pages[1].read(t)
	require.Equal(t, int64(100100), mustSeconds(t, h, format.MetaPart)+events[len(events)-1].Start)
	exit, _ := h.Value(format.MetaExit)
	require.Equal(t, "3", exit)
}

func mustSeconds(t *testing.T, h *format.Header, key string) int64 {
	t.Helper()
	text, _ := h.Value(key)
	v, err := format.ParseSeconds([]byte(text))
	require.NoError(t, err)
	return v
}

// A call that was in progress when the window began has what is left of it.
func TestFlightCutsCalls(t *testing.T) {
	var s shelf
	f := flight(t, &s, FlightOptions{})
	for i := range int64(200) {
		require.NoError(t, f.Write([]format.Event{wrote(100 * (i + 1))}))
	}
	long := format.Event{Op: format.OpRead, TID: 1, Start: 500, Dur: 19700, Args: [format.MaxArgs]int64{9}, Ret: 1}
	require.NoError(t, f.Write([]format.Event{long}))
	require.NoError(t, f.WriteHeader(end(0)))
	require.NoError(t, f.Close())
	h, events := s.pages[0].read(t)
	e := events[len(events)-1]
	require.Equal(t, format.OpRead, e.Op)
	require.Zero(t, e.Start)
	require.Equal(t, 20200-mustSeconds(t, h, format.MetaPart), e.Dur)
}

func TestFlightUntil(t *testing.T) {
	until, err := filter.Parse(`op == fsync && duration > 1us && path == /w/file && process == 1`)
	require.NoError(t, err)
	var s shelf
	f := flight(t, &s, FlightOptions{Until: until, After: 3000})
	sync := func(at int64, duration int64) format.Event {
		return format.Event{Op: format.OpFsync, TID: 1, Start: at, Dur: duration, Args: [format.MaxArgs]int64{3}}
	}
	step := func(e format.Event) {
		require.NoError(t, f.Write([]format.Event{e}))
		require.NoError(t, f.Look())
		f.wait()
	}
	step(sync(1000, 900))
	for at := int64(2000); at < 30000; at += 100 {
		if at == 20000 {
			step(sync(at, 2000))
			continue
		}
		step(wrote(at))
		if at < 24900 {
			require.Empty(t, s.pages, at)
		}
	}
	require.Len(t, s.pages, 1)
	h, events := s.pages[0].read(t)
	last := mustSeconds(t, h, format.MetaPart) + events[len(events)-1].End()
	require.GreaterOrEqual(t, last, int64(25000))
	require.Less(t, last, int64(25200))
	require.Contains(t, s.pages[0].text.String(), "fsync(3)")

	// Another one soon after is in the window of the first, or nearly; a later one is not.
	step(sync(30000, 2000))
	for at := int64(33000); at < 60000; at += 100 {
		step(wrote(at))
	}
	require.Len(t, s.pages, 1)
	step(sync(61000, 2000))
	step(wrote(67000))
	require.Len(t, s.pages, 2)
	require.NoError(t, f.WriteHeader(end(0)))
	require.NoError(t, f.Close())
	require.Len(t, s.pages, 2, "no event was selected since")
}

// The kept segments stay within their memory limit for any input.
func TestFlightMemory(t *testing.T) {
	var s shelf
	f := flight(t, &s, FlightOptions{Memory: 256 << 10})
	f.o.Last = time.Hour
	const n = 50000
	for i := range int64(n) {
		require.NoError(t, f.Write([]format.Event{wrote(100 * (i + 1))}))
		require.LessOrEqual(t, f.memory.room()+int64(len(f.open.pieces)), f.memory.size())
		require.LessOrEqual(t, f.buffer.Len(), 2*f.piece())
	}
	require.NoError(t, f.WriteHeader(end(0)))
	require.NoError(t, f.Close())
	h, events := s.pages[0].read(t)
	require.Greater(t, len(events), 4000)
	require.Equal(t, int64(100*(n-len(events))), offset(t, h))
}

// While a script is written that takes all of the memory, what comes has the memory of
// what is already written. Events without memory are missing as a block: the next
// script begins after it.
func TestFlightFlood(t *testing.T) {
	var s shelf
	var told []Window
	opens, goOn := make(chan struct{}, 4), make(chan struct{}, 4)
	f := NewFlight(FlightOptions{Last: time.Hour, Memory: 256 << 10, Wrote: func(w Window) { told = append(told, w) }}, func() (Script, error) {
		opens <- struct{}{}
		<-goOn
		return s.open()
	})
	require.NoError(t, f.WriteHeader(begin()))
	require.NoError(t, f.Write([]format.Event{opened(0)}))
	n := int64(0)
	flood := func(events int) {
		for range events {
			n++
			require.NoError(t, f.Write([]format.Event{wrote(100 * n)}))
			require.NoError(t, f.Look())
		}
	}
	flood(50000)
	f.Ask()
	require.NoError(t, f.Look())
	<-opens
	f.Ask() // while the first is being written
	first := n
	flood(50000)
	require.Nil(t, f.open, "no memory")
	goOn <- struct{}{}
	f.wait()
	goOn <- struct{}{}
	flood(2000)
	f.wait()
	flood(1)
	goOn <- struct{}{}
	require.NoError(t, f.WriteHeader(end(0)))
	require.NoError(t, f.Close())
	require.Len(t, s.pages, 3)
	require.Len(t, told, 3)
	last := int64(0)
	for i, p := range s.pages {
		require.NoError(t, told[i].Err)
		require.True(t, told[i].Short)
		h, events := p.read(t)
		require.Equal(t, mustSeconds(t, h, format.MetaPart)-10, offset(t, h), "as it stood")
		require.Equal(t, mustSeconds(t, h, format.MetaPart)+events[0].Start, offset(t, h)+100)
		for k := 1; k < len(events); k++ {
			require.Equal(t, events[k-1].Start+100, events[k].Start, "none is missing")
		}
		last = mustSeconds(t, h, format.MetaPart) + events[len(events)-1].Start
		if i == 0 {
			require.Equal(t, 100*first, last)
		}
	}
	require.Equal(t, 100*n, last)
}

// Processes of which more is known than the memory takes leave no room for events.
func TestFlightTooSmall(t *testing.T) {
	var s shelf
	var told []Window
	f := NewFlight(FlightOptions{Last: time.Hour, Memory: 4096, Wrote: func(w Window) { told = append(told, w) }}, s.open)
	h := begin()
	for fd := range int32(1000) {
		h.Descriptors = append(h.Descriptors, format.Descriptor{Process: 1, FD: fd, Path: "/a/file"})
	}
	require.NoError(t, f.WriteHeader(h))
	require.NoError(t, f.Write([]format.Event{wrote(100)}))
	f.Ask()
	require.NoError(t, f.Look())
	f.wait()
	require.Equal(t, []Window{{Err: ErrMemory}}, told)
	for fd := range int64(1000) {
		require.NoError(t, f.Write([]format.Event{{Op: format.OpClose, TID: 1, Start: 200 + fd, Dur: 1, Args: [format.MaxArgs]int64{fd}}}))
	}
	require.NoError(t, f.Write([]format.Event{wrote(int64(time.Hour))}))
	require.NoError(t, f.Write([]format.Event{wrote(int64(time.Hour) + 100)}))
	require.NoError(t, f.WriteHeader(end(0)))
	require.NoError(t, f.Close())
	require.Len(t, s.pages, 1, "there was room later")
	_, events := s.pages[0].read(t)
	require.Len(t, events, 1)
}

// A script has the account of what came in its time.
func TestFlightCoverage(t *testing.T) {
	var s shelf
	f := flight(t, &s, FlightOptions{})
	n := int64(0)
	f.Ends(func() (*format.Header, error) { return end(n), nil })
	for n = range int64(1000) {
		require.NoError(t, f.Write([]format.Event{wrote(100 * (n + 1))}))
	}
	require.NoError(t, f.WriteHeader(end(1000)))
	require.NoError(t, f.Close())
	h, events := s.pages[0].read(t)
	account := coverage.Of(h)
	require.Equal(t, int64(100*len(events)), account.Recorded.Bytes)
	require.Equal(t, int64(10*len(events)), lostBytes(&account))
	require.Equal(t, int64(len(events)), lostIn(h))
}

// A process that enters stands in the script before its first event, or in its head.
func TestFlightNewcomer(t *testing.T) {
	var s shelf
	f := flight(t, &s, FlightOptions{})
	enter := &format.Header{Meta: []format.Meta{{Key: format.MetaProcess, Value: `7 threads=7 cwd="/there"`}}, Descriptors: []format.Descriptor{{Process: 7, FD: 5, Path: "/there/it"}}}
	require.NoError(t, f.WriteHeader(enter))
	e := wrote(100)
	e.TID = 7
	require.NoError(t, f.Write([]format.Event{e}))
	f.Ask()
	require.NoError(t, f.Look())
	f.wait()
	text := s.pages[0].text.String()
	line := strings.Index(text, "# process: 7 threads=7")
	require.Greater(t, line, strings.Index(text, "open("))
	require.Less(t, line, strings.Index(text, "write("))
	for i := range int64(500) {
		require.NoError(t, f.Write([]format.Event{wrote(100 * (i + 1))}))
	}
	require.NoError(t, f.WriteHeader(end(0)))
	require.NoError(t, f.Close())
	h, _ := s.pages[1].read(t)
	require.Len(t, h.Running(), 2)
	require.Equal(t, "/there", h.Running()[1].Cwd)
	require.Contains(t, h.Descriptors, format.Descriptor{Process: 7, FD: 5, Path: "/there/it", Flags: h.Descriptors[1].Flags})
}

// A disk that is full costs a window, not the recording.
func TestFlightGoesOn(t *testing.T) {
	full := errors.New("full")
	var told []error
	f := NewFlight(FlightOptions{Last: time.Hour, Memory: 1 << 20, Wrote: func(w Window) { told = append(told, w.Err) }}, func() (Script, error) { return nil, full })
	require.NoError(t, f.WriteHeader(begin()))
	require.NoError(t, f.Write([]format.Event{opened(0)}))
	f.Ask()
	require.NoError(t, f.Look())
	f.wait()
	require.NoError(t, f.Write([]format.Event{wrote(100)}))
	require.Equal(t, []error{full}, told)
}

func TestFlightAllocations(t *testing.T) {
	until, err := filter.Parse("op == fsync && path ~ *.db")
	require.NoError(t, err)
	f := NewFlight(FlightOptions{Last: time.Hour, Memory: 1 << 30, Until: until}, nil)
	require.NoError(t, f.WriteHeader(begin()))
	require.NoError(t, f.Write([]format.Event{opened(0)}))
	batch := make([]format.Event, 1024)
	at := int64(0)
	allocations := testing.AllocsPerRun(100, func() {
		for i := range batch {
			at += 100
			batch[i] = wrote(at)
		}
		require.NoError(t, f.Write(batch))
	})
	require.Less(t, allocations, 10.0, "of 1024 events")
}

func BenchmarkFlight(b *testing.B) {
	f := NewFlight(FlightOptions{Last: time.Second, Memory: 64 << 20}, nil)
	if err := f.WriteHeader(begin()); err != nil {
		b.Fatal(err)
	}
	at := int64(0)
	_ = f.Write([]format.Event{opened(0)})
	batch := make([]format.Event, 1024)
	for b.Loop() {
		for i := range batch {
			at += 1000
			batch[i] = wrote(at)
		}
		if err := f.Write(batch); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1024, "ns/event")
}
