package replay

import (
	"fmt"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"pianola/format"
)

// wanted is what a trace asks for before it begins.
type wanted struct {
	bytes   int64            // that its files hold, with their attributes
	files   int64            // and directories, those of fillers too
	fillers map[string]int64 // how many names a directory needs besides its own
}

// check verifies, before anything is written, what a trace asks for.
func check(t format.Trace, l *Limits) (*wanted, error) {
	h := t.Header()
	if n := len(h.Threads); n > l.Threads {
		return nil, fmt.Errorf("%d threads are more than %d: %w", n, l.Threads, ErrLimit)
	}
	for i, th := range h.Threads {
		if th.Parent < 0 || int(th.Parent) > len(h.Threads) || int(th.Parent) == i+1 {
			return nil, fmt.Errorf("thread %d: there is no thread %d to create it", i+1, th.Parent)
		}
	}
	if err := checkTexts(t, l); err != nil {
		return nil, err
	}
	if err := checkLog(t, l); err != nil {
		return nil, err
	}
	want := &wanted{fillers: make(map[string]int64)}
	listed := make(map[string]int64)
	for i := range h.Files {
		f := &h.Files[i]
		if err := checkFile(f); err != nil {
			return nil, err
		}
		for k := range f.Attrs {
			if a := &f.Attrs[k]; settable(a) {
				want.bytes += a.Size
			}
		}
		if f.Size < 0 || f.Size > l.Bytes-want.bytes {
			return nil, fmt.Errorf("the fileset holds more than %d bytes: %w", l.Bytes, ErrLimit)
		}
		if f.Type == format.TypeReg && f.Link == "" && !f.Sparse {
			want.bytes += f.Size
		}
		listed[filepath.Dir(f.Path)] += entryLength(filepath.Base(f.Path))
	}
	want.files = int64(len(h.Files))
	for i := range h.Files {
		if f := &h.Files[i]; f.Type == format.TypeDir {
			own := listed[filepath.Clean(f.Path)] + 2*entryLength("..")
			if n := (f.Size - own) / entryLength(fillerName(0)); n > 0 {
				want.fillers[f.Path] = n
				want.files += n
			}
		}
		if want.files > l.Files {
			return nil, fmt.Errorf("the fileset has more than %d files: %w", l.Files, ErrLimit)
		}
	}
	return want, nil
}

// checkFile verifies that the names of a file can stand below a directory.
func checkFile(f *format.File) error {
	for _, s := range []string{f.Path, f.Link, f.Target} {
		if len(s) >= unix.PathMax {
			return fmt.Errorf("file %.40q… of the fileset: a name is longer than %d bytes", f.Path, unix.PathMax-1)
		}
		if strings.IndexByte(s, 0) >= 0 {
			return fmt.Errorf("file %q of the fileset: a name holds a NUL byte", f.Path)
		}
	}
	if !filepath.IsLocal(f.Path) || f.Link != "" && !filepath.IsLocal(f.Link) {
		return fmt.Errorf("file %q of the fileset lies outside the root", f.Path)
	}
	return nil
}

// nameBytes is what a string of a trace takes besides thrice its length, made
// ready for the kernel by newName.
const nameBytes = 128

// checkTexts bounds the memory of all that a trace names, which takes up to half
// of what Limits.Memory says besides that.
func checkTexts(t format.Trace, l *Limits) error {
	var size int64
	add := func(s string) { size += 3*int64(len(s)) + nameBytes }
	for _, s := range t.Strings() {
		add(s)
	}
	for _, d := range t.Header().Descriptors {
		add(d.Path)
	}
	if size > l.Memory/2 {
		return fmt.Errorf("the trace's %d bytes of names are more than half of %d: %w", size, l.Memory, ErrLimit)
	}
	return nil
}

// checkLog bounds the file of a log that memory can't hold.
func checkLog(t format.Trace, l *Limits) error {
	var events int64
	for i := range max(len(t.Header().Threads), 1) {
		events += t.Len(int32(i + 1))
	}
	if size := events * entrySize; size > l.Memory/4 && size > l.Bytes {
		return fmt.Errorf("the log of %d events takes more than %d bytes: %w", events, l.Bytes, ErrLimit)
	}
	return nil
}
