package layer

import (
	"slices"
	"strings"
)

const (
	formHeader   = iota // the types are those of the header
	formPointers        // the types of Pointers are addresses
)

// Forms returns the functions of the layer with the types that they can have, each form in the
// order of Functions. Library.Form says which one a library has.
func (l *Layer) Forms() [][]*Function {
	forms := [][]*Function{formHeader: l.Functions}
	if l.Pointers == nil {
		return forms
	}
	list := make([]*Function, len(l.Functions))
	for i, f := range l.Functions {
		list[i] = f.withPointers(l.Pointers.Types)
	}
	return append(forms, list)
}

// withPointers returns the function with other types.
func (f *Function) withPointers(types []string) *Function {
	change := func(v *Value) {
		if slices.Contains(types, strings.TrimPrefix(v.C, "const ")) {
			v.Kind, v.Size = Pointer, 8
		}
	}
	g := *f
	g.Args = slices.Clone(f.Args)
	change(&g.Result)
	for i := range g.Args {
		a := &g.Args[i]
		change(&a.Value)
		if a.To != nil {
			to := *a.To
			change(&to)
			a.To = &to
		}
	}
	return &g
}
