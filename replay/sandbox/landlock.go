package sandbox

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The rights that a trace may need below its root. The rules also cover
// execution, device nodes, sockets and pipes, which are forbidden everywhere.
const allowedAccess = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_READ_FILE |
	unix.LANDLOCK_ACCESS_FS_READ_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
	unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_SYM |
	unix.LANDLOCK_ACCESS_FS_REFER | unix.LANDLOCK_ACCESS_FS_TRUNCATE

// landlockAccess is what each version of Landlock can forbid, from the second:
// the first forbids all renames into other directories (landlock(7)).
var landlockAccess = []unix.LandlockRulesetAttr{
	2: {Handled_access_fs: unix.LANDLOCK_ACCESS_FS_REFER<<1 - 1},
	3: {Handled_access_fs: unix.LANDLOCK_ACCESS_FS_TRUNCATE<<1 - 1},
	4: {Handled_access_fs: unix.LANDLOCK_ACCESS_FS_TRUNCATE<<1 - 1, Handled_access_net: landlockNet},
	5: {Handled_access_fs: unix.LANDLOCK_ACCESS_FS_IOCTL_DEV<<1 - 1, Handled_access_net: landlockNet},
	6: {Handled_access_fs: unix.LANDLOCK_ACCESS_FS_IOCTL_DEV<<1 - 1, Handled_access_net: landlockNet, Scoped: landlockScope},
}

const (
	landlockNet   = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	landlockScope = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
)

// MinLandlock is the first version of Landlock with which a replay can be confined.
const MinLandlock = 2

// LandlockVersion returns the version of Landlock that the kernel has, at most 0 if none.
func LandlockVersion() int {
	return int(Linux(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION, 0, 0, 0))
}

// newRules returns a descriptor of rules that allow to open, make, rename and
// remove only files below the roots, by any path. The error is ErrUnsupported if
// the kernel has no Landlock.
//
// The rules apply to the calling thread only. Libraries for Landlock confine
// all threads of a process for good, but the threads that write the log or
// remove the root afterwards must stay free.
func newRules(roots []uintptr) (int, error) {
	version := LandlockVersion()
	if version < MinLandlock {
		return 0, fmt.Errorf("this kernel has no Landlock (Linux 5.19): %w", errors.ErrUnsupported)
	}
	handled := landlockAccess[min(version, len(landlockAccess)-1)]
	// The fields up to Scoped; an older kernel wants the rest to be 0.
	size := unsafe.Offsetof(handled.Scoped) + unsafe.Sizeof(handled.Scoped)
	rules := Linux(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&handled)), size, 0, 0, 0, 0)
	if rules < 0 {
		return 0, fmt.Errorf("create a Landlock ruleset: %w", unix.Errno(-rules))
	}
	for _, root := range roots {
		beneath := unix.LandlockPathBeneathAttr{Allowed_access: allowedAccess & handled.Handled_access_fs, Parent_fd: int32(root)}
		if got := Linux(unix.SYS_LANDLOCK_ADD_RULE, uintptr(rules), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&beneath)), 0, 0, 0); got < 0 {
			_ = unix.Close(int(rules))
			return 0, fmt.Errorf("add the root to the Landlock ruleset: %w", unix.Errno(-got))
		}
	}
	return int(rules), nil
}

// restrict confines the calling thread to the rules for good.
func restrict(rules int) error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("set no_new_privs for Landlock: %w", err)
	}
	if got := Linux(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(rules), 0, 0, 0, 0, 0); got < 0 {
		return fmt.Errorf("confine a thread with Landlock: %w", unix.Errno(-got))
	}
	return nil
}
