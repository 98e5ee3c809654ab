package ptrace

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/record"
)

// answer runs a filter as the kernel does, for a call of the program.
func answer(t *testing.T, program []unix.SockFilter, arch, nr uint32, args [6]uint64) uint32 {
	t.Helper()
	return answerAt(t, program, arch, nr, args, 1<<32|blobAddr)
}

// answerAt does so for a call at an address.
func answerAt(t *testing.T, program []unix.SockFilter, arch, nr uint32, args [6]uint64, ip uint64) uint32 {
	t.Helper()
	var a uint32
	for pc := 0; pc < len(program); pc++ {
		switch in := program[pc]; in.Code {
		case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS:
			switch {
			case in.K == dataNr:
				a = nr
			case in.K == dataArch:
				a = arch
			case in.K == dataIP:
				a = uint32(ip)
			case in.K == dataIP+4:
				a = uint32(ip >> 32)
			default:
				place := in.K - dataArgument
				a = uint32(args[place/8] >> (8 * (place % 8)))
			}
		case unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K:
			if a == in.K {
				pc += int(in.Jt)
			} else {
				pc += int(in.Jf)
			}
		case unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K:
			if a&in.K != 0 {
				pc += int(in.Jt)
			} else {
				pc += int(in.Jf)
			}
		case unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K:
			if a >= in.K {
				pc += int(in.Jt)
			} else {
				pc += int(in.Jf)
			}
		case unix.BPF_JMP | unix.BPF_JA:
			pc += int(in.K)
		case unix.BPF_ALU | unix.BPF_AND | unix.BPF_K:
			a &= in.K
		case unix.BPF_RET | unix.BPF_K:
			return in.K
		default:
			t.Fatalf("instruction %#x", in.Code)
		}
	}
	t.Fatal("no answer")
	return 0
}

// stopped are the calls that are not recorded and rare enough to be stopped at.
var stopped = []int{
	unix.SYS_IO_SETUP, unix.SYS_IO_URING_SETUP, unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_MOVE_MOUNT, unix.SYS_PIVOT_ROOT,
	unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV,
}

func TestFilter(t *testing.T) {
	for _, arch := range []format.Arch{format.AMD64, format.ARM64} {
		for _, memory := range []bool{false, true} {
			program := filter(arch, memory)
			require.Less(t, len(program), 4096, "what the kernel takes")
			for nr := range 2 * format.MaxSys {
				op := format.BySyscall(arch, nr)
				want := uint32(unix.SECCOMP_RET_ALLOW)
				waits := nr < format.MaxSys && stopsAt(nr)
				if record.Records(op, memory) || op == format.OpMmap || op == format.OpMunmap || arch == format.HostArch && (waits || slices.Contains(stopped, nr)) || arch == format.HostArch && nr == unix.SYS_SECCOMP {
					want = unix.SECCOMP_RET_TRACE | stopCall
				}
				args := [6]uint64{3, format.Ficlone}
				if nr == unix.SYS_SECCOMP {
					args[0] = 1
				}
				require.Equal(t, want, answer(t, program, auditArch[arch], uint32(nr), args), "%s %d %s", arch, nr, op)
				require.Equal(t, uint32(unix.SECCOMP_RET_TRACE|stopCompat), answer(t, program, unix.AUDIT_ARCH_I386, uint32(nr), args))
			}
			ioctl := uint32(format.OpIoctl.Info().Sys[arch])
			for _, f := range format.IoctlRequest.Flags {
				args := [6]uint64{3, 1<<32 | f.Native[arch]} // the kernel ignores the upper half
				require.Equal(t, uint32(unix.SECCOMP_RET_TRACE|stopCall), answer(t, program, auditArch[arch], ioctl, args), f.Name)
			}
			require.Equal(t, uint32(unix.SECCOMP_RET_ALLOW), answer(t, program, auditArch[arch], ioctl, [6]uint64{1, unix.TCGETS}))
			if arch == format.HostArch {
				for _, timeout := range []uint64{1, 1 << 32} {
					require.Equal(t, uint32(unix.SECCOMP_RET_ALLOW), answer(t, program, auditArch[arch], unix.SYS_FUTEX, [6]uint64{1: 128, futexTimeout: timeout}))
					require.Equal(t, uint32(unix.SECCOMP_RET_ALLOW), answer(t, program, auditArch[arch], unix.SYS_FUTEX, [6]uint64{1: 9 | 256, futexTimeout: timeout}))
					require.Equal(t, uint32(unix.SECCOMP_RET_TRACE|stopCall), answer(t, program, auditArch[arch], unix.SYS_FUTEX, [6]uint64{1: 129, futexTimeout: timeout}), "FUTEX_WAKE")
				}
			}
			frequent := uint32(unix.SECCOMP_RET_ALLOW)
			if memory {
				frequent = unix.SECCOMP_RET_TRACE | stopCall
			}
			mmap, munmap := uint32(format.OpMmap.Info().Sys[arch]), uint32(format.OpMunmap.Info().Sys[arch])
			require.Equal(t, frequent, answer(t, program, auditArch[arch], mmap, [6]uint64{mmapFlags: unix.MAP_PRIVATE | unix.MAP_ANONYMOUS}))
			require.Equal(t, frequent, answer(t, program, auditArch[arch], munmap, [6]uint64{mmapSize: largeUnmapped - 1}))
			require.Equal(t, uint32(unix.SECCOMP_RET_TRACE|stopCall), answer(t, program, auditArch[arch], munmap, [6]uint64{mmapSize: 1 << 32}))
		}
	}
}

// Calls of the blob pass, and those that end recording in the process stop.
func TestFilterAndBlob(t *testing.T) {
	program := filter(format.HostArch, false)
	at := func(nr int, first, ip uint64) uint32 {
		return answerAt(t, program, auditArch[format.HostArch], uint32(nr), [6]uint64{first}, ip)
	}
	const stops = unix.SECCOMP_RET_TRACE | stopCall
	require.EqualValues(t, stops, at(unix.SYS_PRCTL, unix.PR_SET_SECCOMP, 0))
	require.EqualValues(t, unix.SECCOMP_RET_ALLOW, at(unix.SYS_PRCTL, unix.PR_SET_NAME, 0))
	require.EqualValues(t, stops, at(unix.SYS_SECCOMP, 1, 0))
	for _, nr := range []int{unix.SYS_READ, unix.SYS_FUTEX, unix.SYS_OPENAT} {
		require.EqualValues(t, stops, at(nr, 0, blobAddr-1))
		require.EqualValues(t, stops, at(nr, 0, blobAddr+blobBytes))
		if inProcess() == nil {
			require.EqualValues(t, unix.SECCOMP_RET_ALLOW, at(nr, 0, blobAddr))
			require.EqualValues(t, unix.SECCOMP_RET_ALLOW, at(nr, 0, blobAddr+blobBytes-1))
		}
	}
}

func TestPlans(t *testing.T) {
	for op := format.OpNone + 1; int(op) < format.NumOps; op++ {
		info := op.Info()
		if info.Sys[format.HostArch] < 0 {
			continue
		}
		p := plans[info.Sys[format.HostArch]]
		mapped := op == format.OpMmap || op == format.OpMunmap || op == format.OpMsync
		require.Equal(t, mapped || readers[info.Reads] != nil, p.reads() || p.ends, op)
		require.True(t, p.reads() || info.Synthetic == 0, "%s: arguments that are not in registers", op)
		require.Equal(t, info.Result == format.ResultNone, p.ends, op)
	}
}
