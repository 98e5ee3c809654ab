package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"regexp"
	"sort"
	"strconv"
	"strings"
)

// texts is a Markdown document of the string literals of Go files that are
// prose. Each is a paragraph.
type texts struct {
	document bytes.Buffer
	lines    int     // of document
	places   []place // by line of document
}

// place says which line of a Go file a line of the document begins to show.
type place struct {
	at   int // line of the document
	file string
	line int
}

// words finds three words in a row, which keys, flags and patterns don't have.
var words = regexp.MustCompile(`[A-Za-z][a-z'’]*,? [a-z][a-z'’]*,? [a-z]+`)

// add appends the texts of one file.
func (t *texts) add(name string) error {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			n.Tag = nil
		case *ast.BasicLit, *ast.BinaryExpr:
			if text, ok := joined(n.(ast.Expr)); ok {
				if words.MatchString(text) {
					t.append(name, set.Position(n.Pos()).Line, text)
				}
				return false
			}
		}
		return true
	})
	return nil
}

// joined returns the text of a string literal, or of a sum with at least one
// literal. A value that is known only when the program runs becomes "%s".
func joined(e ast.Expr) (text string, ok bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			text, err := strconv.Unquote(e.Value)
			return text, err == nil
		}
	case *ast.ParenExpr:
		return joined(e.X)
	case *ast.BinaryExpr:
		if e.Op != token.ADD {
			return "", false
		}
		a, isText := joined(e.X)
		b, too := joined(e.Y)
		if isText || too {
			return valued(a, isText) + valued(b, too), true
		}
	}
	return "", false
}

func valued(text string, known bool) string {
	if known {
		return text
	}
	return "%s"
}

func (t *texts) append(file string, line int, text string) {
	t.places = append(t.places, place{t.lines + 1, file, line})
	text = strings.TrimSpace(text) + "\n\n"
	t.document.WriteString(text)
	t.lines += strings.Count(text, "\n")
}

// origin returns the Go file and line that a line of the document shows. It is
// the line where the literal starts, plus the newlines of its text.
func (t *texts) origin(line int) (string, int) {
	i := sort.Search(len(t.places), func(i int) bool { return t.places[i].at > line }) - 1
	if i < 0 {
		return "", line
	}
	p := t.places[i]
	return p.file, p.line + line - p.at
}

func (t *texts) print(w io.Writer) {
	for i, text := range strings.Split(t.document.String(), "\n") {
		if file, line := t.origin(i + 1); text != "" {
			fmt.Fprintf(w, "%s:%d: %s\n", file, line, text)
		}
	}
}
