package pattern

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"

	"pianola/format"
)

// number is an expression of a pattern: digits with a unit, variables,
// functions, operators, and ranges from which it is drawn.
type number struct {
	text string
	line int
	unit string
	eval expr // nil where there is none
}

// expr computes a value. On a fault it sets the error of env and returns 0.
type expr func(*env) int64

// scope says where a thread keeps its variables.
type scope struct {
	names []string
	slots []int
	next  *int // slot
}

func (s *scope) find(name string) int {
	for i, n := range slices.Backward(s.names) {
		if n == name {
			return s.slots[i]
		}
	}
	return -1
}

// declare adds a variable, which hides one of the same name.
func (s *scope) declare(name string) int {
	slot := *s.next
	*s.next++
	s.names, s.slots = append(s.names[:len(s.names):len(s.names)], name), append(s.slots[:len(s.slots):len(s.slots)], slot)
	return slot
}

// compile makes the expression ready to be computed.
func (n *number) compile(s *scope) error {
	p := parser{rest: n.text, unit: n.unit, scope: s}
	var err error
	if n.eval, err = p.parse(); err == nil && n.unit == "time" && !p.united && strings.TrimSpace(n.text) != "0" {
		err = errors.New("a time needs a unit: ns, us, ms, s, m or h")
	}
	if err != nil {
		return fault(n.line, "%.100q: %v", n.text, err)
	}
	return nil
}

// constant returns the value of an expression without variables, which must
// lie between two others.
func (n number) constant(low, high int64) (int64, error) {
	if err := n.compile(&scope{}); err != nil {
		return 0, err
	}
	return n.within(&env{rng: newRand(0, 0)}, low, high)
}

// within computes the value, which must lie between two others.
func (n *number) within(v *env, low, high int64) (int64, error) {
	value := n.eval(v)
	if v.err != nil {
		err := fault(n.line, "%q: %v", n.text, v.err)
		v.err = nil
		return 0, err
	}
	if value < low || value > high {
		return 0, fault(n.line, "%q is %d: expected a value from %d to %d", n.text, value, low, high)
	}
	return value, nil
}

// operator is what joins two operands.
type operator struct {
	sign  string
	apply func(v *env, a, b int64) int64
}

// The operators, in rising order of precedence: a range binds least. If one operator is
// a prefix of another, the longer one comes first.
var operators = [][]operator{
	{{"..", uniform}},
	{{"||", func(_ *env, a, b int64) int64 { return truth(a != 0 || b != 0) }}},
	{{"&&", func(_ *env, a, b int64) int64 { return truth(a != 0 && b != 0) }}},
	{
		{"==", func(_ *env, a, b int64) int64 { return truth(a == b) }},
		{"!=", func(_ *env, a, b int64) int64 { return truth(a != b) }},
		{"<=", func(_ *env, a, b int64) int64 { return truth(a <= b) }},
		{">=", func(_ *env, a, b int64) int64 { return truth(a >= b) }},
		{"<", func(_ *env, a, b int64) int64 { return truth(a < b) }},
		{">", func(_ *env, a, b int64) int64 { return truth(a > b) }},
	},
	{{"+", add}, {"-", func(v *env, a, b int64) int64 { return add(v, a, negated(v, b)) }}},
	{{"*", multiply}, {"/", divide}, {"%", modulo}},
}

// The functions with a fixed number of arguments. choose is one of its own.
var functions = map[string]struct {
	args int
	call func(v *env, a, b int64) int64
}{
	"min":         {2, func(_ *env, a, b int64) int64 { return min(a, b) }},
	"max":         {2, func(_ *env, a, b int64) int64 { return max(a, b) }},
	"exponential": {1, func(v *env, mean, _ int64) int64 { return rounded(v, v.rng.ExpFloat64()*float64(mean)) }},
	"normal": {2, func(v *env, mean, deviation int64) int64 {
		return max(rounded(v, float64(mean)+float64(v.rng.NormFloat64()*float64(deviation))), 0)
	}},
}

