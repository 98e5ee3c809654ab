package compile

import "pianola/format"

// refusable are the effects of calls that can fail with EINVAL only because of their
// arguments, or because the file system does not support the call. A trace does not
// hold all arguments, and another file system may support the call. So a replay could
// succeed, and change later results.
var refusable = func() (set [format.NumEffects]bool) {
	for _, e := range []format.Effect{
		format.EffectNone, format.EffectOpen, format.EffectDup, format.EffectFcntl, format.EffectAllocate, format.EffectAdvise, format.EffectSync,
		format.EffectStat, format.EffectChmod, format.EffectGetAttr, format.EffectSetAttr,
		format.EffectMkdir, format.EffectMknod, format.EffectSymlink, format.EffectLink, format.EffectUnlink,
	} {
		set[e] = true
	}
	return set
}()

// maxAttribute is the length of the longest name of an extended attribute
// (XATTR_NAME_MAX).
const maxAttribute = 255

// refusedCall reports whether a call failed for a reason that a trace does not hold.
func refusedCall(s *simEvent) bool {
	e, info := s.e, s.out.Op.Info()
	switch e.Ret {
	case emfile, enfile, efbig:
		return true
	case eagain: // of a lease, which a replay doesn't have
		return info.Effect == format.EffectOpen
	case eperm: // of a file that only grows, or never changes (chattr), or of a seal
		return info.Effect == format.EffectWrite || info.Effect == format.EffectAllocate
	case notsupp: // also flags of preadv2
		return refusable[info.Effect] || info.Effect == format.EffectRead || info.Effect == format.EffectWrite
	case einval:
		return refusable[info.Effect] && (info.Effect != format.EffectFcntl || e.Copies())
	case ebadf: // dup2: the new number is out of bounds, if the old one is open
		return info.Effect == format.EffectDup && s.t.Table.Find(e.FD()) != nil
	case e2big, exdev, eloop: // the rules of openat2
		return e.Op == format.OpOpenat2
	case erange:
		if info.Effect == format.EffectGetAttr || info.Effect == format.EffectSetAttr {
			name := e.Str[info.At.Text]
			return len(name) == 0 || len(name) > maxAttribute
		}
	}
	return false
}
