package ptrace

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/record"
	"pianola/record/recordkit"
)

// discarded returns records that are discarded.
func discarded() *records {
	r := newRecords()
	r.writer = record.NewWriter(recordkit.Discard{}, 0)
	return r
}

// hostile returns a tracer with a ring of which anything can be in the shared memory.
func hostile(t *testing.T) (*tracer, *ring) {
	if err := inProcess(); err != nil {
		t.Skip(err)
	}
	tr := newTracer(discarded())
	all := inlinePlans(false)
	tr.inline, tr.running = &all, true
	s := &space{shared: make([]byte, slotPlace(1))}
	owner := &thread{process: &process{id: 1, memory: s}}
	owner.TID = 1
	r := newRing(owner, s, 0)
	tr.rings = append(tr.rings, r)
	return tr, r
}

// put writes a record to the ring, as a program does.
func (r *ring) put(rec inlineRecord, rest []byte) {
	if rec.size == 0 {
		rec.size = uint32(len(asMemory(&rec)) + len(rest))
	}
	at := int(r.shared.head % ringBytes)
	copy(r.data[at:], append(append([]byte{}, asMemory(&rec)...), rest...))
	r.shared.head += uint64(rec.size)
}

func TestRingsCanHaveAnything(t *testing.T) {
	seek := inlineRecord{nr: uint16(format.OpLseek.Info().Sys[format.HostArch]), begun: 1, ended: 2}
	t.Run("a record", func(t *testing.T) {
		tr, r := hostile(t)
		r.put(seek, nil)
		tr.drain()
		require.False(t, r.broken)
		require.Equal(t, 1, tr.records.fill.n)
	})
	for name, damage := range map[string]func(*ring){
		"too much":       func(r *ring) { r.shared.head = ringBytes + 8 },
		"goes back":      func(r *ring) { r.put(seek, nil); r.tail, r.shared.head = 160, 80 },
		"no size":        func(r *ring) { r.shared.head = 80 },
		"beyond the end": func(r *ring) { r.put(seek, nil); r.shared.head -= 8 },
		"huge":           func(r *ring) { s := seek; s.size = maxRecord + 8; r.put(s, nil) },
		"odd":            func(r *ring) { s := seek; s.size = 81; r.put(s, make([]byte, 8)) },
		"no such number": func(r *ring) { s := seek; s.nr = maxNr; r.put(s, nil) },
		"not in the process": func(r *ring) {
			s := seek
			s.nr = unix.SYS_EXECVE
			r.put(s, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			tr, r := hostile(t)
			damage(r)
			tr.drain()
			require.True(t, r.broken)
			require.Zero(t, tr.records.fill.n)
			require.Len(t, tr.missing.Missing, 1)
			tr.drain()
			require.Len(t, tr.missing.Missing, 1, "it is left alone")
		})
	}
}

// A program can write any record.
func FuzzRecords(f *testing.F) {
	if inProcess() != nil {
		f.Skip("there is no recording in the process")
	}
	f.Add(uint16(unix.SYS_OPENAT), uint8(recordOpened), make([]byte, 8+16+statxBytes+cacheBytes))
	f.Add(uint16(unix.SYS_NEWFSTATAT), uint8(0), make([]byte, 300))
	f.Add(uint16(unix.SYS_FUTEX), uint8(0), []byte{})
	all := inlinePlans(false)
	tr := newTracer(discarded()) // its buffers take longer than a record
	tr.inline, tr.running = &all, true
	s := &space{shared: make([]byte, slotPlace(1))}
	f.Fuzz(func(t *testing.T, nr uint16, bits uint8, rest []byte) {
		if len(rest) > maxRecord-100 || nr >= maxNr {
			return
		}
		clear(s.shared)
		owner := &thread{process: &process{id: 1, memory: s}}
		r := newRing(owner, s, 0)
		tr.rings = []*ring{r}
		rec := inlineRecord{nr: nr, bits: bits, begun: 1, ended: 5}
		for i := range rec.args {
			if 8*i+8 <= len(rest) {
				rec.args[i] = uint64(rest[8*i]) << (rest[8*i+1] & 63)
			}
		}
		r.put(rec, rest)
		tr.drain()
		require.NoError(t, tr.records.write())
	})
}

// The clock never goes back, whatever the rate was measured as.
func TestClock(t *testing.T) {
	tr, _ := hostile(t)
	last := int64(-1 << 62)
	for range 1000 {
		tr.adjust()
		tr.clock.latest = 0 // as if a tenth of a second had gone by
		now := tr.now()
		require.GreaterOrEqual(t, now, last)
		last = now
	}
}
