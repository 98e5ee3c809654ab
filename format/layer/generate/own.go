package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"pianola/format/layer"
)

// Annotations of one's own are lines of a file that //annotations names:
//
//	PLACE NAME TEXT          what //NAME WORD… gives the player at that place
//	placeholder NAME TEXT    what %NAME stands for in the lines below
//
// The text is C with placeholders. A line that ends in \ goes on in the next one.

// place is where the text of an annotation goes.
type place string

const (
	placeDefine     place = "define"     // outside of functions, once for each text
	placeInitialize place = "initialize" // at the start of the player, once for each text
	placeBefore     place = "before"     // before the call
	placeFunction   place = "function"   // in the call: "ARG -> CALL", as //pass ARG CALL
	placeAfter      place = "after"      // after the call
)

var places = []place{placeDefine, placeInitialize, placeBefore, placeFunction, placeAfter}

// own are the annotations of files: the texts by name, in the order of the lines.
type own struct {
	texts        map[string][]ownText
	placeholders map[string]string
}

type ownText struct {
	place place
	text  string
}

// read adds the annotations of a file.
func (o *own) read(name string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	whole := strings.ReplaceAll(string(text), "\\\n", "\x00") // a line keeps its number
	line := 1
	for _, l := range strings.Split(whole, "\n") {
		at := line
		line += 1 + strings.Count(l, "\x00")
		l = strings.TrimSpace(strings.ReplaceAll(l, "\x00", "\n"))
		if l == "" || l[0] == '#' {
			continue
		}
		words := strings.SplitN(l, " ", 3)
		if len(words) < 3 || !isWord.MatchString(words[1]) {
			return fmt.Errorf("%s:%d: want PLACE NAME TEXT", name, at)
		}
		where, what, text := words[0], words[1], o.replaced(strings.TrimSpace(words[2]))
		switch {
		case where == "placeholder" && (isBuiltIn.MatchString(what) || o.placeholders[what] != ""):
			return fmt.Errorf("%s:%d: %%%s has a meaning already", name, at, what)
		case where == "placeholder":
			o.placeholders[what] = text
		case !slices.Contains(places, place(where)):
			return fmt.Errorf("%s:%d: %q is not a place: %v, placeholder", name, at, where, places)
		case slices.Contains(ofFunction, what) || slices.Contains(ofLayer, what):
			return fmt.Errorf("%s:%d: //%s has a meaning already", name, at, what)
		default:
			o.texts[what] = append(o.texts[what], ownText{place(where), text})
		}
	}
	return nil
}

var (
	isWord       = regexp.MustCompile(`^[A-Za-z_][A-Za-z_0-9]*$`)
	isBuiltIn    = regexp.MustCompile(`^(par[0-9]*|rline|name|result|type|struct)$`)
	aParameter   = regexp.MustCompile(`%par([0-9]+)`)
	anArgument   = regexp.MustCompile(`%struct\.([A-Za-z_][A-Za-z_0-9]*)`)
	aPlaceholder = regexp.MustCompile(`%([A-Za-z_][A-Za-z_0-9]*)`)
)

// replaced replaces the placeholders of the file.
func (o *own) replaced(text string) string {
	return aPlaceholder.ReplaceAllStringFunc(text, func(p string) string {
		if to, ok := o.placeholders[p[1:]]; ok {
			return to
		}
		return p
	})
}

// apply takes an annotation of one's own at a function.
func (o *own) apply(l *layer.Layer, f *layer.Function, a annotation) error {
	for _, t := range o.texts[a.word] {
		text, err := expand(t.text, f, strings.Fields(a.rest))
		if err != nil {
			return err
		}
		line := text + "\n"
		switch t.place {
		case placeDefine:
			if !strings.Contains(l.Support, line) {
				l.Support += line
			}
		case placeInitialize:
			if !strings.Contains(l.Setup, line) {
				l.Setup += line
			}
		case placeBefore:
			f.Before += line
		case placeAfter:
			f.After += line
		case placeFunction:
			arg, call, ok := strings.Cut(text, "->")
			if !ok {
				return fmt.Errorf("%q: want ARG -> CALL", text)
			}
			f.Pass = append(f.Pass, layer.Pass{Arg: strings.TrimSpace(arg), Expr: strings.TrimSpace(call)})
		}
	}
	return nil
}

// expand replaces what stands for a word of the annotation, or a part of the function.
func expand(text string, f *layer.Function, words []string) (out string, err error) {
	used := make([]bool, len(words))
	out = aParameter.ReplaceAllStringFunc(text, func(p string) string {
		n, _ := strconv.Atoi(p[len("%par"):])
		if n < 1 || n > len(words) {
			err = fmt.Errorf("%s: the annotation has %d words", p, len(words))
			return p
		}
		used[n-1] = true
		return words[n-1]
	})
	var rest []string
	for i, w := range words {
		if !used[i] {
			rest = append(rest, w)
		}
	}
	out = anArgument.ReplaceAllStringFunc(out, func(p string) string {
		i := f.Index(p[len("%struct."):])
		if i < 0 && err == nil {
			err = fmt.Errorf("%s: %s has no such argument", p, f.Name)
		}
		return fmt.Sprintf("number(call_, %d)", i)
	})
	return strings.NewReplacer("%rline", strings.Join(rest, " "), "%name", f.Name, "%type", f.Result.C, "%result", "got_").Replace(out), err
}
