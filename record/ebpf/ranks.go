package ebpf

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/record"
)

// followRanks follows the command and the other ranks, which stand still, and returns the
// header. It is as if the recorder had been attached to all of them.
func (r *recording) followRanks(ctx context.Context, o *record.Options) (*format.Header, error) {
	pids, err := r.ranks.Gather(ctx, r.child.pid)
	if err != nil {
		return nil, err
	}
	all := []process{{pid: int32(r.child.pid), threads: []int32{int32(r.child.pid)}}}
	if err := r.program.follow(r.child.pidfd); err != nil {
		return nil, err
	}
	for _, pid := range pids {
		if err := r.program.followProcess(pid); err != nil {
			return nil, err
		}
		all = append(all, process{pid: int32(pid), threads: []int32{int32(pid)}})
	}
	h := record.CommonHeader(o, r.child.pid, o.Command, tool, r.result.Cost)
	for _, p := range all {
		if err := p.describe(o, h); err != nil {
			return nil, err
		}
	}
	// A rank that registered is pianola itself until it executes the command. That closes these.
	h.Descriptors = slices.DeleteFunc(h.Descriptors, func(d format.Descriptor) bool { return d.Flags&format.CLOEXEC != 0 })
	more, err := r.ranks.Meet(ctx, r.zero, r.clock)
	if err != nil {
		return nil, err
	}
	h.Meta, h.Ranks = append(h.Meta, more.Meta...), more.Ranks
	return h, nil
}

// followProcess begins to record the first thread of a process.
func (p *program) followProcess(pid int) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return fmt.Errorf("follow process %d: %w", pid, err)
	}
	defer unix.Close(fd)
	if err := p.follow(fd); err != nil {
		return fmt.Errorf("process %d: %w", pid, err)
	}
	return nil
}
