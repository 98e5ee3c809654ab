package layer

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
)

// Variable is where the memory of a process has a Global.
type Variable struct {
	Name string
	Size int // bytes of its value

	// Address is that of the variable, counted from where the file's address 0 is mapped. With
	// Indirect it is that of an entry of the global offset table, which has the address: a
	// program can have a copy of the variable, which the library uses then, too.
	Address  uint64
	Indirect bool
}

// Variables returns the Globals that a library has, and the part of the file that is mapped
// first: its offset in the file and the address that this has there.
func (l *Layer) Variables(name string) (list []Variable, offset, address uint64, err error) {
	file, err := open(name)
	if err != nil {
		return nil, 0, 0, err
	}
	defer file.Close()
	if !guarded(func() { list, offset, address, err = l.variables(file) }) {
		err = errDamaged
	}
	if err != nil {
		return nil, 0, 0, fmt.Errorf("%s: %w", name, err)
	}
	return list, offset, address, nil
}

func (l *Layer) variables(r io.ReaderAt) (list []Variable, offset, address uint64, err error) {
	f, err := elf.NewFile(r)
	if err != nil {
		return nil, 0, 0, fmt.Errorf("not a library or program: %w", err)
	}
	if f.Machine != machine || f.Class != elf.ELFCLASS64 {
		return nil, 0, 0, fmt.Errorf("%w: %s", ErrMachine, f.Machine)
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD {
			down := p.Off % pageSize
			offset, address = p.Off-down, p.Vaddr-down
			break
		}
	}
	symbols, err := f.DynamicSymbols()
	if err != nil && !errors.Is(err, elf.ErrNoSymbols) {
		return nil, 0, 0, err
	}
	entries, err := tableEntries(f)
	if err != nil {
		return nil, 0, 0, err
	}
	found := map[string]Variable{}
	add := func(s elf.Symbol, v Variable) {
		if _, known := found[s.Name]; known || s.Section == elf.SHN_UNDEF || elf.ST_TYPE(s.Info) != elf.STT_OBJECT || s.Size != 4 && s.Size != 8 {
			return
		}
		v.Name, v.Size = s.Name, int(s.Size)
		found[s.Name] = v
	}
	for i, s := range symbols {
		if entry, ok := entries[uint32(i+1)]; ok {
			add(s, Variable{Address: entry, Indirect: true})
		} else {
			add(s, Variable{Address: s.Value})
		}
	}
	if symbols, err = f.Symbols(); err != nil && !errors.Is(err, elf.ErrNoSymbols) { // of a program that has the library in it
		return nil, 0, 0, err
	}
	for _, s := range symbols {
		add(s, Variable{Address: s.Value})
	}
	for _, g := range l.Globals {
		if v, ok := found[g.Name]; ok {
			list = append(list, v)
		}
	}
	return list, offset, address, nil
}

// pageSize is the least that a part of a file is aligned to in memory.
const pageSize = 4096

// entryRelocation is the relocation of an entry of the global offset table.
var entryRelocation = map[elf.Machine]uint32{elf.EM_X86_64: uint32(elf.R_X86_64_GLOB_DAT), elf.EM_AARCH64: uint32(elf.R_AARCH64_GLOB_DAT)}

// maxRelocations bounds what is read of relocations, in bytes.
const maxRelocations = 64 << 20

// tableEntries returns the addresses of the entries of the global offset table, by the number
// of the dynamic symbol.
func tableEntries(f *elf.File) (map[uint32]uint64, error) {
	entries := map[uint32]uint64{}
	for _, s := range f.Sections {
		if s.Type != elf.SHT_RELA || s.Name != ".rela.dyn" {
			continue
		}
		if s.Size > maxRelocations {
			return nil, errors.New("has too many relocations")
		}
		data, err := s.Data()
		if err != nil {
			return nil, err
		}
		const size = 24 // Elf64_Rela
		for ; len(data) >= size; data = data[size:] {
			at, info := f.ByteOrder.Uint64(data), f.ByteOrder.Uint64(data[8:])
			if elf.R_TYPE64(info) == entryRelocation[f.Machine] {
				entries[elf.R_SYM64(info)] = at
			}
		}
	}
	return entries, nil
}
