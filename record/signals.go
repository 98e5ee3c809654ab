package record

import (
	"context"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

// Ready is called by a recorder when all is set up, before it writes anything and lets the command
// go. From here on the recorder has the signals, until it releases them.
func (o *Options) Ready(ctx context.Context) (*Signals, error) {
	s := catchSignals()
	err := ctx.Err()
	if err == nil && o.Begin != nil {
		err = o.Begin()
	}
	if err != nil {
		s.Release()
		return nil, err
	}
	return s, nil
}

// Signals are those that would end the recorder.
type Signals struct {
	C       chan os.Signal // the signals as they come
	dropped chan os.Signal // never received from
}

// catchSignals takes over the signals until Release. Those that are ignored stay
// ignored. It catches the others rather than ignoring them, because the command
// would inherit that.
//
// It also catches the signal that says that the script's file may grow no more:
// the error of the write says the same and does not end the recorder.
func catchSignals() *Signals {
	s := &Signals{C: make(chan os.Signal, 8), dropped: make(chan os.Signal)}
	signal.Notify(s.dropped, unix.SIGXFSZ)
	for _, n := range []os.Signal{unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGHUP} {
		if !signal.Ignored(n) {
			signal.Notify(s.C, n)
		}
	}
	return s
}

// Release gives the signals back.
func (s *Signals) Release() {
	signal.Stop(s.C)
	signal.Stop(s.dropped)
}

// Forwarded reports whether a recorder passes a signal on to the command. The
// command gets the others from the terminal.
func Forwarded(n os.Signal) bool { return n == unix.SIGTERM || n == unix.SIGHUP }
