package export

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/internal/testkit"
)

// unescape undoes format.AppendName.
func unescape(text string) ([]byte, error) {
	var name []byte
	digit := func(c byte) byte {
		if c >= 'a' {
			return c - 'a' + 10
		}
		return c - '0'
	}
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] != '\\':
			name = append(name, text[i])
		case i+1 < len(text) && text[i+1] == '\\':
			name = append(name, '\\')
			i++
		case i+3 < len(text) && text[i+1] == 'x':
			name = append(name, digit(text[i+2])<<4|digit(text[i+3]))
			i += 3
		default:
			return nil, errors.New("a single backslash")
		}
	}
	return name, nil
}

// FuzzNames holds that any name survives in JSON and CSV, without the mark that
// paths of a trace can have.
func FuzzNames(f *testing.F) {
	for _, name := range []string{"", "a", "a,b", `a"b`, "a\nb\r\n", `a\b`, `\xff`, "\xff", "a\xc3", "ö€😀", "\xed\xa0\x80", "\x00\x01\x7f", "'", "\u2028", "\ufeff", "//", "a//b"} {
		f.Add([]byte(name))
	}
	f.Fuzz(func(t *testing.T, name []byte) {
		text := format.AppendName(nil, name)
		require.True(t, utf8.Valid(text))
		back, err := unescape(string(text))
		require.NoError(t, err)
		require.Equal(t, string(name), string(back))

		h := &format.Header{Threads: []format.Thread{{Process: 1}}}
		events := []format.Event{{Op: format.OpUnlink, TID: 1, Str: [2][]byte{append([]byte{}, name...)}}}
		text = format.AppendName(nil, unmarked(name))
		dec := json.NewDecoder(bytes.NewReader(exported(t, "json", h, events)))
		require.NoError(t, dec.Decode(&struct{}{}))
		var line struct{ Path string }
		require.NoError(t, dec.Decode(&line))
		require.Equal(t, string(text), line.Path)

		// encoding/csv takes the CR before a newline away, even in quotes.
		rows, err := csv.NewReader(bytes.NewReader(exported(t, "csv", h, events))).ReadAll()
		require.NoError(t, err)
		require.Len(t, rows, 2)
		require.Equal(t, string(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))), rows[1][colPath])
	})
}

// The columns of CSV and JSON hold the same.
func TestJSONAndCSVAgree(t *testing.T) {
	h, events := sample(t)
	rows, err := csv.NewReader(bytes.NewReader(exported(t, "csv", h, events))).ReadAll()
	require.NoError(t, err)
	for k, name := range rows[0] {
		require.Equal(t, columns[k].name, name)
	}
	dec := json.NewDecoder(bytes.NewReader(exported(t, "json", h, events)))
	dec.UseNumber()
	var header struct {
		Command string
		Files   []struct{ Path string }
	}
	require.NoError(t, dec.Decode(&header))
	require.Equal(t, `sh -c 'make "all"'`, header.Command)
	require.Len(t, header.Files, len(h.Files))
	for i := range events {
		var object map[string]any
		require.NoError(t, dec.Decode(&object))
		for k, column := range columns {
			switch v := object[column.name].(type) {
			case nil:
				require.Empty(t, rows[i+1][k])
			case json.Number:
				require.Equal(t, rows[i+1][k], v.String())
			case []any: // edges
				var edges []string
				for _, one := range v {
					edges = append(edges, edgeText(one.(map[string]any)))
				}
				require.Equal(t, rows[i+1][k], strings.Join(edges, " "))
			default:
				require.Equal(t, rows[i+1][k], v)
			}
		}
	}
	require.ErrorIs(t, dec.Decode(&struct{}{}), io.EOF)
}

// edgeText returns the text of an edge in JSON.
func edgeText(edge map[string]any) string {
	text := fmt.Sprintf("%v:%v", edge["thread"], edge["index"])
	if delay, ok := edge["delay"]; ok {
		text += fmt.Sprintf("+%v", delay)
	}
	if kind := edge["kind"]; kind != "order" {
		text += fmt.Sprintf(":%v", kind)
	}
	return text
}

// A Parquet file holds what the CSV holds, and the remarks.
func TestParquet(t *testing.T) {
	h, events := sample(t)
	text := exported(t, "parquet", h, events)
	rows, err := csv.NewReader(bytes.NewReader(exported(t, "csv", h, events))).ReadAll()
	require.NoError(t, err)
	file, err := parquet.OpenFile(bytes.NewReader(text), int64(len(text)))
	require.NoError(t, err)
	command, ok := file.Lookup("pianola.command")
	require.True(t, ok)
	require.Equal(t, `sh -c 'make "all"'`, command)
	require.EqualValues(t, len(events), file.NumRows())

	var names []string
	for _, column := range file.Root().Columns() {
		names = append(names, column.Name())
		require.Equal(t, "ZSTD", column.Compression().String())
	}
	require.Equal(t, []string{"thread", "process", "index", "op", "class", "start_nanos", "duration_nanos", "compute_nanos", "off_cpu_nanos",
		"ready_nanos", "own_nanos", "wait_nanos", "timer_nanos", "storage_nanos", "held_nanos", "result",
		"error", "fd", "path", "path2", "offset", "size", "flags", "mode", "after", "waker", "woken_nanos", "ring", "batch", "reaped", "how", "root_path", "root_path2",
		"time", "bytes", "host"}, slices.Delete(names, colRootPath2+1, len(columns)), "and columns of newer fields")
	r := parquet.NewReader(file)
	defer r.Close()
	got := make([]parquet.Row, 1)
	for i := range events {
		n, err := r.ReadRows(got)
		require.Equal(t, 1, n, "%v", err)
		for k, v := range got[0][:len(columns)] {
			want := rows[i+1][k]
			switch {
			case v.IsNull():
				require.Empty(t, want)
			case columns[k].says == seconds:
				require.Equal(t, want, string(format.AppendSeconds(nil, v.Int64())))
			default:
				require.Equal(t, want, v.String())
			}
		}
	}
}

// The page of the reference has the columns of the table.
func TestPageOfColumns(t *testing.T) {
	rows := [][]string{{"column", "value", "meaning"}}
	for _, c := range append(slices.Clone(columns), onlyParquet...) {
		require.NotEmpty(t, c.doc, c.name)
		value := map[kind]string{number: "number", seconds: "seconds", word: "words", name: "name"}[c.says]
		if c.says == null {
			value = map[columnKind]string{ofInt64: "number", ofText: "name", ofTime: "time"}[c.kind]
		}
		rows = append(rows, []string{"`" + c.name + "`", value, c.doc})
	}
	testkit.Table(t, "../../docs/reference/exports.md", "## JSON, CSV and Parquet", rows)
}
