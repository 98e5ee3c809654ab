package layer

import (
	"bytes"
	"debug/buildinfo"
	"debug/elf"
	"errors"
	"path/filepath"
	"slices"
	"strings"
)

// maxLinked bounds how many libraries of a program are looked at.
const maxLinked = 1000

// Linked returns the files of the layer's libraries that the dynamic linker loads, by
// ld.so(8), when the program starts with the environment: those that it is linked with,
// directly or not, and those of LD_PRELOAD. A program that is no ELF file has none.
func (l *Layer) Linked(program string, env []string) (files []string) {
	preload, search := "", []string{}
	for _, v := range env {
		switch name, value, _ := strings.Cut(v, "="); name {
		case "LD_PRELOAD":
			preload = value
		case "LD_LIBRARY_PATH":
			search = filepath.SplitList(value)
		}
	}
	defaults := defaultDirs()
	seen := map[string]bool{}
	next := []string{program}
	visit := func(name string, dirs []string) {
		for _, path := range candidates(name, dirs, search, defaults) {
			real, err := filepath.EvalSymlinks(path)
			if err != nil || !isELF(real) {
				continue
			}
			if !seen[real] {
				seen[real] = true
				next = append(next, real)
				if l.Has(name) || l.Has(real) {
					files = append(files, real)
				}
			}
			return
		}
	}
	for _, name := range strings.FieldsFunc(preload, func(r rune) bool { return r == ':' || r == ' ' }) {
		visit(name, nil)
	}
	for ; len(next) > 0 && len(seen) < maxLinked; next = next[1:] {
		needed, dirs := needs(next[0])
		for _, name := range needed {
			visit(name, dirs)
		}
	}
	return files
}

// candidates returns where a library can be, in the order of ld.so(8).
func candidates(name string, dirs, search, defaults []string) (paths []string) {
	if strings.Contains(name, "/") {
		return []string{name}
	}
	for _, list := range [][]string{search, dirs, defaults} {
		for _, dir := range list {
			paths = append(paths, filepath.Join(dir, name))
		}
	}
	return paths
}

// needs returns the libraries that a file names, its interpreter included, and where it
// says that they are.
func needs(name string) (libraries, dirs []string) {
	file, err := open(name)
	if err != nil {
		return nil, nil
	}
	defer file.Close()
	guarded(func() {
		if f, err := elf.NewFile(file); err == nil {
			libraries, dirs = needsOf(f, filepath.Dir(name))
		}
	})
	return libraries, dirs
}

// needsOf is needs of a file in the directory origin.
func needsOf(f *elf.File, origin string) (libraries, dirs []string) {
	libraries, _ = f.ImportedLibraries()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP && p.Filesz <= maxText {
			text := make([]byte, p.Filesz)
			if _, err := p.ReadAt(text, 0); err == nil {
				libraries = append(libraries, string(bytes.TrimRight(text, "\x00")))
			}
		}
	}
	for _, tag := range []elf.DynTag{elf.DT_RUNPATH, elf.DT_RPATH} {
		texts, _ := f.DynString(tag)
		for _, text := range texts {
			for _, dir := range filepath.SplitList(text) {
				dir = strings.NewReplacer("$ORIGIN", origin, "${ORIGIN}", origin).Replace(dir)
				if !slices.Contains(dirs, dir) {
					dirs = append(dirs, dir)
				}
			}
		}
		if len(dirs) > 0 {
			break // DT_RPATH counts only where there is no DT_RUNPATH
		}
	}
	return libraries, dirs
}

// ErrGo is the error of a program in Go: it moves its stacks, and a probe of the return
// of a function, which changes them, makes it crash.
var ErrGo = errors.New("a program in Go, which a probe of a function's return would crash")

// CheckGo returns ErrGo for a program in Go.
func CheckGo(name string) error {
	f, err := open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := buildinfo.Read(f); err == nil {
		return ErrGo
	}
	return nil
}

// Within reports whether a program has functions of the layer in itself: the library is
// linked into it. A program that needs the library has none.
func (l *Layer) Within(program string) bool {
	if needed, _ := needs(program); slices.ContainsFunc(needed, l.Has) {
		return false
	}
	lib, err := l.Open(program)
	return err == nil && len(lib.Places) > 0
}
