// Package output is where a recording goes: to one script, to scripts in turn, or to memory that
// holds its newest events until they are asked for.
package output

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"pianola/internal/console"
	"pianola/internal/files"
	"pianola/internal/table"
	"pianola/record"
	"pianola/record/parts"
)

// Options say what is kept of a recording.
type Options struct {
	MaxBytes int64               // of the one script, at which the recording ends; 0 for none
	Rotation parts.Rotation      // of scripts in turn; zero for none
	Flight   parts.FlightOptions // of the newest events, if Last is above 0; Began and Wrote are not used
	Scripts  int                 // that a rotation or a flight recorder keeps: the newest ones

	Owner   *syscall.Credential // whom the scripts are for; nil for the caller
	Files   *files.Set          // that claims the scripts
	Console *console.Console    // that a flight recorder speaks to
}

// Output takes one recording. Its methods belong to one goroutine.
type Output interface {
	record.Sink
	Finish(ok bool) error // completes what is written, or leaves it as it is if the recording failed; call it once
	String() string       // how much is in which file
}

// Open begins the output of a recording. It writes nothing before the recorder does, so what has
// the name stays until then. Options must outlive the output.
func (o *Options) Open(name string) (Output, error) {
	switch {
	case o.Rotation != parts.Rotation{}:
		s := o.series(name)
		return &rotation{parts.NewRotate(o.Rotation, s.next), s}, nil
	case o.Flight.Last > 0:
		return o.flight(name), nil
	}
	r, err := o.create(name)
	if err != nil {
		return nil, err
	}
	r.most = o.MaxBytes
	return r, nil
}

// Names returns the names of the scripts of n recordings: trace-1.txt and so on, or only the name
// for one.
func Names(name string, n int) (names []string) {
	if n == 1 {
		return []string{name}
	}
	stem, packed := strings.CutSuffix(name, ".zst")
	ext := filepath.Ext(stem)
	stem = strings.TrimSuffix(stem, ext)
	if packed {
		ext += ".zst"
	}
	for i := range n {
		names = append(names, fmt.Sprintf("%s-%d%s", stem, i+1, ext))
	}
	return names
}

// rotation is scripts in turn.
type rotation struct {
	*parts.Rotate
	*series
}

// Finish implements Output.
func (r *rotation) Finish(ok bool) error {
	if ok {
		return r.Close()
	}
	return r.Flush()
}

// flight keeps the newest events, and writes them to the series at SIGUSR1.
type flight struct {
	*parts.Flight
	*series
	asked chan os.Signal
}

func (o *Options) flight(name string) *flight {
	s := o.series(name)
	fo := o.Flight
	fo.Began = func() {
		o.Console.Say("record: the last %g s are kept; kill -USR1 %d writes them", fo.Last.Seconds(), os.Getpid())
	}
	fo.Wrote = o.wrote
	f := &flight{parts.NewFlight(fo, s.window), s, make(chan os.Signal, 1)}
	signal.Notify(f.asked, unix.SIGUSR1)
	go func() {
		for range f.asked {
			f.Ask()
		}
	}()
	return f
}

// wrote says how the writing of the newest events went.
func (o *Options) wrote(w parts.Window) {
	if w.Err != nil {
		console.Warn("record: the last events: %v", w.Err)
		if errors.Is(w.Err, parts.ErrMemory) {
			console.Suggest(fmt.Sprintf("give more than --last-memory %s", table.Bytes(float64(o.Flight.Memory))))
		}
		return
	}
	text := fmt.Sprintf("record: the last %.1f s, %s, in %s", w.Elapsed.Seconds(), table.Plural(int(w.Events), "event"), w.Name)
	if w.Lost > 0 {
		text += fmt.Sprintf("; %s lost", table.Plural(int(w.Lost), "event"))
	}
	if w.Short {
		text += "; --last-memory holds no more"
	}
	o.Console.Say("%s", text)
}

// Finish implements Output.
func (f *flight) Finish(ok bool) error {
	signal.Stop(f.asked)
	close(f.asked)
	if ok {
		return f.Close()
	}
	return nil
}
