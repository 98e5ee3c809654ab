package cli

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"pianola/filter"
	"pianola/internal/console"
	"pianola/record"
	"pianola/record/parts"
	"pianola/table"
)

// destination is where a recording goes.
type destination struct {
	sink    record.Sink
	begun   func() bool         // something was written, or could not be
	finish  func(ok bool) error // completes it, if the recording did not fail
	summary func() string
}

// keeping says what is kept of a recording.
type keeping struct {
	most     int64 // bytes; 0 for all
	rotation parts.Rotation
	flight   parts.FlightOptions
	until    string
	files    int
}

// findKept takes what is kept of a recording from the command line.
func findKept(c *cli.Context) (k keeping, err error) {
	k.files, k.most = c.Int("keep-files"), sizeOf(c, "max-size")
	if c.IsSet("rotate") {
		if k.rotation.Every, err = time.ParseDuration(c.String("rotate")); err != nil {
			if err = size(1, math.MaxInt64)(c.String("rotate")); err != nil {
				err = fmt.Errorf("--rotate: %w, nor a duration such as 1h", err)
			}
			k.rotation.Bytes = sizeOf(c, "rotate")
		} else if k.rotation.Every <= 0 {
			err = fmt.Errorf("--rotate: %v is not above 0", k.rotation.Every)
		}
		if err != nil {
			return k, err
		}
	}
	if !c.IsSet("last") {
		return k, nil
	}
	k.flight = parts.FlightOptions{Last: c.Duration("last"), After: c.Duration("after"), Memory: sizeOf(c, "last-memory")}
	if k.until = c.String("until"); c.IsSet("until") {
		if k.flight.Until, err = filter.Parse(k.until); err != nil {
			return k, fmt.Errorf("--until: %w", err)
		}
	}
	return k, nil
}

// minLastMemory is the least that --last-memory can be: with less, the work at each sixteenth of it
// would not be worth while.
const minLastMemory = 1 << 20

// open begins the output of a recording, which is for who or else for the caller.
func (k *keeping) open(name string, who *account) (destination, error) {
	switch {
	case k.rotation != parts.Rotation{}:
		s := newSeries(name, k.files, who)
		r := parts.NewRotate(k.rotation, s.next)
		return s.destination(r, func(ok bool) error {
			if ok {
				return r.Close()
			}
			return r.Flush()
		}), nil
	case k.flight.Last > 0:
		return k.flightRecorder(newSeries(name, k.files, who)), nil
	}
	r, err := createRecording(name, who)
	if err != nil {
		return destination{}, err
	}
	r.most = k.most
	return destination{
		sink:    r,
		begun:   func() bool { return r.file.written > 0 || r.file.failed },
		finish:  r.finish,
		summary: func() string { return fmt.Sprintf("%s in %s", table.Bytes(float64(r.file.written)), name) },
	}, nil
}

// destination returns that of a sink that writes the series.
func (s *series) destination(sink record.Sink, finish func(ok bool) error) destination {
	return destination{
		sink:   sink,
		begun:  func() bool { return s.opened > 0 },
		finish: finish,
		summary: func() string {
			if s.opened == 0 {
				return "no script"
			}
			return fmt.Sprintf("%s in %s, the last one %s", table.Bytes(float64(s.bytes())), table.Plural(s.opened, "script"), s.names[len(s.names)-1])
		},
	}
}

// flightRecorder returns a destination that keeps the newest events, and writes them to the series at
// SIGUSR1.
func (k *keeping) flightRecorder(s *series) destination {
	o := k.flight
	o.Began = func() {
		session.Say("record: the last %g s are kept; kill -USR1 %d writes them", o.Last.Seconds(), os.Getpid())
	}
	o.Wrote = func(w parts.Window) {
		switch {
		case errors.Is(w.Err, parts.ErrMemory):
			console.Warn("record: the last events: %v", w.Err)
			console.Suggest(fmt.Sprintf("give more than --last-memory %s", table.Bytes(float64(o.Memory))))
		case w.Err != nil:
			console.Warn("record: the last events: %v", w.Err)
		default:
			text := fmt.Sprintf("record: the last %.1f s, %s, in %s", w.Elapsed.Seconds(), table.Plural(int(w.Events), "event"), w.Name)
			if w.Lost > 0 {
				text += fmt.Sprintf("; %s lost", table.Plural(int(w.Lost), "event"))
			}
			if w.Short {
				text += "; --last-memory holds no more"
			}
			session.Say("%s", text)
		}
	}
	f := parts.NewFlight(o, s.window)
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, unix.SIGUSR1)
	go func() {
		for range asked {
			f.Ask()
		}
	}()
	return s.destination(f, func(ok bool) error {
		signal.Stop(asked)
		close(asked)
		if ok {
			return f.Close()
		}
		return nil
	})
}

// parseProcessors parses a list of numbers of processors, as taskset and systemd take it.
func parseProcessors(list string) (all []int, err error) {
	if list == "" {
		return nil, nil
	}
	for word := range strings.SplitSeq(list, ",") {
		from, to, isRange := strings.Cut(word, "-")
		if !isRange {
			to = from
		}
		first, err1 := strconv.ParseUint(from, 10, 16)
		last, err2 := strconv.ParseUint(to, 10, 16)
		if err1 != nil || err2 != nil || first > last || last >= maxProcessors {
			return nil, fmt.Errorf("%q is no list of processors such as 0-3,8", list)
		}
		for n := first; n <= last; n++ {
			all = append(all, int(n))
		}
	}
	return all, nil
}

// maxProcessors are those that the kernel's set of 1024 bits numbers.
const maxProcessors = 1024
