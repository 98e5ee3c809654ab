package compile

import "pianola/format"

// maxAttribute is the length of the longest name of an extended attribute
// (XATTR_NAME_MAX).
const maxAttribute = 255

// refusedCall reports whether a call failed for a reason that a trace does not hold.
func refusedCall(s *simEvent) bool {
	e, info := s.e, s.out.Op.Info()
	switch {
	case info.Unsure(e.Ret):
		return true
	case e.Ret == einval && info.Acts.All(format.Duplicates|format.Locks): // fcntl
		return e.Copies()
	case e.Ret == ebadf && info.Acts.Any(format.Duplicates): // dup2: the new number is out of bounds, if the old one is open
		return !info.Acts.Any(format.Locks) && s.t.Table.Find(e.FD()) != nil
	case e.Ret == e2big, e.Ret == exdev, e.Ret == eloop: // the rules of openat2
		return e.Op == format.OpOpenat2
	case e.Ret == erange && info.Acts.Any(format.Attributes):
		name := e.Str[info.At.Text]
		return len(name) == 0 || len(name) > maxAttribute
	}
	return false
}
