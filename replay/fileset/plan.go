package fileset

import (
	"fmt"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/internal/limit"
)

// Plan is a checked fileset, with its size. Several goroutines may read it.
type Plan struct {
	Bytes int64 // of its files and their attributes
	Files int64 // files and directories, with fillers

	files   []format.File
	fillers map[string]int64 // number of fillers by directory
}

// NewPlan verifies, before anything is written, that a fileset stays below its
// root and within limits. The Plan keeps files, which must not change.
func NewPlan(files []format.File, maxBytes, maxFiles int64) (*Plan, error) {
	p := &Plan{files: files, fillers: make(map[string]int64)}
	listed := make(map[string]int64)
	for i := range files {
		f := &files[i]
		if err := checkFile(f); err != nil {
			return nil, err
		}
		for k := range f.Attrs {
			if a := &f.Attrs[k]; settable(a) {
				p.Bytes += a.Size
			}
		}
		if f.Size < 0 || max(f.Size, allocated(f)) > maxBytes-p.Bytes {
			return nil, fmt.Errorf("the fileset holds more than %d bytes: %w", maxBytes, limit.Of("bytes"))
		}
		p.Bytes += allocated(f)
		listed[filepath.Dir(f.Path)] += format.DirentSize(filepath.Base(f.Path))
	}
	p.Files = int64(len(files))
	for i := range files {
		if f := &files[i]; f.Type == format.TypeDir {
			own := listed[filepath.Clean(f.Path)] + 2*format.DirentSize("..")
			if n := (f.Size - own) / format.DirentSize(fillerName(0)); n > 0 {
				p.fillers[f.Path] = n
				p.Files += n
			}
		}
		if p.Files > maxFiles {
			return nil, fmt.Errorf("the fileset has more than %d files: %w", maxFiles, limit.Of("files"))
		}
	}
	return p, nil
}

// checkFile verifies that the names of a file are valid below a directory.
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
