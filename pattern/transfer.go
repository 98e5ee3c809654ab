package pattern

import (
	"math/bits"

	"pianola/format"
)

// moving is a read or write step in hand.
type moving struct {
	*transfer
	line int
	file *descriptor
	left int64 // calls still to be made
	todo int64 // bytes still to be moved, -1 where calls are counted

	placed bool   // calls say where they begin
	block  int64  // bytes of each call, 0 where they are drawn
	start  int64  // where the range begins
	span   int64  // bytes of it
	stride int64  // of strided
	k      int64  // calls made
	moved  int64  // bytes of them
	key    uint64 // of the permutation of shuffled
}

// directAlign is what offsets and sizes of direct I/O are multiples of.
const directAlign = 512

func (a *transfer) run(t *thread, line int) (err error) {
	m := moving{transfer: a, line: line, todo: -1}
	if m.file, err = t.file(a.File, line); err != nil {
		return err
	}
	if m.placed = a.Start.eval != nil || a.Order != "sequential"; a.Start.eval != nil {
		if m.start, err = a.Start.within(&t.env, 0, maxOffset); err != nil {
			return err
		}
	}
	switch a.Order {
	case "strided":
		m.stride, err = a.Stride.within(&t.env, 0, maxOffset)
	case "random", "shuffled", "reverse":
		if m.span = max(m.file.node.size-m.start, 0); a.Range.eval != nil {
			m.span, err = a.Range.within(&t.env, 1, maxOffset)
		}
	}
	if err != nil {
		return err
	}
	m.left = 1
	if a.Order == "shuffled" || a.Order == "reverse" {
		if m.block, err = a.Size.within(&t.env, 1, maxTransfer); err != nil {
			return err
		}
		if m.left = m.span / m.block; m.left == 0 {
			return fault(line, "a block of %[2]d bytes does not fit into the range of %[1]d", m.span, m.block)
		}
		m.key = t.rng.Uint64()
	}
	switch {
	case a.Count.eval != nil:
		m.left, err = a.Count.within(&t.env, 0, maxCount)
	case a.Total.eval != nil:
		m.todo, err = a.Total.within(&t.env, 0, maxOffset)
		m.left = min(m.todo, maxCount)
	}
	t.moving = m
	return err
}

// move makes the next call of the step in hand.
func (t *thread) move() error {
	m := &t.moving
	size := m.block
	if size == 0 {
		var err error
		if size, err = m.Size.within(&t.env, 1, maxTransfer); err != nil {
			return err
		}
	}
	if m.todo >= 0 {
		size = min(size, m.todo)
		if m.todo -= size; m.todo == 0 {
			m.left = 1
		}
	}
	off, err := m.offset(t, size)
	if err != nil {
		return err
	}
	m.left--
	m.k++
	m.moved += size
	nanos, err := m.Compute.within(&t.env, 0, maxNanos)
	if err == nil {
		err = t.pass(m.line, nanos)
	}
	segments := int64(1)
	if err == nil {
		segments, err = m.Vector.within(&t.env, 1, 1024) // UIO_MAXIOV
	}
	if err != nil {
		return err
	}
	return m.call(t, size, off, segments)
}

// offset returns where a call of so many bytes begins.
func (m *moving) offset(t *thread, size int64) (off int64, err error) {
	switch m.Order {
	case "sequential":
		if off = m.file.pos; m.placed {
			off = m.start + m.moved
		}
	case "strided":
		if hi, lo := bits.Mul64(uint64(m.k), uint64(m.stride)); hi == 0 && lo <= maxOffset {
			off = m.start + int64(lo)
		} else {
			off = maxOffset
		}
	case "random":
		align := size
		if m.Align.eval != nil {
			if align, err = m.Align.within(&t.env, 1, maxOffset); err != nil {
				return 0, err
			}
		}
		if size > m.span {
			return 0, fault(m.line, "a block of %[2]d bytes does not fit into the range of %[1]d", m.span, size)
		}
		off = m.start + t.rng.Int64N((m.span-size)/align+1)*align
	default:
		blocks := m.span / m.block
		if off = m.k % blocks; m.Order == "shuffled" {
			off = int64(permuted(uint64(off), uint64(blocks), m.key+uint64(m.k/blocks)))
		} else {
			off = blocks - 1 - off
		}
		off = m.start + off*m.block
	}
	return off, nil
}

// call makes one call, and does what it does to the file.
func (m *moving) call(t *thread, size, off, segments int64) error {
	d, at := m.file, off
	if m.write && d.append {
		at = d.node.size // of pwrite, too
	}
	switch {
	case max(off, at) > maxOffset-size:
		return fault(m.line, "a file is larger than %d bytes", int64(maxOffset))
	case d.direct && (off%directAlign != 0 || size%directAlign != 0):
		return fault(m.line, "direct I/O needs sizes and offsets that are multiples of %d bytes, not %d bytes at offset %d", directAlign, size, off)
	case segments > size:
		segments = size
	}
	ret, class := size, format.ClassRead
	if m.write {
		class = format.ClassWrite
		d.node.size = max(d.node.size, at+size)
	} else {
		ret = max(min(size, d.node.size-off), 0)
	}
	vectored := segments > 1
	op := format.Transfer(class, m.placed, vectored)
	switch {
	case m.placed && vectored:
		t.call(op, ret, d.fd, t.buffer, segments, off, size)
	case m.placed:
		t.call(op, ret, d.fd, t.buffer, size, off)
	case vectored:
		t.call(op, ret, d.fd, t.buffer, segments, size)
	default:
		t.call(op, ret, d.fd, t.buffer, size)
	}
	if !m.placed {
		d.pos = at + ret
	}
	return nil
}

// permuted returns the place of k in a permutation of the numbers below n, in
// which each comes once: a Feistel network of four rounds over the next power
// of four, gone through again until it leads to a number below n.
func permuted(k, n, key uint64) uint64 {
	half := (bits.Len64(n-1) + 1) / 2
	mask := uint64(1)<<half - 1
	for {
		for round := range uint64(4) {
			left, right := k>>half, k&mask
			k = right<<half | (left^mixed(right+key+round<<56))&mask
		}
		if k < n {
			return k
		}
	}
}

// mixed is the finalizer of SplitMix64.
func mixed(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
