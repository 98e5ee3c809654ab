package record

import (
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

// signals are those that would end the recorder.
type signals struct {
	c       chan os.Signal
	dropped chan os.Signal // nobody receives from it
}

// catchSignals takes over the signals. Those that are ignored stay so: they
// are caught rather than ignored themselves, for the command would inherit
// that.
//
// A signal that says that the script's file may grow no more must not end the
// recorder either: the error of the write says so, too.
func catchSignals() *signals {
	s := &signals{c: make(chan os.Signal, 8), dropped: make(chan os.Signal)}
	signal.Notify(s.dropped, unix.SIGXFSZ)
	for _, n := range []os.Signal{unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGHUP} {
		if !signal.Ignored(n) {
			signal.Notify(s.c, n)
		}
	}
	return s
}

func (s *signals) release() {
	signal.Stop(s.c)
	signal.Stop(s.dropped)
}

// forwarded reports whether a signal is for the command, which gets the others
// from the terminal.
func (s *signals) forwarded(n os.Signal) bool { return n == unix.SIGTERM || n == unix.SIGHUP }
