package profile

import (
	"bytes"
	"encoding/json"
	"strconv"

	"pianola/format"
)

// MarshalJSON writes an array with an object for each row. Unknown values are left out.
// Names are those of format.AppendName.
func (t *Table) MarshalJSON() ([]byte, error) {
	b := []byte{'['}
	for i, row := range t.rows {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '{')
		for k := range row {
			if !row[k].known {
				continue
			}
			if b[len(b)-1] != '{' {
				b = append(b, ',')
			}
			b = append(strconv.AppendQuote(b, t.columns[k].name), ':')
			b = t.columns[k].kind.appendJSON(b, &row[k])
		}
		b = append(b, '}')
	}
	return append(b, ']'), nil
}

func (k kind) appendJSON(b []byte, v *value) []byte {
	switch k {
	case number:
		return strconv.AppendInt(b, v.n, 10)
	case duration, latencies:
		return appendSeconds(b, v.n)
	case share:
		return strconv.AppendFloat(b, v.f, 'f', 6, 64)
	case frequents:
		b = append(b, '[')
		for i, f := range v.list {
			if i > 0 {
				b = append(b, ',')
			}
			b = strconv.AppendInt(append(b, `{"value":`...), f.Value, 10)
			b = append(strconv.AppendInt(append(b, `,"calls":`...), f.Calls, 10), '}')
		}
		return append(b, ']')
	case nameList:
		b = append(b, '[')
		for i, name := range v.names {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendString(b, name)
		}
		return append(b, ']')
	case causes:
		b = append(b, '[')
		for i := range v.calls {
			if i > 0 {
				b = append(b, ',')
			}
			c := &v.calls[i]
			b = appendString(append(b, `{"name":`...), c.Op.String())
			b = strconv.AppendInt(append(b, `,"calls":`...), c.Calls, 10)
			b = strconv.AppendInt(append(b, `,"errors":`...), c.Errors, 10)
			b = strconv.AppendInt(append(b, `,"bytes":`...), c.Bytes, 10)
			b = append(appendSeconds(append(b, `,"seconds":`...), c.Nanos), '}')
		}
		return append(b, ']')
	}
	return appendString(b, v.s)
}

// appendSeconds appends a time without zeros at its end: most times of a table are 0.
func appendSeconds(b []byte, nanos int64) []byte {
	return strconv.AppendFloat(b, format.Seconds(nanos), 'f', -1, 64)
}

func appendString(b []byte, name string) []byte {
	text, err := json.Marshal(format.Name(name))
	if err != nil {
		panic("internal error: " + err.Error()) // a string can always be written
	}
	return append(b, bytes.TrimSpace(text)...)
}
