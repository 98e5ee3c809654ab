// Package fiemap asks the kernel where a file has blocks (FS_IOC_FIEMAP).
package fiemap

import (
	"encoding/binary"
	"math"
)

// From include/uapi/linux/fiemap.h. Package unix lacks them.
const (
	Request = 0xc020660b // of ioctl
	Header  = 32         // bytes of struct fiemap
	Extent  = 56         // and of a struct fiemap_extent after it

	Sync = 0x1 // request flag: flush the file first

	// Flags of an extent.
	Unwritten = 0x800
	Shared    = 0x2000

	last = 0x1
)

// Each calls each with the start and the length in bytes, and the flags of every extent
// of a file in order, until it returns false. b is a buffer for the request and at
// least one extent. ioctl performs a request with it and reports success. Each reports
// whether all requests succeeded.
func Each(b []byte, flags uint32, ioctl func(b []byte) bool, each func(start, length int64, flags uint32) bool) bool {
	most := uint32((len(b) - Header) / Extent)
	for from, more := int64(0), true; more; {
		clear(b[:Header])
		binary.NativeEndian.PutUint64(b, uint64(from))
		binary.NativeEndian.PutUint64(b[8:], uint64(math.MaxInt64-from))
		binary.NativeEndian.PutUint32(b[16:], flags)
		binary.NativeEndian.PutUint32(b[24:], most)
		if !ioctl(b) {
			return false
		}
		end := from
		mapped := min(binary.NativeEndian.Uint32(b[20:]), most)
		more = mapped > 0
		for i := range mapped {
			x := b[Header+i*Extent:]
			start, length := int64(binary.NativeEndian.Uint64(x)), int64(binary.NativeEndian.Uint64(x[16:]))
			of := binary.NativeEndian.Uint32(x[40:])
			if !each(start, length, of) {
				return true
			}
			end = max(end, start+length)
			more = more && of&last == 0
		}
		more, from = more && end > from, end
	}
	return true
}
