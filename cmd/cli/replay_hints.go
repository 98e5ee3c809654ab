package cli

import (
	"errors"
	"os"
	"syscall"

	"pianola/format/bin"
	"pianola/internal/console"
	"pianola/replay"
	"pianola/replay/fileset"
	"pianola/replay/posix"
	"pianola/replay/sandbox"
)

// showPreparation returns a function that shows the progress of a preparation.
func showPreparation(d *console.Progress) func(fileset.Progress) {
	return func(p fileset.Progress) {
		d.Describe("preparing files: %d of %d", p.Files, p.AllFiles)
		if p.AllBytes > 0 {
			d.Set(p.Bytes, p.AllBytes)
		}
	}
}

// showPlaying returns a function that shows the progress of a replay, nil without a
// terminal, and one that removes what it shows.
func showPlaying(prepared *console.Progress) (show func(events, all int64), done func()) {
	if !console.IsScreen(os.Stderr) {
		return nil, func() {}
	}
	var bar *console.Progress
	show = func(events, all int64) {
		if bar == nil {
			prepared.Finish()
			bar = session.Items("replaying", int(all))
		}
		bar.Set(events, all)
	}
	return show, func() {
		if bar != nil {
			bar.Finish()
		}
	}
}

// withHint adds to an error of a replay what to do about it.
func withHint(err error) error {
	limit, isLimit := errors.AsType[*replay.LimitError](err)
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return console.WithHint(err, "--root chooses a directory on another file system")
	case isLimit:
		return raised(err, limit.Name+"=VALUE")
	case errors.Is(err, syscall.EMFILE):
		return console.WithHint(err, "ulimit -n shows how many files a process may have open; a replay needs the sum of all recorded processes")
	case errors.Is(err, bin.ErrLimit):
		return raised(err, "memory=SIZE")
	case errors.Is(err, posix.ErrAcross):
		return console.WithHint(err, "a GLOB that matches both, or the directory that they are in, keeps them together")
	case errors.Is(err, replay.ErrUnmatched):
		return console.WithHint(err, "a GLOB is matched with whole paths, as pianola profile --by file prints them; * stands for anything")
	case errors.Is(err, sandbox.ErrShared):
		return console.WithHint(err, "each replay needs directories of its own for --root and --map; so does each of several traces that are replayed at once")
	case errors.Is(err, sandbox.ErrRoot):
		return console.WithHint(err, "--root and --map take a directory that is empty, missing, or was made by a replay")
	case errors.Is(err, sandbox.ErrMount):
		return console.WithHint(err, "unmount it; --map GLOB=DIR places files on another file system")
	case errors.Is(err, fileset.ErrLinked):
		return console.WithHint(err, "--prepare auto makes such files again")
	}
	return err
}

// raised adds to an error how to raise a limit.
func raised(err error, limit string) error {
	return console.WithHint(err, "--limit "+limit+" allows more; raise it only for a trace that you trust")
}
