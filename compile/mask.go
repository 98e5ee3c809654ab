package compile

import (
	"pianola/format"
	"pianola/format/process"
)

// masked gives a call that makes a file the permissions that the file gets: a
// replay has no umask. Those of a file that the recorder saw made are noted.
// They also show the umask where the recording has no other trace of it. If
// nothing shows it, the permissions are those that were asked for.
func (nm *naming) masked(s *simEvent) {
	i := s.out.Op.Info().At.Mode
	if i < 0 || !s.out.Creates(0) && s.out.OpenFlags()&format.TMPFILE == 0 {
		return
	}
	mode, dir := &s.out.Args[i], s.t.Dir
	if n := noted(s.e); n.Known(format.NotedNew | format.NotedMode) {
		asked := *mode
		*mode = asked&^0o777 | int64(n.Mode)&0o777
		if dir.Mask == process.UnknownMask {
			dir.Mask = asked &^ *mode & 0o777
		}
	} else if dir.Mask != process.UnknownMask {
		*mode &^= dir.Mask
	}
}
