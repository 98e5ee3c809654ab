package runs

import (
	"context"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"pianola/internal/console"
	"pianola/record"
	"pianola/record/ptrace"
)

// InProcess is ptrace.Run, and Ptrace ptrace.Stops. They say where recording takes rights from the
// command: the kernel does not change the user of what a tracer without privileges, or a filter,
// looks at.
func InProcess(ctx context.Context, o record.Options, s record.Sink) (record.Result, error) {
	warnOfRights(&o)
	return ptrace.Run(ctx, o, s)
}

// Ptrace is described at InProcess.
func Ptrace(ctx context.Context, o record.Options, s record.Sink) (record.Result, error) {
	warnOfRights(&o)
	return ptrace.Stops(ctx, o, s)
}

func warnOfRights(o *record.Options) {
	if path, err := o.Program(); err == nil {
		uid, gid := os.Geteuid(), os.Getegid()
		if o.Credential != nil {
			uid, gid = int(o.Credential.Uid), int(o.Credential.Gid)
		}
		if rights := rightsOf(path, uid, gid); len(rights) > 0 {
			console.Warn("without eBPF, %s does not get %s", path, strings.Join(rights, ", or "))
			console.Suggest("eBPF does not take them away: --tracer ebpf")
		}
	}
}

// rightsOf returns the rights that a user gets by executing a file.
func rightsOf(path string, uid, gid int) (rights []string) {
	var st unix.Stat_t
	if unix.Stat(path, &st) != nil {
		return nil
	}
	if st.Mode&unix.S_ISUID != 0 && int(st.Uid) != uid {
		rights = append(rights, "the rights of its owner (set-user-ID)")
	}
	// Without the right to execute for the group, the bit is no set-group-ID.
	if st.Mode&unix.S_ISGID != 0 && st.Mode&unix.S_IXGRP != 0 && int(st.Gid) != gid {
		rights = append(rights, "the rights of its group (set-group-ID)")
	}
	if n, err := unix.Getxattr(path, "security.capability", nil); err == nil && n > 0 && uid != 0 {
		rights = append(rights, "the capabilities of the file")
	}
	return rights
}
