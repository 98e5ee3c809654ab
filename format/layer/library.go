package layer

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
)

// Place is where a function of a layer lies in a file.
type Place struct {
	Function *Function
	Symbol   string // its name there
	Offset   uint64 // in the file, bytes: where a probe goes
	Entry    Entry  // the instruction there
}

// Slow reports whether a probe there costs several microseconds a call, and the function
// can be called often.
func (p *Place) Slow() bool { return p.Entry == Stepped && !p.Function.Always }

// Library is what a layer finds in a library, or in a program that is linked
// statically.
type Library struct {
	Name    string
	Form    int         // of its functions, in Forms
	Places  []Place     // in the order of the layer's functions
	Missing []*Function // those that it does not have
	Late    []*Function // those that it chooses only when it is loaded (STT_GNU_IFUNC), so that no probe finds them
}

// ErrMachine is the error of a library for another kind of processor.
var ErrMachine = errors.New("made for another kind of processor")

// Open reads the symbols of a library.
func (l *Layer) Open(name string) (lib *Library, err error) {
	f, err := open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if !guarded(func() { lib, err = l.find(f) }) {
		err = errDamaged
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	lib.Name = name
	return lib, nil
}

var errDamaged = errors.New("not a library or program: it is damaged")

// open opens a file that may come from a recorded program. It does not block on a pipe.
func open(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return nil, errors.Join(fmt.Errorf("%s: not a file with contents", name), err, f.Close())
	}
	return f, nil
}

// guarded runs a function that reads a file with package elf, which can panic on a
// damaged one, and reports whether it came to its end.
func guarded(read func()) (whole bool) {
	defer func() { _ = recover() }()
	read()
	return true
}

func (l *Layer) find(r io.ReaderAt) (*Library, error) {
	f, err := elf.NewFile(r)
	if err != nil {
		return nil, fmt.Errorf("not a library or program: %w", err)
	}
	if f.Machine != machine || f.Class != elf.ELFCLASS64 {
		return nil, fmt.Errorf("%w: %s", ErrMachine, f.Machine)
	}
	symbols, err := symbolsOf(f)
	if err != nil {
		return nil, err
	}
	lib := &Library{}
	if l.Pointers != nil && defines(f, l.Pointers.Symbol) {
		lib.Form = formPointers
	}
	for _, fn := range l.Functions {
		s, ok := symbols[fn.Name]
		switch {
		case !ok:
			lib.Missing = append(lib.Missing, fn)
			continue
		case elf.ST_TYPE(s.Info) == elf.STT_GNU_IFUNC:
			lib.Late = append(lib.Late, fn)
			continue
		}
		p := Place{Function: fn, Symbol: s.Name}
		if p.Offset, err = offsetOf(f, s.Value); err != nil {
			return nil, fmt.Errorf("%s: %w", s.Name, err)
		}
		var code [longest]byte
		n, err := r.ReadAt(code[:], int64(p.Offset))
		if err != nil && err != io.EOF {
			return nil, fmt.Errorf("%s: %w", s.Name, err)
		}
		skip := uint64(0)
		p.Entry, skip = entryOf(code[:n], runtime.GOARCH)
		p.Offset += skip
		lib.Places = append(lib.Places, p)
	}
	return lib, nil
}

// machine is the kind of processor that this program is made for.
var machine = map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[runtime.GOARCH]

