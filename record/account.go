package record

import (
	"pianola/format"
	"pianola/format/coverage"
)

// account adds an event to the account of the recording, and a request to the account
// of requests. The time that threads spend with requests is not in the requests'
// events, and calls that await them do not only wait for files: a recorder adds that
// time. An msync counts as missing, because no event has its file.
func account(a *coverage.Account, e *format.Event) {
	held, ok := coverage.Held(e)
	switch info := e.Op.Info(); {
	case !ok:
	case info.Acts.All(format.Syncs | format.InMemory):
		if e.Dur != format.Unknown {
			a.Add(coverage.Missing{Kind: coverage.Msync, Calls: 1, Amount: coverage.Amount{Nanos: e.Dur}})
		}
	case e.Via == format.ViaCall:
		a.Recorded.Bytes += held.Bytes
		a.Recorded.Nanos += held.Nanos
	default:
		m := coverage.Missing{Kind: requestKind(e.Via), Calls: 1, Amount: coverage.Amount{Bytes: held.Bytes}}
		switch info.Class {
		case format.ClassRead:
			m.Reads = 1
		case format.ClassWrite:
			m.Writes = 1
		}
		a.Recorded.Bytes += held.Bytes
		a.AddRequests(m)
	}
}

// accountMapped adds a call on memory, or of exec, to what the recording holds; ofFile
// says that it is about a mapping of a file.
func accountMapped(a *coverage.Account, e *format.Event, ofFile bool) {
	switch acts := e.Acts(); {
	case acts.All(format.Syncs | format.InMemory):
		if ofFile {
			a.Recorded.Nanos += max(e.Dur, 0)
		}
	case acts.Any(format.Maps):
		if n := populated(e); n > 0 {
			a.Recorded.Bytes += n
			a.Recorded.Nanos += max(e.Dur, 0)
		}
	default:
		account(a, e)
	}
}
