package layer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Layer is a library. It must not be changed.
type Layer struct {
	Name      string      `json:"layer"`
	Libraries []string    `json:"libraries"` // patterns of the file names of the library
	Includes  []string    `json:"includes"`  // headers that declare the functions
	Globals   []Global    `json:"globals,omitempty"`
	Pointers  *Pointers   `json:"pointers,omitempty"`
	Support   string      `json:"support,omitempty"` // C that a player of the layer needs (Player)
	Setup     string      `json:"setup,omitempty"`   // C that a player runs at its start
	Functions []*Function `json:"functions"`         // in the order of the annotated header
}

// Pointers are types that are addresses in some implementations of the library, and what the
// header says in the others. Handles of MPI are such: they are addresses in Open MPI.
type Pointers struct {
	Symbol string   `json:"symbol"` // of a variable or function that only these implementations have
	Types  []string `json:"types"`  // as in C
}

// Function is a function of a library.
type Function struct {
	Name     string `json:"name"`
	Result   Value  `json:"result"`
	Args     []Arg  `json:"args"`
	Variadic bool   `json:"variadic,omitempty"` // more arguments may follow, which are not read

	Span     Span     `json:"span"`
	Path     string   `json:"path,omitempty"`     // the argument that is the name of a file
	Names    []string `json:"names,omitempty"`    // arguments that name something within a file
	Text     string   `json:"text,omitempty"`     // the argument that is text, such as SQL; text is data
	Define   []Handle `json:"define,omitempty"`   // handles that the call makes
	Map      []Handle `json:"map,omitempty"`      // handles that the call takes
	Undefine []Handle `json:"undefine,omitempty"` // handles that the call ends
	Numbers  []string `json:"numbers,omitempty"`  // arguments that point to a number, as the call leaves it
	Arrays   []Array  `json:"arrays,omitempty"`   // arguments that point to several numbers
	Bytes    string   `json:"bytes,omitempty"`    // expression of how many bytes the call moves
	Error    string   `json:"error,omitempty"`    // expression that is true where the call failed
	Always   bool     `json:"always,omitempty"`   // it is called seldom or takes long: a slow probe costs little

	Pass []Pass `json:"pass,omitempty"` // what a player passes where it can't pass what was recorded
	Play string `json:"play,omitempty"` // what a player calls instead, or NoPlay

	Before string `json:"before,omitempty"` // C that a player runs before the call
	After  string `json:"after,omitempty"`  // and after it

	bytes, failed expr
}

// Global is a variable of the library that has a handle, such as that of a type that the
// library itself makes. Its value depends on the library.
type Global struct {
	Type string `json:"type"` // of the handle
	C    string `json:"c"`    // its type, as in C
	Name string `json:"name"`
}

// Pass is what a player passes for an argument: an expression of C over the arguments
// before it, functions of the player and of Support.
type Pass struct {
	Arg  string `json:"arg"`
	Expr string `json:"expr"`
}

// NoPlay is the Play of a function that a player never calls.
const NoPlay = "no"

// Value is a value of C, as the generic probe can read it.
type Value struct {
	C    string `json:"c"`              // its type, as in the header
	Kind Kind   `json:"kind"`           // what it is
	Size int    `json:"size,omitempty"` // bytes
}

// Arg is an argument.
type Arg struct {
	Name string `json:"name"`
	Value
	To *Value `json:"to,omitempty"` // the number that it points to, where the layer reads that
}

// Handle is a value that stands for something that the library made. Its type is of
// the layer's own, such as file or dset.
type Handle struct {
	Type  string `json:"type"`
	Value string `json:"value"` // an argument, *argument for what it points to, or result
}

// Array is numbers in memory, as the call leaves them.
type Array struct {
	Arg    string `json:"arg"`
	Count  string `json:"count"`            // how many: N, ARG, *ARG, result, or one of these * N
	Before bool   `json:"before,omitempty"` // as they are when the call begins

	count Count
}

// Count is how many numbers an array has: so many times a value of the call, or so many.
type Count struct {
	Of    CountOf
	Arg   int // of CountArg and CountPointed: its place
	Times uint32
}

// CountOf is a value of a call that an array's count depends on.
type CountOf uint8

// The values that a count depends on.
const (
	CountOne     CountOf = iota // none: the count is fixed
	CountArg                    // an argument
	CountPointed                // the number that an argument points to when the array is read
	CountResult                 // the result, which an array before the call can't have
)

// Kind is what a value is.
type Kind string

// The kinds of values. Those of kind Float and Struct can't be read: they are not in
// the registers of integers.
const (
	Void    Kind = "void"
	Int     Kind = "int"
	Uint    Kind = "uint"
	Pointer Kind = "pointer"
	String  Kind = "string" // a pointer to const char
	Float   Kind = "float"
	Struct  Kind = "struct"
)

var kinds = []Kind{Void, Int, Uint, Pointer, String, Float, Struct}

// Span is what a call is for.
type Span string

