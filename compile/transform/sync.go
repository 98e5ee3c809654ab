package transform

import (
	"fmt"

	"pianola/format"
)

var syncTransform = Transform{
	Name: "sync", Arg: Arg{Form: "none|fdatasync|fsync"},
	Doc:   "removes all syncs, or turns fsync into fdatasync, or fdatasync into fsync",
	Keeps: "everything except durability",
	New:   newSync,
}

// newSync: none also takes O_SYNC and O_DSYNC off, and the flags of single
// writes. The other two leave sync and syncfs alone, which are about more than
// a file.
func newSync(arg string) (Func, error) {
	from, to := format.OpFsync, format.OpFdatasync
	switch arg {
	case "none":
		return Each(unsynced), nil
	case "fdatasync":
	case "fsync":
		from, to = to, from
	default:
		return nil, fmt.Errorf("expected none, fdatasync or fsync, not %q", arg)
	}
	return Each(func(_ *format.Header, e *format.Event) Verdict {
		if e.Op == from {
			e.Op = to
		}
		return Keep
	}), nil
}

// unsynced removes from an event what makes data durable. A sync is removed
// with its duration, even if it failed.
func unsynced(_ *format.Header, e *format.Event) Verdict {
	switch info := e.Op.Info(); {
	case info.Acts.Any(format.Syncs):
		return Spare
	case info.Acts.Any(format.Opens):
		if at := info.At.OpenFlags; at >= 0 {
			e.Args[at] &^= format.SYNC | format.DSYNC
		}
	case info.Acts.All(format.WritesBytes | format.Buffers):
		if at := info.At.Flags; at >= 0 {
			e.Args[at] &^= format.RwfDsync | format.RwfSync
		}
		if e.Notes.Known(format.NotedRW) {
			n := *e.Notes
			n.Request.RW &^= format.RwfDsync | format.RwfSync
			e.Notes = &n
		}
	}
	return Keep
}
