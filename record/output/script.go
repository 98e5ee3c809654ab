package output

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"pianola/format"
	"pianola/format/compressed"
	"pianola/format/script"
	"pianola/internal/console"
	"pianola/internal/files"
	"pianola/internal/table"
	"pianola/record"
)

// recording is a script: text, or compressed if the name ends in .zst. It is an Output and a
// parts.Script. What is flushed is in the file, and survives the recorder.
type recording struct {
	*script.Writer
	file   *file
	packed *compressed.Writer // nil for text
	most   int64              // bytes of the file at which the recording ends; 0 for none
}

// create begins a recording; see open.
func (o *Options) create(name string) (*recording, error) {
	f, err := open(o.Files, name, o.Owner != nil)
	if err != nil {
		return nil, err
	}
	if o.Owner != nil && f.fresh {
		// If the file's owner can't be changed, it stays root.
		_ = f.Chown(int(o.Owner.Uid), int(o.Owner.Gid))
	}
	r := &recording{file: f}
	var w io.Writer = f
	if filepath.Ext(name) == ".zst" {
		r.packed = compressed.NewWriter(f)
		w = r.packed
	}
	f.lines = r.packed == nil
	r.Writer = script.NewWriter(w)
	return r, nil
}

// WriteHeader implements record.Sink.
func (r *recording) WriteHeader(h *format.Header) error {
	if err := r.Writer.WriteHeader(h); err != nil {
		return err
	}
	return r.Flush()
}

// Write implements format.Writer.
func (r *recording) Write(events []format.Event) error {
	if r.most == 0 {
		return r.Writer.Write(events)
	}
	for i := range events {
		if err := r.Writer.Write(events[i : i+1]); err != nil {
			return err
		}
		if r.Written() >= r.most {
			why := fmt.Sprintf("--max-size: the script has %s", table.Bytes(float64(r.Written())))
			console.Warn("record: %s: the recording ends, and the recorded processes continue", why)
			return &record.Enough{Why: why, Taken: i + 1}
		}
	}
	return nil
}

// Flush writes everything so far to the file.
func (r *recording) Flush() error {
	if err := r.Writer.Flush(); err != nil || r.packed == nil {
		return err
	}
	return r.packed.Flush()
}

// Written implements parts.Script. How many bytes of a compressed script what is buffered
// will be is not known.
func (r *recording) Written() int64 {
	if r.packed != nil {
		return r.file.written
	}
	return r.file.written + int64(r.Buffered())
}

// Name implements parts.Script.
func (r *recording) Name() string { return r.file.Name() }

// Close implements parts.Script.
func (r *recording) Close() error { return r.Finish(true) }

// Finish implements Output. It removes an empty file of a recording that failed.
func (r *recording) Finish(ok bool) error {
	var err error
	if ok {
		err = r.Writer.Flush()
		if r.packed != nil {
			err = cmp.Or(err, r.packed.Close())
		}
	}
	return cmp.Or(err, r.file.finish(ok))
}

// String implements Output.
func (r *recording) String() string {
	return fmt.Sprintf("%s in %s", table.Bytes(float64(r.file.written)), r.Name())
}

// file is that of a script. It is written under its own name, so that a killed recorder leaves
// what it had. The first write, right before the command runs, takes the place of the file that
// was there, which is kept.
type file struct {
	*os.File
	fresh   bool // the file did not exist before
	lines   bool // its content is lines of text
	quiet   bool // the caller says that it failed
	failed  bool
	written int64
	total   *int64 // which counts what is written, too; nil for none
}

// flags open the file of a script.
const flags = os.O_WRONLY | os.O_CREATE