var (
	errRange  = errors.New("out of range")
	errDivide = errors.New("division by zero")
)

func truth(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func (v *env) fail(err error) int64 {
	if v.err == nil {
		v.err = err
	}
	return 0
}

func rounded(v *env, f float64) int64 {
	if !(math.Abs(f) < math.MaxInt64/2) {
		return v.fail(errRange)
	}
	return int64(math.Round(f))
}

func negated(v *env, a int64) int64 {
	if a == math.MinInt64 {
		return v.fail(errRange)
	}
	return -a
}

func add(v *env, a, b int64) int64 {
	sum := a + b
	if (sum > a) != (b > 0) {
		return v.fail(errRange)
	}
	return sum
}

func multiply(v *env, a, b int64) int64 {
	hi, lo := bits.Mul64(uint64(max(a, -a)), uint64(max(b, -b)))
	if hi != 0 || lo > math.MaxInt64 || a == math.MinInt64 || b == math.MinInt64 {
		return v.fail(errRange)
	}
	return a * b
}

func divide(v *env, a, b int64) int64 {
	if b == 0 {
		return v.fail(errDivide)
	}
	if b == -1 {
		return negated(v, a)
	}
	return a / b
}

func modulo(v *env, a, b int64) int64 {
	if b == 0 {
		return v.fail(errDivide)
	}
	if b == -1 {
		return 0
	}
	return a % b
}

// uniform draws one of the numbers from low to high.
func uniform(v *env, low, high int64) int64 {
	if high < low {
		return v.fail(fmt.Errorf("nothing from %d to %d", low, high))
	}
	n := uint64(high) - uint64(low) + 1
	if n == 0 {
		return v.fail(errRange)
	}
	return low + int64(v.rng.Uint64N(n))
}

// parser reads one expression.
type parser struct {
	rest    string
	unit    string
	scope   *scope
	united  bool // there is a number with a unit
	nesting int
}

func (p *parser) parse() (expr, error) {
	if len(p.rest) > 1000 {
		return nil, errors.New("longer than 1000 bytes")
	}
	e, err := p.binary(0)
	if err != nil {
		return nil, err
	}
	if p.space(); p.rest != "" {
		return nil, fmt.Errorf("unexpected %q", p.rest)
	}
	return e, nil
}

func (p *parser) space() { p.rest = strings.TrimLeft(p.rest, " \t") }

// take takes a sign, if it is the next.
func (p *parser) take(sign string) bool {
	p.space()
	rest, ok := strings.CutPrefix(p.rest, sign)
	p.rest = rest
	return ok
}

// binary reads operands that operators of at least a level join.
func (p *parser) binary(level int) (expr, error) {
	if level == len(operators) {
		return p.operand()
	}
	left, err := p.binary(level + 1)
	for err == nil {
		apply := p.operator(level)
		if apply == nil {
			return left, nil
		}
		a := left
		var b expr
		if b, err = p.binary(level + 1); err == nil {
			left = func(v *env) int64 { x := a(v); return apply(v, x, b(v)) }
		}
	}
	return nil, err
}

// operator takes an operator of a level, nil where none is next.
func (p *parser) operator(level int) func(*env, int64, int64) int64 {
	for _, o := range operators[level] {
		if p.take(o.sign) {
			return o.apply
		}
	}
	return nil
}

// operand reads an operand.
func (p *parser) operand() (expr, error) {
	if p.nesting++; p.nesting > 100 {
		return nil, errors.New("too deep")
	}
	defer func() { p.nesting-- }()
	switch {
	case p.take("("):
		e, err := p.binary(0)
		if err == nil && !p.take(")") {
			err = errors.New("missing closing parenthesis")
		}
		return e, err
	case p.take("-"):
		e, err := p.operand()
		return func(v *env) int64 { return negated(v, e(v)) }, err
	}
	if p.rest == "" {
		return nil, errors.New("expected a number at the end")
	}
	if isDigit(p.rest[0]) {
		return p.literal()
	}
	n := nameLength(p.rest)
	if n == 0 {
		return nil, fmt.Errorf("unexpected %q", p.rest)
	}
	name := p.rest[:n]
	if p.rest = p.rest[n:]; p.take("(") {
		return p.call(name)
	}
	slot := p.scope.find(name)
	if slot < 0 {
		return nil, fmt.Errorf("variable %q is not defined here", name)
	}
	return func(v *env) int64 { return v.vars[slot] }, nil
}

// literal reads a number with its unit.
func (p *parser) literal() (expr, error) {
	n := 0
	for n < len(p.rest) && (p.rest[n] >= 0x80 || isAlnum(p.rest[n]) || p.rest[n] == '.' && !strings.HasPrefix(p.rest[n:], "..")) {
		n++
	}
	word := p.rest[:n]
	p.rest = p.rest[n:]
	value, err := strconv.ParseInt(word, 10, 64)
	p.united = p.united || err != nil
	switch {
	case err == nil:
		return func(*env) int64 { return value }, nil
	case p.unit == "time":
		var d time.Duration
		if d, err = time.ParseDuration(word); err != nil {
			return nil, fmt.Errorf("%q is not a time such as 10ms or 1.5s", word)
		}
		value = int64(d)
	default:
		if value, err = format.ParseSize(word); err != nil || isDigit(word[n-1]) {
			return nil, fmt.Errorf("%q is not a number such as 4096, 64KiB or 1.5MB", word)
		}
	}
	return func(*env) int64 { return value }, nil
}

// call reads the arguments of a function.
func (p *parser) call(name string) (expr, error) {
	if name == "choose" {
		return p.choose()
	}
	f, ok := functions[name]
	if !ok {
		return nil, fmt.Errorf("unknown function %q", name)
	}
	args := [2]expr{1: func(*env) int64 { return 0 }}
	for i := range f.args {
		var err error
		if i > 0 && !p.take(",") {
			return nil, fmt.Errorf("%s takes %d values", name, f.args)
		}
		if args[i], err = p.binary(0); err != nil {
			return nil, err
		}
	}
	if !p.take(")") {
		return nil, fmt.Errorf("%s takes %d values", name, f.args)
	}
	return func(v *env) int64 { a := args[0](v); return f.call(v, a, args[1](v)) }, nil
}

// choose reads "WEIGHT: VALUE, …)".
func (p *parser) choose() (expr, error) {
	var (
		ends   []uint64 // sums of weights
		values []expr
		sum    uint64
	)
	for {
		p.space()
		n := 0
		for n < len(p.rest) && isDigit(p.rest[n]) {
			n++
		}
		weight, err := strconv.ParseUint(p.rest[:n], 10, 32)
		p.rest = p.rest[n:]
		if err != nil || weight == 0 || !p.take(":") {
			return nil, errors.New("choose takes WEIGHT: VALUE, …")
		}
		e, err := p.binary(0)
		if err != nil {
			return nil, err
		}
		sum += weight
		ends, values = append(ends, sum), append(values, e)
		if p.take(")") {
			break
		}
		if !p.take(",") {
			return nil, errors.New("choose takes WEIGHT: VALUE, …")
		}
	}
	return func(v *env) int64 {
		at := v.rng.Uint64N(sum)
		i := 0
		for ends[i] <= at {
			i++
		}
		return values[i](v)
	}, nil
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isAlnum(c byte) bool {
	return isDigit(c) || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// nameLength returns the length of the name that a text begins with.
func nameLength(s string) int {
	n := 0
	for n < len(s) && (isAlnum(s[n]) || s[n] == '_') && (n > 0 || s[n] > '9') {
		n++
	}
	return n
}

func isName(s string) bool { return s != "" && len(s) < 100 && nameLength(s) == len(s) && s[0] != '_' }
