package cli

import (
	"bytes"
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
)

// recording is the script that record writes: text, or compressed if the name
// ends in .zst. It is a record.Sink. What is flushed is in the file, and
// survives the recorder.
type recording struct {
	*script.Writer
	file   *scriptFile
	packed *compressed.Writer // nil for text
}

// createRecording begins a recording; see createScript.
func createRecording(name string, forAnother bool) (*recording, error) {
	f, err := createScript(name, forAnother)
	if err != nil {
		return nil, err
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

// Flush writes everything so far to the file.
func (r *recording) Flush() error {
	if err := r.Writer.Flush(); err != nil || r.packed == nil {
		return err
	}
	return r.packed.Flush()
}

// finish completes the file. If the recording failed, it leaves the contents as
// they are and removes an empty file.
func (r *recording) finish(ok bool) error {
	var err error
	if ok && r.packed != nil {
		err = r.packed.Close()
	}
	if ferr := r.file.finish(ok); err == nil {
		err = ferr
	}
	return err
}

// scriptFile is the output of a recording. It is written in place, so that a
// killed recorder leaves what it had. The first write, right before the command
// runs, truncates the file.
type scriptFile struct {
	*os.File
	fresh   bool // the file did not exist before
	lines   bool // its content is lines of text
	written int64
	failed  bool
}

// createScript opens the output of a recording. Under sudo it is made for
// another user, whose directory may hold a symbolic link to a file that only
// root may write. Such a link is refused.
func createScript(name string, forAnother bool) (*scriptFile, error) {
	if name == "-" {
		// Standard output belongs to the command.
		return nil, fmt.Errorf("-o -: the script can't be mixed with the command's output")
	}
	if _, err := files.output(name); err != nil {
		return nil, err
	}
	const flags = os.O_WRONLY | os.O_CREATE | syscall.O_CLOEXEC
	f, err := os.OpenFile(name, flags|os.O_EXCL, private)
	if err == nil {
		return &scriptFile{File: f, fresh: true}, nil
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
	f, err = os.OpenFile(name, flags|follow, private)
	switch {
	case forAnother && errors.Is(err, syscall.ELOOP):
		return nil, &hint{fmt.Errorf("%s: a symbolic link, which is not followed for another user", name), "pass the name of the file itself to -o"}
	case err != nil:
		return nil, err
	}
	return &scriptFile{File: f}, nil
}

// Write implements io.Writer. It prints the first failure at once, because the
// command can run on for long.
func (f *scriptFile) Write(p []byte) (int, error) {
	if f.written == 0 {
		if err := f.cut(0); err != nil {
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
		warn("record: %v; the command goes on unrecorded", err)
	}
	f.written += int64(n)
	return n, err
}

// cut truncates the file to size bytes if it is a regular file.
func (f *scriptFile) cut(size int64) error {
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	return f.Truncate(size)
}

// finish closes the file, and removes it if it holds nothing of use.
func (f *scriptFile) finish(ok bool) error {
	if !ok && f.written == 0 && f.fresh && f.named() {
		os.Remove(f.Name())
	}
	return f.Close()
}

// named reports whether the file's name still leads to it.
func (f *scriptFile) named() bool {
	made, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(f.Name())
	return err == nil && os.SameFile(made, there)
}
