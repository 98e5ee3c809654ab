package ebpf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"pianola/bpf"
	"pianola/format"
	"pianola/format/layer"
	"pianola/record"
)

// The cost of a span is measured in a program of a few instructions, which calls a
// function that does nothing and whose calls are probed: two calls of it are as far
// apart as one of them costs.
//
// That program can't be the recorder itself: a return probe takes the place of an
// address on the stack, where the runtime of Go would meet it.

// spanLoop is the program by architecture: instructions that call what stands behind
// them, calls times, and end the process. The number of calls is to be put in at the
// bit, counted in those of little endian.
var spanLoops = map[format.Arch]struct {
	machine uint16
	bit     int
	code    []byte
}{
	format.AMD64: {62, 8, []byte{
		0xbb, 0, 0, 0, 0, //           mov   $CALLS, %ebx
		0xe8, 0x0d, 0, 0, 0, //    1:  call  function
		0xff, 0xcb, //                 dec   %ebx
		0x75, 0xf7, //                 jnz   1b
		0xb8, 60, 0, 0, 0, //          mov   $60, %eax   exit
		0x31, 0xff, //                 xor   %edi, %edi
		0x0f, 0x05, //                 enter the kernel
	}},
	format.ARM64: {183, 5, []byte{
		0x13, 0x00, 0x80, 0x52, //     mov   w19, #CALLS
		0x06, 0x00, 0x00, 0x94, // 1:  bl    function
		0x73, 0x06, 0x00, 0x71, //     subs  w19, w19, #1
		0xc1, 0xff, 0xff, 0x54, //     b.ne  1b
		0xa8, 0x0b, 0x80, 0xd2, //     mov   x8, #93    exit
		0x00, 0x00, 0x80, 0xd2, //     mov   x0, #0
		0x01, 0x00, 0x00, 0xd4, //     svc   #0
	}},
}

// spanFunctions are functions that do nothing, by their first instruction.
var spanFunctions = map[format.Arch]map[layer.Entry][]byte{
	format.AMD64: {
		layer.Nop:     {0x0f, 0x1f, 0x44, 0x00, 0x00, 0xc3},                   // nop of five bytes; ret
		layer.Push:    {0x55, 0x5d, 0xc3},                                     // push %rbp; pop %rbp; ret
		layer.Carried: {0xeb, 0x00, 0xc3},                                     // jmp to the next; ret
		layer.Stepped: {0x48, 0x83, 0xec, 0x08, 0x48, 0x83, 0xc4, 0x08, 0xc3}, //       sub $8, %rsp; add $8, %rsp; ret
	},
	format.ARM64: {
		layer.Carried: {0x01, 0x00, 0x00, 0x14, 0xc0, 0x03, 0x5f, 0xd6},                         // b to the next; ret
		layer.Stepped: {0xfd, 0x7b, 0xbf, 0xa9, 0xfd, 0x7b, 0xc1, 0xa8, 0xc0, 0x03, 0x5f, 0xd6}, // stp x29, x30, [sp, -16]!; ldp x29, x30, [sp], 16; ret
	},
}

const (
	spanCalls    = 2000 // of a round
	spanRounds   = 3
	spanWindow   = 50 // the quickest so many calls in a row count
	headersBytes = 64 + 56
)

// spanLoop returns the program, an ELF file, and where the function is in that.
func spanLoop(calls int, function []byte) (text []byte, at uint64) {
	loop := spanLoops[format.HostArch]
	code := slices.Clone(loop.code)
	order := binary.LittleEndian
	from := code[loop.bit/8:]
	order.PutUint32(from, order.Uint32(from)|uint32(calls)<<(loop.bit%8))
	const base = 0x400000
	size := uint64(headersBytes + len(code) + len(function))
	text = append(text, "\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00"...)
	for _, v := range []any{
		uint16(2), loop.machine, uint32(1), uint64(base + headersBytes), uint64(64), uint64(0), uint32(0), uint16(64), uint16(56), uint16(1), uint16(0), uint16(0), uint16(0),
		uint32(1), uint32(5), uint64(0), uint64(base), uint64(base), size, size, uint64(0x10000), // one part, which is read and executed
	} {
		text, _ = binary.Append(text, order, v)
	}
	text = append(text, code...)
	return append(text, function...), uint64(len(text))
}

// calibrateSpan measures what a span of a function with such a first instruction adds to
// the time of a thread, in nanoseconds. The program must be attached, and the calling
// goroutine locked to its thread. It leaves the ring empty.
func calibrateSpan(p *program, ring *ring, entry layer.Entry) (cost int64, err error) {
	calls := min(spanCalls, ring.size()/(ringHeader+spanSize)/2)
	text, function := spanLoop(calls, spanFunctions[format.HostArch][entry])
	fd, err := unix.MemfdCreate("calibration", 0)
	if err != nil {
		return 0, fmt.Errorf("calibrate: %w", err)
	}
	file := os.NewFile(uintptr(fd), fmt.Sprintf("/proc/self/fd/%d", fd))
	defer file.Close()
	if _, err := file.Write(text); err != nil {
		return 0, fmt.Errorf("calibrate: %w", err)
	}
	reader, err := os.Open(file.Name()) // a file that is open for writing can't be executed
	if err != nil {
		return 0, fmt.Errorf("calibrate: %w", err)
	}
	defer reader.Close()
	name := fmt.Sprintf("/proc/self/fd/%d", reader.Fd())
	if err := file.Close(); err != nil {
		return 0, fmt.Errorf("calibrate: %w", err)
	}
	if err := p.probe(name, []uint64{function}, []uint64{0}); err != nil {
		return 0, fmt.Errorf("calibrate: %w", err)
	}
	cost = math.MaxInt64
	var starts []int64
	for range spanRounds {
		if err := runLoop(p, name); err != nil {
			return 0, fmt.Errorf("calibrate: %w", err)
		}
		if starts, err = readStarts(ring, starts[:0]); err != nil {
			return 0, err
		}
		if len(starts) < calls {
			return 0, fmt.Errorf("calibrate: %d of %d probed calls were seen", len(starts), calls)
		}
		window := min(spanWindow, calls-1)
		for i := window; i < len(starts); i++ {
			cost = min(cost, (starts[i]-starts[i-window])/int64(window))
		}
	}
	return cost, nil
}

// runLoop runs the program, recorded.
func runLoop(p *program, name string) error {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	defer null.Close()
	c, err := p.startChild(&record.Options{Command: []string{name}, Stdin: null, Stdout: null, Stderr: null})
	if err != nil {
		return err
	}
	defer c.close()
	if err := errors.Join(p.follow(c.pidfd), c.release()); err != nil {
		c.kill()
		return err
	}
	status, err := c.wait(0)
	if err == nil && status.ExitStatus() != 0 {
		err = fmt.Errorf("the program ended with %v", status)
	}
	return err
}

// readStarts empties the ring and appends when the spans began.
func readStarts(ring *ring, starts []int64) ([]int64, error) {
	err := emptied(ring, func(b []byte) {
		if numberOf(b) == bpf.CNumberNR_SPAN {
			starts = append(starts, int64(binary.NativeEndian.Uint64(b))) // it begins with that
		}
	})
	return starts, err
}