// symbolsOf returns the functions of a file by name: those that it exports, and all
// functions of a program that still has its symbols, because a library can be linked
// into it. If a function has several versions, it returns the default one, which new
// programs link with.
func symbolsOf(f *elf.File) (map[string]elf.Symbol, error) {
	list, err := f.DynamicSymbols()
	if err != nil && !errors.Is(err, elf.ErrNoSymbols) {
		return nil, err
	}
	all := map[string]elf.Symbol{}
	add := func(list []elf.Symbol, exported bool) {
		for _, s := range list {
			t := elf.ST_TYPE(s.Info)
			if s.Section == elf.SHN_UNDEF || s.Value == 0 || t != elf.STT_FUNC && t != elf.STT_GNU_IFUNC {
				continue
			}
			if _, ok := all[s.Name]; !ok || exported && !s.VersionIndex.IsHidden() {
				all[s.Name] = s
			}
		}
	}
	add(list, true)
	if f.Type == elf.ET_EXEC || hasInterpreter(f) || len(all) == 0 {
		if list, err = f.Symbols(); err != nil && !errors.Is(err, elf.ErrNoSymbols) {
			return nil, err
		}
		add(list, false)
	}
	if len(all) == 0 {
		return nil, errors.New("has no symbols of functions")
	}
	return all, nil
}

// defines reports whether a file has a variable or a function of a name.
func defines(f *elf.File, name string) bool {
	is := func(s elf.Symbol) bool { return s.Name == name && s.Section != elf.SHN_UNDEF }
	for _, read := range []func() ([]elf.Symbol, error){f.DynamicSymbols, f.Symbols} {
		if list, err := read(); err == nil && slices.ContainsFunc(list, is) {
			return true
		}
	}
	return false
}

func hasInterpreter(f *elf.File) bool {
	return slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP })
}

// offsetOf returns where in the file an address lies.
func offsetOf(f *elf.File, address uint64) (uint64, error) {
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && address >= p.Vaddr && address-p.Vaddr < p.Filesz {
			return address - p.Vaddr + p.Off, nil
		}
	}
	return 0, fmt.Errorf("address %#x lies in no part of the file", address)
}

// Has reports whether a file of this name is one of the layer's libraries.
func (l *Layer) Has(name string) bool {
	base := path.Base(name)
	return slices.ContainsFunc(l.Libraries, func(glob string) bool { ok, _ := path.Match(glob, base); return ok })
}

// Installed returns the files of the layer's libraries that the dynamic linker
// would find, each once, in the order of its directories.
func (l *Layer) Installed() (files []string) {
	for _, dir := range libraryDirs() {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, e := range entries {
			if !l.Has(e.Name()) {
				continue
			}
			real, err := filepath.EvalSymlinks(filepath.Join(dir, e.Name()))
			if err == nil && !slices.Contains(files, real) && isELF(real) {
				files = append(files, real)
			}
		}
	}
	return files
}

// isELF tells libraries from the scripts of the linker that have their names.
func isELF(name string) bool {
	file, err := open(name)
	if err != nil {
		return false
	}
	defer file.Close()
	found := false
	guarded(func() {
		f, err := elf.NewFile(file)
		found = err == nil && f.Machine == machine
	})
	return found
}

// libraryDirs returns the directories of ld.so(8): LD_LIBRARY_PATH, /etc/ld.so.conf and
// the defaults.
func libraryDirs() []string {
	return append(filepath.SplitList(os.Getenv("LD_LIBRARY_PATH")), defaultDirs()...)
}

// defaultDirs returns the default library directories of all programs.
func defaultDirs() []string {
	triple := map[string]string{"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu"}[runtime.GOARCH]
	return append(confDirs("/etc/ld.so.conf", 0), "/lib/"+triple, "/usr/lib/"+triple, "/lib64", "/usr/lib64", "/lib", "/usr/lib")
}

// maxIncludes is how deep files of ld.so.conf include others.
const maxIncludes = 5

func confDirs(name string, depth int) (dirs []string) {
	text, err := os.ReadFile(name)
	if err != nil || depth > maxIncludes {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		fields := strings.Fields(line)
		switch {
		case len(fields) == 2 && fields[0] == "include":
			glob := fields[1]
			if !filepath.IsAbs(glob) {
				glob = filepath.Join(filepath.Dir(name), glob)
			}
			files, _ := filepath.Glob(glob)
			for _, f := range files {
				dirs = append(dirs, confDirs(f, depth+1)...)
			}
		case len(fields) == 1:
			dirs = append(dirs, fields[0])
		}
	}
	return dirs
}
