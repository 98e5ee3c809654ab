package importer

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
)

// counted is a format of one's own whose lines are lengths of reads.
func counted(closed *int) Format {
	return Format{
		Name: "counted",
		Is:   func(head []byte) bool { return bytes.HasPrefix(head, []byte("counted")) },
		Open: func(r io.Reader, name string) (format.Reader, error) {
			parse := func(queue []format.Event, line []byte) ([]format.Event, error) {
				if strings.HasPrefix(string(line), "counted") {
					return queue, nil
				}
				n, ok := number(line)
				if !ok {
					return queue, errors.New("no number")
				}
				return append(queue, format.Event{Op: format.OpRead, Ret: n}), nil
			}
			return closing{NewLines(r, name, &format.Header{}, parse), closed}, nil
		},
	}
}

type closing struct {
	format.Reader
	closed *int
}

func (c closing) Close() error { *c.closed++; return nil }

func TestFormats(t *testing.T) {
	var closed int
	formats := []Format{{Name: "nothing", Is: func([]byte) bool { return false }}, counted(&closed)}
	r, err := Inspect([]File{text("a", "counted\n10\n20\nx\n")}, Options{Formats: formats})
	require.NoError(t, err)
	require.Equal(t, Other, r.Kind)
	require.Equal(t, "counted", r.Format.Name)
	for pass := 1; pass <= 2; pass++ {
		rd, err := r.Open()
		require.NoError(t, err)
		events := make([]format.Event, 8)
		n, err := rd.Read(events)
		require.NoError(t, err)
		require.Equal(t, []format.Event{{Op: format.OpRead, Line: 2, Ret: 10}, {Op: format.OpRead, Line: 3, Ret: 20}}, events[:n])
		_, err = rd.Read(events)
		require.EqualError(t, err, "a:4: no number")
		require.NoError(t, rd.Close())
		require.Equal(t, pass, closed)
	}
}
