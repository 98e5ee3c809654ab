//go:build !amd64

package ptrace

import (
	"errors"

	"golang.org/x/sys/unix"
)

func inProcess() error { return errors.New("there is no code for this processor") }

// space has nothing, because all calls stop.
type space struct {
	shared []byte
	copied bool
	used   [1]bool
}

func (*space) close()                                {}
func (*space) types() []uint8                        { return nil }
func (*space) slot(int) *slot                        { return nil }
func (tr *tracer) idle(*thread)                      {}
func (tr *tracer) patch(*thread)                     {}
func (tr *tracer) landed(*thread)                    {}
func (tr *tracer) trapped(*thread) bool              { return false }
func (tr *tracer) delayed(*thread, unix.Signal) bool { return false }
func (tr *tracer) noteMinor(*space, uint32, storage) {}
func seek(int, int, int)                             {}
func slotPlace(int) int                              { return 0 }
func (tr *tracer) copyOf(int32) *space               { return nil }
func (tr *tracer) leaveProcess(*thread, error)       {}

const archPrctl, archSetGS, slotHead = -1, 0, 0 // amd64 only
