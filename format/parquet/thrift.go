package parquet

import "encoding/binary"

// The types of fields and elements in Thrift's compact protocol.
const (
	typeTrue   = 1
	typeFalse  = 2
	typeI32    = 5
	typeI64    = 6
	typeBinary = 8
	typeList   = 9
	typeStruct = 12
)

// thrift appends values in Thrift's compact protocol. A struct is its fields, with
// increasing numbers, and a 0.
type thrift struct {
	b    []byte
	last []int // the number of the last field of each open struct, the outermost first
}

func (t *thrift) begin() { t.last = append(t.last, 0) }

func (t *thrift) end() {
	t.b = append(t.b, 0)
	t.last = t.last[:len(t.last)-1]
}

// field begins a field.
func (t *thrift) field(number int, kind byte) {
	last := &t.last[len(t.last)-1]
	t.b = append(t.b, byte(number-*last)<<4|kind) // no field is more than 15 after the last
	*last = number
}

func (t *thrift) int(number int, kind byte, v int64) {
	t.field(number, kind)
	t.b = binary.AppendVarint(t.b, v)
}

func (t *thrift) i32(number int, v int) { t.int(number, typeI32, int64(v)) }

func (t *thrift) bool(number int, v bool) {
	if v {
		t.field(number, typeTrue)
	} else {
		t.field(number, typeFalse)
	}
}

func (t *thrift) i64(number int, v int64) { t.int(number, typeI64, v) }

func (t *thrift) text(number int, v string) {
	t.field(number, typeBinary)
	t.element(v)
}

// element appends an element of a list of texts.
func (t *thrift) element(v string) {
	t.b = append(binary.AppendUvarint(t.b, uint64(len(v))), v...)
}

// list begins a list, whose elements follow.
func (t *thrift) list(number int, kind byte, length int) {
	t.field(number, typeList)
	if length < 15 {
		t.b = append(t.b, byte(length)<<4|kind)
		return
	}
	t.b = binary.AppendUvarint(append(t.b, 15<<4|kind), uint64(length))
}

// inside begins a struct in a field.
func (t *thrift) inside(number int) {
	t.field(number, typeStruct)
	t.begin()
}
