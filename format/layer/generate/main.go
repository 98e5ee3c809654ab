// Command generate reads annotated headers of layers and writes their descriptions,
// NAME.json, into the working directory's parent or the directory of -o. It needs a
// C compiler, which says where the system's headers are and what it predefines.
//
//	generate [-I DIR]… [-o DIR] [-skip] HEADER…
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"modernc.org/cc/v4"

	"pianola/format/layer"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("generate", flag.ExitOnError)
	var includes []string
	flags.Func("I", "a directory or pattern of headers", func(text string) error {
		dirs, err := filepath.Glob(text)
		includes = append(includes, dirs...)
		return err
	})
	out := flags.String("o", "..", "where NAME.json goes")
	skip := flags.Bool("skip", false, "leave out a layer whose library's header, or the C compiler, is not installed")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() == 0 {
		return errors.New("want an annotated header")
	}
	for _, name := range flags.Args() {
		l, err := describe(name, includes)
		if *skip && (errors.Is(err, errCompiler) || err != nil && strings.Contains(err.Error(), "include file not found")) {
			fmt.Fprintf(os.Stderr, "generate: %s is left out: %v\n", name, err)
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		text, err := encode(l)
		if err != nil {
			return err
		}
		if _, err := layer.Parse(bytes.NewReader(text)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := os.WriteFile(filepath.Join(*out, l.Name+".json"), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// encode writes a description, a line for each function.
func encode(l *layer.Layer) ([]byte, error) {
	bare := *l
	bare.Functions = nil
	text, err := json.Marshal(bare)
	if err != nil {
		return nil, err
	}
	b := bytes.NewBuffer(bytes.TrimSuffix(text, []byte("null}")))
	for i, f := range l.Functions {
		if text, err = json.Marshal(f); err != nil {
			return nil, err
		}
		b.WriteString([]string{"[\n", ",\n"}[min(i, 1)])
		b.Write(text)
	}
	b.WriteString("\n]}\n")
	return b.Bytes(), nil
}

var errCompiler = errors.New("a C compiler is needed")

// describe reads an annotated header and those that it imports.
func describe(name string, includes []string) (*layer.Layer, error) {
	l := &layer.Layer{}
	notes, err := annotations(name)
	if err != nil {
		return nil, err
	}
	protos, err := prototypes(name, includes)
	if err != nil {
		return nil, err
	}
	d := &description{Layer: l, includes: includes, dir: filepath.Dir(name), own: &own{map[string][]ownText{}, map[string]string{}}}
	if err := d.add(notes, protos); err != nil {
		return nil, err
	}
	if l.Name == "" {
		return nil, errors.New("no //layer NAME \"lib*.so*\"")
	}
	return l, nil
}

// description is a layer while its headers are read.
type description struct {
	*layer.Layer
	includes []string
	dir      string
	depth    int
	own      *own
}

// maxImports is how deep headers import others.
const maxImports = 10

// add joins annotations with the prototypes at which they stand: those above it, and those from
// its line on to the line before the next one.
func (d *description) add(notes []annotation, protos []prototype) error {
	next := 0
	for i, p := range protos {
		f := &layer.Function{Name: p.name, Result: p.result, Args: p.args, Variadic: p.variadic}
		end := 1 << 30
		if i+1 < len(protos) {
			end = protos[i+1].line
		}
		for ; next < len(notes) && notes[next].line < end; next++ {
			a := notes[next]
			if a.line < p.line && !a.above {
				if err := d.general(a); err != nil {
					return err
				}
				continue
			}
			if a.above && a.line > p.line {
				break // of the next one
			}
			if err := d.specific(f, a); err != nil {
				return fmt.Errorf("line %d: %s: %w", a.line, p.name, err)
			}
		}
		if f.Span == "" {
			return fmt.Errorf("line %d: %s has no //span", p.line, p.name)
		}
		for i := range f.Args {
			if !readsBehind(f, f.Args[i].Name) {
				f.Args[i].To = nil
			}
		}
		d.Functions = append(d.Functions, f)
	}
	for ; next < len(notes); next++ {
		if err := d.general(notes[next]); err != nil {
			return err
		}
	}
	return nil
}

// general takes an annotation of the layer.
func (d *description) general(a annotation) error {
	switch a.word {
	case "layer":
		fields := strings.Fields(a.rest)
		if len(fields) < 2 || d.Name != "" {
			return fmt.Errorf("line %d: want one //layer NAME \"lib*.so*\"", a.line)
		}
		d.Name = fields[0]
		for _, f := range fields[1:] {
			d.Libraries = append(d.Libraries, strings.Trim(f, `"`))
		}
	case "#include":
		if !slices.Contains(d.Includes, a.rest) {
			d.Includes = append(d.Includes, a.rest)
		}
	case "global":
		fields := strings.Fields(a.rest)
		if len(fields) < 3 {
			return fmt.Errorf("line %d: want //global HANDLE TYPE NAME…", a.line)
		}
		for _, name := range fields[2:] {
			d.Globals = append(d.Globals, layer.Global{Type: fields[0], C: fields[1], Name: name})
		}
	case "pointers":
		fields := strings.Fields(a.rest)
		if len(fields) < 2 || d.Pointers != nil {
			return fmt.Errorf("line %d: want one //pointers SYMBOL TYPE…", a.line)
		}
		d.Pointers = &layer.Pointers{Symbol: fields[0], Types: fields[1:]}
	case "support":
		text, err := os.ReadFile(filepath.Join(d.dir, strings.Trim(a.rest, `"`)))
		if err != nil {
			return fmt.Errorf("line %d: %w", a.line, err)
		}
		d.Support += string(text)
	case "annotations":
		if err := d.own.read(filepath.Join(d.dir, strings.Trim(a.rest, `"`))); err != nil {
			return fmt.Errorf("line %d: %w", a.line, err)
		}
	case "import":
		if d.depth == maxImports {
			return fmt.Errorf("line %d: imports are more than %d deep", a.line, maxImports)
		}
		name := filepath.Join(d.dir, strings.Trim(a.rest, `"`))
		notes, err := annotations(name)
		if err != nil {
			return fmt.Errorf("line %d: %w", a.line, err)
		}
		protos, err := prototypes(name, d.includes)
		if err != nil {
			return fmt.Errorf("line %d: %s: %w", a.line, name, err)
		}
		inner := &description{Layer: d.Layer, includes: d.includes, dir: filepath.Dir(name), depth: d.depth + 1, own: d.own}
		return inner.add(notes, protos)
	default:
		return fmt.Errorf("line %d: //%s belongs to no prototype", a.line, a.word)
	}
	return nil
}

// specific takes an annotation of a function.
func (d *description) specific(f *layer.Function, a annotation) error {
	if d.own.texts[a.word] != nil {
		return d.own.apply(d.Layer, f, a)
	}
	fields := strings.Fields(a.rest)
	want := func(n int) error {
		if len(fields) != n {
			return fmt.Errorf("//%s takes %d words, not %q", a.word, n, a.rest)
		}
		return nil
	}
	once := func(to *string) error {
		if *to != "" {
			return fmt.Errorf("two //%s", a.word)
		}
		*to = a.rest
		return nil
	}
	handle := func(to *[]layer.Handle) error {
		if err := want(2); err != nil {
			return err
		}
		*to = append(*to, layer.Handle{Type: fields[0], Value: fields[1]})
		return nil
	}
	switch a.word {
	case "span":
		return once((*string)(&f.Span))
	case "path":
		return once(&f.Path)
	case "name":
		f.Names = append(f.Names, fields...)
	case "text":
		return once(&f.Text)
	case "bytes":
		return once(&f.Bytes)
	case "error":
		return once(&f.Error)
	case "define":
		return handle(&f.Define)
	case "map":
		return handle(&f.Map)
	case "undefine":
		return handle(&f.Undefine)
	case "play":
		return once(&f.Play)
	case "pass":
		if len(fields) < 2 {
			return want(2)
		}
		f.Pass = append(f.Pass, layer.Pass{Arg: fields[0], Expr: strings.Join(fields[1:], " ")})
	case "always":
		f.Always = true
		return want(0)
	case "number":
		f.Numbers = append(f.Numbers, fields...)
	case "array":
		if len(fields) < 2 {
			return want(2)
		}
		count, before := fields[1:], false
		if last := len(count) - 1; last > 0 && count[last] == "before" {
			count, before = count[:last], true
		}
		f.Arrays = append(f.Arrays, layer.Array{Arg: fields[0], Count: strings.Join(count, " "), Before: before})
	default:
		return fmt.Errorf("//%s is not an annotation", a.word)
	}
	return nil
}

// annotation is a comment of an annotated header: //word rest.
type annotation struct {
	line       int
	word, rest string
	above      bool // it belongs to the prototype below it
}

// ofLayer are the annotations that belong to no prototype.
var ofLayer = []string{"layer", "#include", "global", "pointers", "support", "import", "annotations"}

// ofFunction are the others.
var ofFunction = []string{"span", "path", "name", "text", "bytes", "error", "define", "map", "undefine", "play", "pass", "always", "number", "array"}

// annotations returns those of a header, and its includes.
func annotations(name string) (list []annotation, err error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	first, apart := 0, true // annotation of the lines of comments directly above; what is above them is blank
	for i, line := range strings.Split(string(text), "\n") {
		code, _, comment := strings.Cut(strings.TrimSpace(line), "//")
		switch {
		case code == "" && comment:
		case code == "":
			first, apart = len(list), true
		default:
			for k := first; k < len(list); k++ {
				list[k].above = apart && code[0] != '#' && !slices.Contains(ofLayer, list[k].word)
			}
			first, apart = len(list), false
		}
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), "#include "); ok {
			list = append(list, annotation{line: i + 1, word: "#include", rest: strings.Trim(rest, `<> "`)})
			continue
		}
		_, comments, _ := strings.Cut(line, "//")
		if comments == "" || strings.HasPrefix(comments, " ") {
			continue // prose
		}
		for _, c := range strings.Split(comments, "//") {
			word, rest, _ := strings.Cut(strings.TrimSpace(c), " ")
			list = append(list, annotation{line: i + 1, word: word, rest: strings.TrimSpace(rest)})
		}
	}
	return list, nil
}

// prototype is the declaration of a function.
type prototype struct {
	line     int
	name     string
	result   layer.Value
	args     []layer.Arg
	variadic bool
}

// prototypes returns those in a header itself, not in what it includes.
func prototypes(name string, includes []string) (list []prototype, err error) {
	cfg, err := cc.NewConfig(runtime.GOOS, runtime.GOARCH)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errCompiler, err)
	}
	cfg.IncludePaths = append(cfg.IncludePaths, includes...)
	cfg.SysIncludePaths = append(cfg.SysIncludePaths, includes...)
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	ast, err := cc.Translate(cfg, []cc.Source{
		{Name: "<predefined>", Value: cfg.Predefined},
		{Name: "<builtin>", Value: cc.Builtin},
		{Name: name, Value: string(text)},
	})
	if err != nil {
		return nil, err
	}
	for fn, nodes := range ast.Scope.Nodes {
		for _, n := range nodes {
			d, ok := n.(*cc.Declarator)
			if !ok || d.IsTypename() || d.Position().Filename != name {
				continue
			}
			t, ok := d.Type().(*cc.FunctionType)
			if !ok {
				continue
			}
			p := prototype{line: d.Position().Line, name: fn, args: []layer.Arg{}, result: value(t.Result()), variadic: t.IsVariadic()}
			// Those of this declaration: the type has the names of the first one.
			if l := d.DirectDeclarator.ParameterTypeList; l != nil {
				for params := l.ParameterList; params != nil; params = params.ParameterList {
					p.args = append(p.args, argument(params.ParameterDeclaration, len(p.args)))
				}
			}
			if len(p.args) == 1 && p.args[0].Kind == layer.Void {
				p.args = p.args[:0]
			}
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(a, b prototype) int { return a.line - b.line })
	return list, nil
}

func argument(p *cc.ParameterDeclaration, i int) layer.Arg {
	name, t := fmt.Sprintf("arg%d", i), p.Type()
	if p.Declarator != nil {
		name, t = p.Declarator.Name(), p.Declarator.Type()
	}
	a := layer.Arg{Name: name, Value: value(t)}
	if a.Kind == layer.Pointer {
		if to, ok := t.Decay().(*cc.PointerType); ok {
			v := element(to.Elem())
			a.To = &v
		}
	}
	return a
}

// readsBehind reports whether the layer reads what an argument points to.
func readsBehind(f *layer.Function, name string) bool {
	for _, list := range [][]layer.Handle{f.Define, f.Map, f.Undefine} {
		if slices.ContainsFunc(list, func(h layer.Handle) bool { return h.Value == "*"+name }) {
			return true
		}
	}
	return slices.Contains(f.Numbers, name) ||
		slices.ContainsFunc(f.Arrays, func(a layer.Array) bool { return a.Arg == name || counts(a.Count, name) })
}

// counts reports whether the number of an array's elements is what an argument points to.
func counts(count, name string) bool {
	of, pointed := strings.CutPrefix(count, "*")
	of, _, _ = strings.Cut(of, "*")
	return pointed && strings.TrimSpace(of) == name
}

// element says how what a pointer points to can be read. A struct whose fields are integers
// is read as integers of the type of the first one.
func element(t cc.Type) layer.Value {
	v := value(t)
	s, ok := t.(*cc.StructType)
	if !ok || s.NumFields() == 0 {
		return v
	}
	for i := range s.NumFields() {
		f := s.FieldByIndex(i)
		if kind := value(f.Type()).Kind; f.IsBitfield() || kind != layer.Int && kind != layer.Uint {
			return v
		}
	}
	return value(s.FieldByIndex(0).Type())
}

// value says how a type can be read.
func value(t cc.Type) layer.Value {
	v := layer.Value{C: spelled(t), Size: int(t.Size())}
	switch {
	case t.Kind() == cc.Void:
		return layer.Value{C: v.C, Kind: layer.Void}
	case t.Kind() == cc.Ptr || t.Kind() == cc.Array || t.Kind() == cc.Function:
		v.Kind, v.Size = layer.Pointer, 8
		if p, ok := t.(*cc.PointerType); ok && p.Elem().Kind() == cc.Char && p.Elem().Attributes().IsConst() {
			v.Kind = layer.String
		}
	case t.Kind() == cc.Enum || cc.IsIntegerType(t):
		v.Kind = layer.Uint
		if cc.IsSignedInteger(t) || t.Kind() == cc.Enum {
			v.Kind = layer.Int
		}
	case cc.IsArithmeticType(t):
		v.Kind = layer.Float
	default:
		v.Kind = layer.Struct
	}
	return v
}

// spelled returns a type as C writes it.
func spelled(t cc.Type) string {
	text := ""
	switch name := t.Typedef(); {
	case name != nil:
		text = name.Name()
	case t.Kind() == cc.Ptr:
		elem := t.(*cc.PointerType).Elem()
		if elem.Kind() == cc.Function && elem.Typedef() == nil {
			return "void *" // no call is made through it
		}
		text = spelled(elem)
		if !strings.HasSuffix(text, "*") {
			text += " "
		}
		text += "*"
	default:
		text = strings.TrimPrefix(t.String(), "const ")
	}
	if t.Attributes().IsConst() {
		if t.Kind() == cc.Ptr && t.Typedef() == nil {
			return text + "const"
		}
		return "const " + text
	}
	return text
}
