package format

import "strconv"

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
