package layer

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
)

// expr computes an expression from the arguments of a call and what it returned. ok is
// false if there is no value: after a division by zero.
type expr func(args []int64, result int64) (v int64, ok bool)

// Moved returns how many bytes a call moved. ok is false if that is not known.
func (f *Function) Moved(args []int64, result int64) (n int64, ok bool) {
	if f.bytes == nil || len(args) != len(f.Args) {
		return 0, false
	}
	n, ok = f.bytes(args, result)
	return n, ok && n >= 0
}

// Failed reports whether a call failed, as far as it is known.
func (f *Function) Failed(args []int64, result int64) bool {
	if f.failed == nil || len(args) != len(f.Args) {
		return false
	}
	v, ok := f.failed(args, result)
	return ok && v != 0
}

// parse compiles an expression of C: numbers, arguments, result, parentheses, and the
// operators of binary. Go's grammar has them all, with C's precedences where no
// parentheses are needed in good style.
func parse(text string, f *Function) (expr, error) {
	tree, err := parser.ParseExpr(text)
	if err != nil {
		return nil, fmt.Errorf("%q is not an expression", text)
	}
	e, err := compile(tree, f)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", text, err)
	}
	return e, nil
}

func compile(tree ast.Expr, f *Function) (expr, error) {
	switch t := tree.(type) {
	case *ast.ParenExpr:
		return compile(t.X, f)
	case *ast.BasicLit:
		n, err := strconv.ParseInt(t.Value, 0, 64)
		if err != nil || t.Kind != token.INT {
			return nil, fmt.Errorf("%s is not a whole number", t.Value)
		}
		return func([]int64, int64) (int64, bool) { return n, true }, nil
	case *ast.Ident:
		return compileName(t.Name, f)
	case *ast.UnaryExpr:
		x, err := compile(t.X, f)
		if err != nil {
			return nil, err
		}
		switch t.Op {
		case token.SUB:
			return func(a []int64, r int64) (int64, bool) { v, ok := x(a, r); return -v, ok }, nil
		case token.NOT:
			return func(a []int64, r int64) (int64, bool) { v, ok := x(a, r); return truth(v == 0), ok }, nil
		}
		return nil, fmt.Errorf("no operator %s", t.Op)
	case *ast.BinaryExpr:
		apply := binary[t.Op]
		if apply == nil {
			return nil, fmt.Errorf("no operator %s", t.Op)
		}
		x, err := compile(t.X, f)
		if err != nil {
			return nil, err
		}
		y, err := compile(t.Y, f)
		if err != nil {
			return nil, err
		}
		return func(a []int64, r int64) (int64, bool) {
			v, ok := x(a, r)
			w, also := y(a, r)
			if !ok || !also || w == 0 && (t.Op == token.QUO || t.Op == token.REM) {
				return 0, false
			}
			return apply(v, w), true
		}, nil
	}
	return nil, errors.New("only numbers, arguments, result and operators")
}

func compileName(name string, f *Function) (expr, error) {
	if name == Result {
		return func(_ []int64, r int64) (int64, bool) { return r, true }, nil
	}
	for i, a := range f.Args {
		if a.Name != name {
			continue
		}
		if a.Kind == Float || a.Kind == Struct {
			return nil, fmt.Errorf("%s can't be read", name)
		}
		return func(args []int64, _ int64) (int64, bool) { return args[i], true }, nil
	}
	return nil, fmt.Errorf("%s is neither an argument nor %s", name, Result)
}

var binary = map[token.Token]func(a, b int64) int64{
	token.ADD:  func(a, b int64) int64 { return a + b },
	token.SUB:  func(a, b int64) int64 { return a - b },
	token.MUL:  func(a, b int64) int64 { return a * b },
	token.QUO:  func(a, b int64) int64 { return a / b },
	token.REM:  func(a, b int64) int64 { return a % b },
	token.EQL:  func(a, b int64) int64 { return truth(a == b) },
	token.NEQ:  func(a, b int64) int64 { return truth(a != b) },
	token.LSS:  func(a, b int64) int64 { return truth(a < b) },
	token.LEQ:  func(a, b int64) int64 { return truth(a <= b) },
	token.GTR:  func(a, b int64) int64 { return truth(a > b) },
	token.GEQ:  func(a, b int64) int64 { return truth(a >= b) },
	token.LAND: func(a, b int64) int64 { return truth(a != 0 && b != 0) },
	token.LOR:  func(a, b int64) int64 { return truth(a != 0 || b != 0) },
}

func truth(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
