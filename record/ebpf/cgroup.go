package ebpf

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"pianola/bpf"
	"pianola/internal/mounts"
)

// findCgroup returns the directory of a cgroup: a path in the file system, or the
// path of a cgroup as /proc/PID/cgroup has it, such as
// /system.slice/postgresql.service. Of several hierarchies that have the path it
// takes that of version 2, and else the one that is mounted first.
func findCgroup(path string) (string, error) {
	if isCgroup(path) {
		return filepath.Abs(path)
	}
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", err
	}
	var found string
	for _, m := range mounts.Parse(string(text)) {
		if m.Type != "cgroup" && m.Type != "cgroup2" {
			continue
		}
		if at := filepath.Join(m.Point, path); isCgroup(at) && (found == "" || m.Type == "cgroup2") {
			found = at
		}
	}
	if found == "" {
		err := fs.ErrNotExist
		if _, there := os.Stat(path); there == nil {
			err = errors.New("not the directory of a cgroup")
		}
		return "", fmt.Errorf("cgroup %s: %w", path, err)
	}
	return found, nil
}

// Cgroup says what a recording of a cgroup, named as record.Options say, would hold.
type Cgroup struct {
	Dir       string
	Processes int  // in it and below
	Own       bool // this process is one of them
}

// LookAtCgroup finds a cgroup and the processes in it.
func LookAtCgroup(path string) (Cgroup, error) {
	dir, err := findCgroup(path)
	if err != nil {
		return Cgroup{}, err
	}
	c, own := Cgroup{Dir: dir}, strconv.Itoa(os.Getpid())
	return c, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Name() != "cgroup.procs" {
			return nil // it was removed meanwhile
		}
		text, _ := os.ReadFile(path) // of threads alone it can't be read
		for pid := range strings.FieldsSeq(string(text)) {
			c.Processes++
			c.Own = c.Own || pid == own
		}
		return nil
	})
}

// isCgroup reports whether a path is the directory of a cgroup.
func isCgroup(path string) bool {
	var st unix.Statfs_t
	info, err := os.Stat(path)
	return err == nil && info.IsDir() && unix.Statfs(path, &st) == nil && (st.Type == unix.CGROUP_SUPER_MAGIC || st.Type == unix.CGROUP2_SUPER_MAGIC)
}

// followCgroup begins to record the threads that enter the cgroup of a directory.
func (p *program) followCgroup(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	status, err := p.coll.Programs[bpf.CProgFindCgroup].Run(&ebpf.RunOptions{Context: bpf.CCgroupPath{Fd: int32(f.Fd())}})
	if err == nil && status != 0 {
		err = errors.New("the kernel shows no cgroup there")
	}
	if err != nil {
		return fmt.Errorf("cgroup %s: %w", dir, err)
	}
	return nil
}

// followMoved looks for the threads of processes with several threads that have entered
// the cgroup or left it. It belongs to one goroutine at a time.
func (p *program) followMoved() error {
	var moved uint64
	if err := p.coll.Variables[bpf.CVarMoved].Get(&moved); err != nil {
		return fmt.Errorf("read moves to another cgroup: %w", err)
	}
	if moved == p.moved {
		return nil
	}
	p.moved = moved
	_, err := p.followTree()
	return err
}

// removal tells when a directory of a cgroup is removed.
type removal struct {
	dir string
	fd  int // inotify
}

// awaitRemoval watches a directory.
func awaitRemoval(dir string) (*removal, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, os.NewSyscallError("inotify_init1", err)
	}
	r := &removal{dir: dir, fd: fd}
	if _, err := unix.InotifyAddWatch(fd, filepath.Dir(dir), unix.IN_DELETE); err != nil {
		return nil, errors.Join(os.NewSyscallError("inotify_add_watch", err), r.close())
	}
	return r, nil
}

func (r *removal) poll() int { return r.fd }

func (r *removal) ended() bool {
	var buf [4096]byte
	for {
		if n, err := unix.Read(r.fd, buf[:]); n <= 0 && err != unix.EINTR {
			break
		}
	}
	_, err := os.Stat(r.dir)
	return errors.Is(err, fs.ErrNotExist)
}

func (r *removal) close() error { return unix.Close(r.fd) }