// Spans are all of them, in the order of a profile.
var Spans = []Span{
	"open", "close", "read", "write", "sync", "metadata", // of files, and of what is in them
	"query",                                 // of a database
	"send", "receive", "collective", "wait", // between processes
	"setup", // of the library itself
}

// Result is the name that expressions and handles have for what a call returned.
const Result = "result"

const (
	// maxFunctions bounds a layer, as MaxArgs does a function. The largest header that
	// was seen, MPI's, has 2000 functions; none of them has more than 14 arguments.
	maxFunctions = 10_000
	MaxArgs      = 64

	// maxPointers bounds the types of Pointers.
	maxPointers = 100

	// maxText bounds a name or an expression, in bytes.
	maxText = 1000

	// MaxSize bounds a description, in bytes.
	MaxSize = 16 << 20
)

// Parse reads the description of a layer.
func Parse(r io.Reader) (*Layer, error) {
	text, err := io.ReadAll(io.LimitReader(r, MaxSize+1))
	if err != nil {
		return nil, err
	}
	if len(text) > MaxSize {
		return nil, fmt.Errorf("longer than %d bytes", MaxSize)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	l := &Layer{}
	if err := d.Decode(l); err != nil {
		line := 1 + bytes.Count(text[:min(d.InputOffset(), int64(len(text)))], []byte("\n"))
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			line = 1 + bytes.Count(text[:min(syntax.Offset, int64(len(text)))], []byte("\n"))
		}
		return nil, fmt.Errorf("line %d: %w", line, err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("more than one description")
	}
	return l, l.check()
}

// check completes a layer, or says what is wrong with it.
func (l *Layer) check() error {
	switch {
	case !isName(l.Name):
		return fmt.Errorf("%.*q is not a valid layer name", maxText, l.Name)
	case len(l.Libraries) == 0:
		return fmt.Errorf("layer %s names no library", l.Name)
	case len(l.Functions) == 0:
		return fmt.Errorf("layer %s has no function with a span", l.Name)
	case len(l.Functions) > maxFunctions:
		return fmt.Errorf("layer %s has %d functions, more than %d", l.Name, len(l.Functions), maxFunctions)
	}
	for _, glob := range l.Libraries {
		if _, err := path.Match(glob, ""); err != nil || strings.Contains(glob, "/") || len(glob) > maxText {
			return fmt.Errorf("%.*q is not a pattern of a library's file name", maxText, glob)
		}
	}
	if err := l.checkPlayer(); err != nil {
		return err
	}
	if p := l.Pointers; p != nil {
		if !isName(p.Symbol) {
			return fmt.Errorf("%.*q is not a symbol of a library", maxText, p.Symbol)
		}
		if len(p.Types) == 0 || len(p.Types) > maxPointers {
			return fmt.Errorf("%d types that are pointers, want 1 to %d", len(p.Types), maxPointers)
		}
		for _, t := range p.Types {
			if !isName(t) {
				return fmt.Errorf("%.*q is not a valid type name", maxText, t)
			}
		}
	}
	seen := map[string]bool{}
	for _, f := range l.Functions {
		if f == nil {
			return fmt.Errorf("layer %s has a function that is null", l.Name)
		}
		if err := f.check(); err != nil {
			return fmt.Errorf("%.*s: %w", maxText, f.Name, err)
		}
		if seen[f.Name] {
			return fmt.Errorf("%s is described twice", f.Name)
		}
		seen[f.Name] = true
	}
	return nil
}

func (f *Function) check() error {
	if !isName(f.Name) {
		return errors.New("not the name of a function")
	}
	if !slices.Contains(Spans, f.Span) {
		return fmt.Errorf("%.*q is not a span: %s", maxText, f.Span, joined(Spans))
	}
	if len(f.Args) > MaxArgs {
		return fmt.Errorf("%d arguments, more than %d", len(f.Args), MaxArgs)
	}
	names := []string{}
	for _, a := range f.Args {
		if !isName(a.Name) || a.Name == Result || slices.Contains(names, a.Name) {
			return fmt.Errorf("%.*q is not a valid argument name", maxText, a.Name)
		}
		if err := a.check(); err != nil {
			return fmt.Errorf("%s: %w", a.Name, err)
		}
		if a.To != nil {
			if err := a.To.check(); err != nil {
				return fmt.Errorf("*%s: %w", a.Name, err)
			}
		}
		names = append(names, a.Name)
	}
	if err := f.Result.check(); err != nil {
		return fmt.Errorf("%s: %w", Result, err)
	}
	for _, name := range append([]string{f.Path, f.Text}, f.Names...) {
		if a := f.arg(name); name != "" && (a == nil || a.Kind != String && a.Kind != Pointer) {
			return fmt.Errorf("%.*q is not an argument that points to text", maxText, name)
		}
	}
	for _, list := range [][]Handle{f.Define, f.Map, f.Undefine} {
		for _, h := range list {
			if err := f.checkHandle(h); err != nil {
				return err
			}
		}
	}
	for _, name := range f.Numbers {
		if a := f.arg(name); a == nil || !a.pointsToNumber() {
			return fmt.Errorf("%.*q is not an argument that points to a number", maxText, name)
		}
	}
	for i := range f.Arrays {
		a := &f.Arrays[i]
		if arg := f.arg(a.Arg); arg == nil || !arg.pointsToNumber() {
			return fmt.Errorf("%.*q is not an argument that points to an array", maxText, a.Arg)
		}
		var ok bool
		if a.count, ok = f.count(a.Count); !ok || a.Before && a.count.Of == CountResult {
			return fmt.Errorf("%.*q is not a number of elements: want N, ARG, *ARG, %s, or one of these * N", maxText, a.Count, Result)
		}
		if a.Before && slices.ContainsFunc(f.Arrays[:i], func(b Array) bool { return b.Before }) {
			return errors.New("two arrays before the call")
		}
	}
	if err := f.checkPlay(); err != nil {
		return err
	}
	if err := f.parse(&f.bytes, f.Bytes); err != nil {
		return err
	}
	return f.parse(&f.failed, f.Error)
}

func (v *Value) check() error {
	switch {
	case !slices.Contains(kinds, v.Kind):
		return fmt.Errorf("%.*q is not a kind of value: %s", maxText, v.Kind, joined(kinds))
	case len(v.C) > maxText:
		return fmt.Errorf("a type of %d characters", len(v.C))
	case (v.Kind == Int || v.Kind == Uint) && !slices.Contains([]int{1, 2, 4, 8}, v.Size):
		return fmt.Errorf("an integer of %d bytes", v.Size)
	}
	return nil
}

func (f *Function) checkHandle(h Handle) error {
	if !isName(h.Type) {
		return fmt.Errorf("%.*q is not a handle type", maxText, h.Type)
	}
	if h.Value == Result {
		return nil
	}
	name, pointed := strings.CutPrefix(h.Value, "*")
	if a := f.arg(name); a == nil || pointed && !a.pointsToNumber() {
		return fmt.Errorf("%.*q is neither an argument nor %s", maxText, h.Value, Result)
	}
	return nil
}

// pointsToNumber reports whether the argument is the address of a number, or of an
// address.
func (a *Arg) pointsToNumber() bool {
	return a.Kind == Pointer && a.To != nil && slices.Contains([]Kind{Int, Uint, Pointer, String}, a.To.Kind)
}

// parse compiles an expression over the arguments, if there is one.
func (f *Function) parse(e *expr, text string) (err error) {
	if text == "" {
		return nil
	}
	if len(text) > maxText {
		return fmt.Errorf("an expression of %d characters", len(text))
	}
	*e, err = parse(text, f)
	return err
}

// arg returns the argument of a name, or nil.
func (f *Function) arg(name string) *Arg {
	if i := f.Index(name); i >= 0 {
		return &f.Args[i]
	}
	return nil
}

// Index returns the place of an argument, -1 if there is none of the name.
func (f *Function) Index(name string) int {
	return slices.IndexFunc(f.Args, func(a Arg) bool { return a.Name == name })
}

// Elements returns how many numbers the array has.
func (a *Array) Elements() Count { return a.count }

// count parses the number of elements of an array.
func (f *Function) count(text string) (c Count, ok bool) {
	c.Times = 1
	name, pointed := strings.CutPrefix(text, "*")
	name, times, product := strings.Cut(name, "*")
	name = strings.TrimSpace(name)
	number := func(text string) bool {
		n, err := strconv.ParseUint(strings.TrimSpace(text), 0, 32)
		c.Times = uint32(n)
		return err == nil
	}
	if product && !number(times) {
		return c, false
	}
	if c.Arg = f.Index(name); c.Arg >= 0 {
		a := &f.Args[c.Arg]
		if c.Of = CountArg; pointed {
			c.Of = CountPointed
			return c, a.Kind == Pointer && a.To != nil && (a.To.Kind == Int || a.To.Kind == Uint) && a.To.Size >= 4
		}
		return c, a.Kind == Int || a.Kind == Uint
	}
	if c.Arg = 0; name == Result {
		c.Of = CountResult
		return c, !pointed
	}
	return c, !pointed && !product && number(name)
}

// Unread returns the arguments that a probe can't read, by name, and Result if it is
// that.
func (f *Function) Unread() (names []string) {
	for _, a := range f.Args {
		if a.Kind == Float || a.Kind == Struct {
			names = append(names, a.Name)
		}
	}
	if f.Result.Kind == Float || f.Result.Kind == Struct {
		names = append(names, Result)
	}
	return names
}

func joined[T ~string](list []T) string {
	var b strings.Builder
	for i, s := range list {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(string(s))
	}
	return b.String()
}

// isName reports whether text is an identifier of C, of at most 255 bytes.
func isName(text string) bool {
	for i, c := range []byte(text) {
		if c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || i > 0 && c >= '0' && c <= '9' {
			continue
		}
		return false
	}
	return text != "" && len(text) <= 255
}
