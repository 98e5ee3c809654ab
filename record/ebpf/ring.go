package ebpf

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// ring reads a BPF ring buffer in place. The reader of cilium/ebpf copies each
// record and asks epoll each time the ring is empty; neither is needed where
// the program seldom wakes a reader and events are used in batches. The layout is
// that of kernel/bpf/ringbuf.c:
//
//	page 0    position of the consumer, written here
//	page 1    position of the producer
//	page 2…   the data, mapped twice in a row, so that no record is split
//
// Positions are bytes and only grow. A record has a header of 8 bytes, whose
// first four are its length and two bits, and is padded to 8 bytes.
type ring struct {
	consumer *atomic.Uint64
	producer *atomic.Uint64
	data     []byte
	mask     uint64
	next     uint64 // what lies between consumer and next is lent to the caller

	maps [2][]byte // to be unmapped
	file *os.File  // the map's, for wakes; nil before
}

const (
	ringHeader  = 8
	ringBusy    = 1 << 31
	ringDiscard = 1 << 30

	plainBytes = ringHeader + plainSize               // of a plain event, in the ring
	richBytes  = ringHeader + eventSize + detailsSize // of a rich one without strings
)

var errRing = errors.New("malformed ring buffer")

func openRing(m *ebpf.Map) (*ring, error) {
	page, size := os.Getpagesize(), int(m.MaxEntries())
	control, err := unix.Mmap(m.FD(), 0, page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map the ring buffer: %w", err)
	}
	rest, err := unix.Mmap(m.FD(), int64(page), page+2*size, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("map the ring buffer: %w", err), unix.Munmap(control))
	}
	r := newRing((*atomic.Uint64)(unsafe.Pointer(&control[0])), (*atomic.Uint64)(unsafe.Pointer(&rest[0])), rest[page:])
	r.maps = [2][]byte{control, rest}
	return r, nil
}

// newRing makes a ring of positions and data that the caller has mapped.
func newRing(consumer, producer *atomic.Uint64, data []byte) *ring {
	return &ring{consumer: consumer, producer: producer, data: data, mask: uint64(len(data)/2 - 1), next: consumer.Load()}
}

func (r *ring) close() error {
	var err error
	if r.file != nil {
		err = r.file.Close()
	}
	return errors.Join(err, unix.Munmap(r.maps[0]), unix.Munmap(r.maps[1]))
}

// wakes returns a channel that gets a value after the program has woken the reader, until the
// ring is closed. Call it once.
func (r *ring) wakes(m *ebpf.Map) (<-chan struct{}, error) {
	fd, err := unix.FcntlInt(uintptr(m.FD()), unix.F_DUPFD_CLOEXEC, 0)
	if err == nil {
		err = unix.SetNonblock(fd, true) // so that os lets the runtime's poller wait
	}
	if err != nil {
		return nil, fmt.Errorf("wait at the ring buffer: %w", err)
	}
	r.file = os.NewFile(uintptr(fd), "ring buffer")
	raw, err := r.file.SyscallConn()
	if err != nil {
		return nil, fmt.Errorf("wait at the ring buffer: %w", err)
	}
	woken := make(chan struct{}, 1)
	go func() {
		// The poller reports edges: wakes, and not that there is something to read. Read waits
		// for the next one as long as its function returns false, and ends when the file is closed.
		_ = raw.Read(func(uintptr) bool {
			select {
			case woken <- struct{}{}:
			default:
			}
			return false
		})
	}()
	return woken, nil
}

// size returns how many bytes the ring holds.
func (r *ring) size() int { return len(r.data) / 2 }

// used returns how many bytes have not been released.
func (r *ring) used() int { return int(r.producer.Load() - r.consumer.Load()) }

// read returns the next record, or nil if none is complete. It is the
// ring's memory, valid until release.
func (r *ring) read() ([]byte, error) {
	for producer := r.producer.Load(); r.next < producer; {
		at := r.next & r.mask
		// The kernel clears the busy bit after it has written the record.
		length := atomic.LoadUint32((*uint32)(unsafe.Pointer(&r.data[at])))
		if length&ringBusy != 0 {
			return nil, nil
		}
		n := uint64(length &^ (ringBusy | ringDiscard))
		if n+ringHeader > producer-r.next || n > r.mask {
			return nil, errRing
		}
		r.next += ringHeader + (n+7)&^7
		if length&ringDiscard == 0 {
			return r.data[at+ringHeader:][:n:n], nil
		}
	}
	return nil, nil
}

// release gives everything that was read back to the kernel.
func (r *ring) release() { r.consumer.Store(r.next) }
