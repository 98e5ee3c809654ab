package format

import (
	"strconv"
	"syscall"
)

// MaxErrno bounds the errors of Linux: a result from -MaxErrno to -1 is an
// error, any other is not (include/linux/err.h).
const MaxErrno = 4095

// The errors of a wait (OpWait): its time limit has passed, or a signal interrupted it.
const (
	EINTR     = 4
	ETIMEDOUT = 110
)

// errnoNames holds the generic errno numbers of Linux, which amd64 and arm64
// share (include/uapi/asm-generic/errno-base.h, errno.h), and those that only
// tracers see (include/linux/errno.h).
var errnoNames = map[int]string{
	1: "EPERM", 2: "ENOENT", 3: "ESRCH", 4: "EINTR", 5: "EIO", 6: "ENXIO", 7: "E2BIG", 8: "ENOEXEC", 9: "EBADF", 10: "ECHILD",
	11: "EAGAIN", 12: "ENOMEM", 13: "EACCES", 14: "EFAULT", 15: "ENOTBLK", 16: "EBUSY", 17: "EEXIST", 18: "EXDEV", 19: "ENODEV", 20: "ENOTDIR",
	21: "EISDIR", 22: "EINVAL", 23: "ENFILE", 24: "EMFILE", 25: "ENOTTY", 26: "ETXTBSY", 27: "EFBIG", 28: "ENOSPC", 29: "ESPIPE", 30: "EROFS",
	31: "EMLINK", 32: "EPIPE", 33: "EDOM", 34: "ERANGE", 35: "EDEADLK", 36: "ENAMETOOLONG", 37: "ENOLCK", 38: "ENOSYS", 39: "ENOTEMPTY", 40: "ELOOP",
	42: "ENOMSG", 43: "EIDRM", 44: "ECHRNG", 45: "EL2NSYNC", 46: "EL3HLT", 47: "EL3RST", 48: "ELNRNG", 49: "EUNATCH", 50: "ENOCSI",
	51: "EL2HLT", 52: "EBADE", 53: "EBADR", 54: "EXFULL", 55: "ENOANO", 56: "EBADRQC", 57: "EBADSLT", 59: "EBFONT", 60: "ENOSTR",
	61: "ENODATA", 62: "ETIME", 63: "ENOSR", 64: "ENONET", 65: "ENOPKG", 66: "EREMOTE", 67: "ENOLINK", 68: "EADV", 69: "ESRMNT", 70: "ECOMM",
	71: "EPROTO", 72: "EMULTIHOP", 73: "EDOTDOT", 74: "EBADMSG", 75: "EOVERFLOW", 76: "ENOTUNIQ", 77: "EBADFD", 78: "EREMCHG", 79: "ELIBACC", 80: "ELIBBAD",
	81: "ELIBSCN", 82: "ELIBMAX", 83: "ELIBEXEC", 84: "EILSEQ", 85: "ERESTART", 86: "ESTRPIPE", 87: "EUSERS", 88: "ENOTSOCK", 89: "EDESTADDRREQ", 90: "EMSGSIZE",
	91: "EPROTOTYPE", 92: "ENOPROTOOPT", 93: "EPROTONOSUPPORT", 94: "ESOCKTNOSUPPORT", 95: "EOPNOTSUPP", 96: "EPFNOSUPPORT", 97: "EAFNOSUPPORT", 98: "EADDRINUSE", 99: "EADDRNOTAVAIL", 100: "ENETDOWN",
	101: "ENETUNREACH", 102: "ENETRESET", 103: "ECONNABORTED", 104: "ECONNRESET", 105: "ENOBUFS", 106: "EISCONN", 107: "ENOTCONN", 108: "ESHUTDOWN", 109: "ETOOMANYREFS", 110: "ETIMEDOUT",
	111: "ECONNREFUSED", 112: "EHOSTDOWN", 113: "EHOSTUNREACH", 114: "EALREADY", 115: "EINPROGRESS", 116: "ESTALE", 117: "EUCLEAN", 118: "ENOTNAM", 119: "ENAVAIL", 120: "EISNAM",
	121: "EREMOTEIO", 122: "EDQUOT", 123: "ENOMEDIUM", 124: "EMEDIUMTYPE", 125: "ECANCELED", 126: "ENOKEY", 127: "EKEYEXPIRED", 128: "EKEYREVOKED", 129: "EKEYREJECTED", 130: "EOWNERDEAD",
	131: "ENOTRECOVERABLE", 132: "ERFKILL", 133: "EHWPOISON",
	512: "ERESTARTSYS", 513: "ERESTARTNOINTR", 514: "ERESTARTNOHAND", 516: "ERESTART_RESTARTBLOCK", 524: "ENOTSUPP",
}

var errnoNumbers = func() map[string]int {
	m := make(map[string]int, len(errnoNames)+2)
	for n, name := range errnoNames {
		m[name] = n
	}
	m["EWOULDBLOCK"], m["EDEADLOCK"] = m["EAGAIN"], m["EDEADLK"]
	return m
}()

// ErrnoName returns the symbol of an errno, such as ENOENT, or its number in
// decimal if it has none.
func ErrnoName(errno int) string {
	if s, ok := errnoNames[errno]; ok {
		return s
	}
	return strconv.Itoa(errno)
}

// ErrnoNumber returns the errno of a symbol such as ENOENT.
func ErrnoNumber(name []byte) (int, bool) {
	n, ok := errnoNumbers[string(name)]
	return n, ok
}

// ErrnoText returns the message of an errno as strace prints it, with a
// capital first letter.
func ErrnoText(errno int) string {
	switch {
	case errno == 524:
		return "Operation is not supported"
	case errno >= 512:
		return "To be restarted"
	}
	s := []byte(syscall.Errno(errno).Error())
	if len(s) > 0 && s[0] >= 'a' && s[0] <= 'z' {
		s[0] -= 'a' - 'A'
	}
	return string(s)
}

// signalNames are the signals of Linux, which amd64 and arm64 share
// (include/uapi/asm-generic/signal.h).
var signalNames = [...]string{
	1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 5: "SIGTRAP", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 9: "SIGKILL", 10: "SIGUSR1",
	11: "SIGSEGV", 12: "SIGUSR2", 13: "SIGPIPE", 14: "SIGALRM", 15: "SIGTERM", 16: "SIGSTKFLT", 17: "SIGCHLD", 18: "SIGCONT", 19: "SIGSTOP", 20: "SIGTSTP",
	21: "SIGTTIN", 22: "SIGTTOU", 23: "SIGURG", 24: "SIGXCPU", 25: "SIGXFSZ", 26: "SIGVTALRM", 27: "SIGPROF", 28: "SIGWINCH", 29: "SIGIO", 30: "SIGPWR", 31: "SIGSYS",
}

// SignalName returns the name of a signal, or its number where it has none.
func SignalName(n int32) string {
	if n > 0 && int(n) < len(signalNames) {
		return signalNames[n]
	}
	return strconv.Itoa(int(n))
}

// ParseSignal returns the signal of that name or number, and false where there
// is none.
func ParseSignal(name string) (n int32, ok bool) {
	for n, s := range signalNames {
		if s == name && n > 0 {
			return int32(n), true
		}
	}
	v, err := strconv.ParseInt(name, 10, 32)
	return int32(v), err == nil && v > 0
}
