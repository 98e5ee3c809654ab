package importer

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
)

func BenchmarkRead(b *testing.B) {
	const lines = 100_000
	for _, s := range []struct{ name, head, line string }{
		{"fio", "fio version 3 iolog\n0 a open\n", "1234567 a read 1234944 4096\n"},
		{"iozone", "", "1234944 4096 20\n"},
		{"ioprof", "Time:1:2:3\nTpS:2000000000\nPID:5\n", "read:14067122678:14067125678:4096:0:7\n"},
		{"strace", "", "4711 1712345678.123456 pread64(7, \"\\1\\2\\3\\4\"..., 4096, 1234944) = 4096 <0.000012>\n"},
	} {
		b.Run(s.name, func(b *testing.B) {
			rec, err := Inspect([]File{text(s.name, s.head+strings.Repeat(s.line, lines))}, Options{})
			require.NoError(b, err)
			batch := make([]format.Event, 512)
			b.ReportAllocs()
			for b.Loop() {
				r, err := rec.Open()
				require.NoError(b, err)
				for err == nil {
					_, err = r.Read(batch)
				}
				require.Equal(b, io.EOF, err)
				r.Close()
			}
			b.ReportMetric(lines*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mlines/s")
		})
	}
}
