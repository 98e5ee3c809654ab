package pattern

import (
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// The types of values, besides numbers and templates.
type (
	text   string // any text on one line
	word   string // one of several
	words  []string
	handle string // name of a descriptor
)

// variable is the name of a number, and where a thread keeps it.
type variable struct {
	name string
	slot int
}

// decode fills a struct with what a mapping says.
func decode(n *yaml.Node, v any) error {
	return fill(n, reflect.ValueOf(v).Elem(), 0)
}

// plain refuses anchors and aliases, which can make a small text large, or hide
// the position of a value.
func plain(n *yaml.Node) error {
	if n.Kind == yaml.AliasNode || n.Anchor != "" {
		return fault(n.Line, "anchors and aliases are not supported")
	}
	return nil
}

// fill fills a struct with what a mapping says, or its first key with a
// scalar.
func fill(n *yaml.Node, v reflect.Value, nesting int) error {
	if err := plain(n); err != nil {
		return err
	}
	typ := v.Type()
	if f := v.FieldByName("Line"); f.IsValid() {
		f.SetInt(int64(n.Line))
	}
	given := map[string]bool{}
	switch {
	case n.Kind == yaml.MappingNode:
		for i := 0; i < len(n.Content); i += 2 {
			key, value := n.Content[i], n.Content[i+1]
			f, ok := field(typ, key.Value)
			switch {
			case !ok:
				return fault(key.Line, "unknown key %.100q, expected one of %s", key.Value, strings.Join(keys(typ), ", "))
			case given[key.Value]:
				return fault(key.Line, "duplicate key %q", key.Value)
			}
			given[key.Value] = true
			if err := set(value, v.FieldByIndex(f.Index), f, nesting); err != nil {
				return err
			}
		}
	case n.Kind == yaml.ScalarNode && n.Tag == "!!null":
	case n.Kind == yaml.ScalarNode:
		f, _ := field(typ, keys(typ)[0])
		given[keys(typ)[0]] = true
		if err := set(n, v.FieldByIndex(f.Index), f, nesting); err != nil {
			return err
		}
	default:
		return fault(n.Line, "expected keys: %s", strings.Join(keys(typ), ", "))
	}
	for _, f := range reflect.VisibleFields(typ) {
		key := f.Tag.Get("key")
		if key == "" || given[key] {
			continue
		}
		if text, ok := f.Tag.Lookup("default"); ok {
			value := yaml.Node{Kind: yaml.ScalarNode, Value: text, Line: n.Line}
			if err := set(&value, v.FieldByIndex(f.Index), f, nesting); err != nil {
				return err
			}
		} else if _, ok := f.Tag.Lookup("optional"); !ok {
			return fault(n.Line, "%q is missing", key)
		}
	}
	return nil
}

// keys returns the keys of a struct, in order.
func keys(typ reflect.Type) (names []string) {
	for _, f := range reflect.VisibleFields(typ) {
		if key := f.Tag.Get("key"); key != "" {
			names = append(names, key)
		}
	}
	return names
}

// field returns the field of a key.
func field(typ reflect.Type, key string) (reflect.StructField, bool) {
	for _, f := range reflect.VisibleFields(typ) {
		if key != "" && f.Tag.Get("key") == key {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

// set gives a field its value.
func set(n *yaml.Node, v reflect.Value, f reflect.StructField, nesting int) error {
	if err := plain(n); err != nil {
		return err
	}
	key := f.Tag.Get("key")
	switch p := v.Addr().Interface().(type) {
	case *[]step:
		return list(n, v, key, func(n *yaml.Node, v reflect.Value) error { return fillStep(n, v.Addr().Interface().(*step), nesting+1) })
	case *words:
		var w word
		if n.Kind == yaml.ScalarNode {
			*p = make(words, 1)
			if err := setWord(n, &w, f); err != nil {
				return err
			}
			(*p)[0] = string(w)
			return nil
		}
		return list(n, v, key, func(n *yaml.Node, v reflect.Value) error {
			if err := setWord(n, &w, f); err != nil {
				return err
			}
			v.SetString(string(w))
			return nil
		})
	case *word:
		return setWord(n, p, f)
	}
	if v.Kind() == reflect.Slice {
		return list(n, v, key, func(n *yaml.Node, v reflect.Value) error { return fill(n, v, nesting+1) })
	}
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		return fault(n.Line, "%q needs a single value", key)
	}
	switch p := v.Addr().Interface().(type) {
	case *text:
		if strings.ContainsAny(n.Value, "\x00\r\n") {
			return fault(n.Line, "%q must be a single line", key)
		}
		*p = text(n.Value)
	case *number:
		*p = number{text: n.Value, line: n.Line, unit: f.Tag.Get("unit")}
	case *template:
		*p = template{text: n.Value, line: n.Line}
	case *handle:
		*p = handle(n.Value)
	case *variable:
		p.name = n.Value
	}
	switch v.Interface().(type) {
	case handle, variable:
		if !isName(n.Value) {
			return fault(n.Line, "%.100q: a name consists of letters, digits and underscores, and begins with a letter", n.Value)
		}
	}
	return nil
}

// setWord takes one of the words of a field.
func setWord(n *yaml.Node, p *word, f reflect.StructField) error {
	all := strings.Fields(f.Tag.Get("of"))
	if err := plain(n); err != nil {
		return err
	}
	if n.Kind != yaml.ScalarNode || !slices.Contains(all, n.Value) {
		return fault(n.Line, "%q must be one of %s, not %.100q", f.Tag.Get("key"), strings.Join(all, ", "), n.Value)
	}
	*p = word(n.Value)
	return nil
}

// list fills a slice with what a sequence holds, which must be something.
func list(n *yaml.Node, v reflect.Value, key string, one func(*yaml.Node, reflect.Value) error) error {
	if n.Kind != yaml.SequenceNode || len(n.Content) == 0 {
		return fault(n.Line, "%q needs a list", key)
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content)))
	for i, item := range n.Content {
		if err := one(item, v.Index(i)); err != nil {
			return err
		}
	}
	return nil
}

// fillStep takes a step: a mapping of one key, its kind, or that alone.
func fillStep(n *yaml.Node, s *step, nesting int) error {
	if err := plain(n); err != nil {
		return err
	}
	if nesting > maxNesting {
		return fault(n.Line, "steps are nested more than %d deep", maxNesting)
	}
	name, value := n, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Line: n.Line}
	switch {
	case n.Kind == yaml.MappingNode && len(n.Content) == 2:
		name, value = n.Content[0], n.Content[1]
	case n.Kind == yaml.MappingNode:
		return fault(n.Line, "a step has one key, not %d; begin each step with a dash", len(n.Content)/2)
	case n.Kind != yaml.ScalarNode:
		return fault(n.Line, "expected a step")
	}
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.name == name.Value })
	if i < 0 {
		return fault(name.Line, "unknown step %.100q", name.Value)
	}
	s.line, s.action = name.Line, kinds[i].make()
	return fill(value, reflect.ValueOf(s.action).Elem(), nesting)
}
