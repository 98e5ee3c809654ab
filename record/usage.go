package record

import (
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/format/provenance"
)

// usage says who had the processors, up to a time.
type usage struct {
	provenance.Processors
	own time.Duration // the recorder
}

// readUsage reads it. A kernel that doesn't tell leaves it zero.
func readUsage() (u usage) {
	var r unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &r) == nil {
		u.own = time.Duration(r.Utime.Nano() + r.Stime.Nano())
	}
	u.Processors, _ = provenance.ReadProcessors()
	return u
}

// putUsage notes which shares of the processors' time the host of a virtual machine and the
// recorder took from programs, between two times. The recorder takes nothing as long as one
// of the processors that it may use is idle.
func putUsage(h *format.Header, from, to usage) {
	put := func(key string, part, of float64) {
		if part > 0 && of > 0 {
			h.Set(key, strconv.FormatFloat(min(part/of, 1), 'f', 3, 64))
		}
	}
	put(format.MetaStolen, to.All.StolenSince(from.All), 1)
	const tick = float64(time.Second / 100) // USER_HZ
	idle := float64(to.Allowed.Idle) - float64(from.Allowed.Idle)
	put(format.MetaDelayed, float64(to.own-from.own)/tick-idle, float64(to.Allowed.All)-float64(from.Allowed.All))
}