// open opens the file of a script. Under sudo it is made for another user, whose directory may
// hold a symbolic link to a file that only root may write. Such a link is refused.
func open(set *files.Set, name string, forAnother bool) (*file, error) {
	if name == "-" {
		// Standard output belongs to the command.
		return nil, fmt.Errorf("-o -: the script can't be mixed with the command's output")
	}
	if _, err := set.ClaimOutput(name); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(name, flags|os.O_EXCL, files.Private)
	if err == nil {
		return &file{File: f, fresh: true}, nil
	}
	if !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	follow := 0
	if forAnother {
		follow = syscall.O_NOFOLLOW
	} else if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: a symbolic link to nothing", name)
	}
	// With O_CREATE, the kernel checks the owner of an existing file in /tmp
	// (protected_regular).
	f, err = os.OpenFile(name, flags|follow, files.Private)
	switch {
	case forAnother && errors.Is(err, syscall.ELOOP):
		return nil, console.WithHint(fmt.Errorf("%s: a symbolic link, which is not followed for another user", name), "pass the name of the file itself to -o")
	case err != nil:
		return nil, err
	}
	s := &file{File: f}
	if s.holdsSomething() {
		if _, err := set.ClaimOutput(name + kept); err != nil {
			f.Close()
			return nil, err
		}
	}
	return s, nil
}

// kept is what the name of a file that is kept ends with.
const kept = ".old"

// holdsSomething reports whether the file is worth keeping: a regular file under its
// own name that is not empty. A file written through a symbolic link is not kept.
func (f *file) holdsSomething() bool {
	info, err := f.Stat()
	return err == nil && info.Mode().IsRegular() && info.Size() > 0 && f.named()
}

// begin makes room for the script: it keeps the file that is there, or else empties
// it, as where the directory can't be written to.
func (f *file) begin() error {
	if !f.fresh && f.holdsSomething() {
		err := f.keep()
		if err == nil {
			return nil
		}
		console.Warn("record: %s is overwritten, not kept: %v", f.Name(), err)
	}
	return f.cut(0)
}

// keep renames the file, and puts an empty one with its mode and owner in its place.
func (f *file) keep() error {
	old, err := f.Stat()
	if err == nil {
		err = os.Rename(f.Name(), f.Name()+kept)
	}
	if err != nil {
		return files.Cause(err)
	}
	made, err := os.OpenFile(f.Name(), flags|os.O_EXCL, files.Private)
	if err == nil {
		if owner, ok := old.Sys().(*syscall.Stat_t); ok {
			_ = made.Chown(int(owner.Uid), int(owner.Gid)) // only root can
		}
		if err = made.Chmod(old.Mode().Perm()); err != nil {
			made.Close()
		}
	}
	if err != nil {
		_ = os.Rename(f.Name()+kept, f.Name())
		return files.Cause(err)
	}
	f.File.Close()
	f.File = made
	return nil
}

// Write implements io.Writer. It prints the first failure at once, because the
// command can run on for long.
func (f *file) Write(p []byte) (int, error) {
	if f.written == 0 {
		if err := f.begin(); err != nil {
			return 0, err
		}
	}
	n, err := f.File.Write(p)
	if err != nil && !f.failed {
		f.failed = true
		if f.lines {
			// A full disk takes a part of the data.
			n = bytes.LastIndexByte(p[:n], '\n') + 1
			_ = f.cut(f.written + int64(n)) // best effort: a reader can skip the rest
		}
		if !f.quiet {
			console.Warn("record: %v; the command continues without a recorder", err)
		}
	}
	f.written += int64(n)
	if f.total != nil {
		*f.total += int64(n)
	}
	return n, err
}

// cut truncates the file to size bytes if it is a regular file.
func (f *file) cut(size int64) error {
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	return f.Truncate(size)
}

// finish closes the file, and removes it if it holds nothing of use.
func (f *file) finish(ok bool) error {
	if !ok && f.written == 0 && f.fresh && f.named() {
		os.Remove(f.Name())
	}
	return f.Close()
}

// named reports whether the file's name still leads to it.
func (f *file) named() bool {
	made, err := f.Stat()
	there, lost := os.Lstat(f.Name())
	return err == nil && lost == nil && os.SameFile(made, there)
}
