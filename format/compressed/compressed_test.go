package compressed

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
)

// text is lines that are like a script's, some 300 KB.
var text = func() string {
	var b strings.Builder
	for i := range 4000 {
		fmt.Fprintf(&b, "4711 0.%09d pread64(3, 0x%x, 4096, %d) = 4096 <0.000001%03d>\n", i*7919%100000, i*31, i*4096, i%1000)
	}
	return b.String()
}()

func pack(t testing.TB, parts ...string) []byte {
	var out bytes.Buffer
	w := NewWriter(&out)
	for _, p := range parts {
		_, err := w.Write([]byte(p))
		require.NoError(t, err)
		require.NoError(t, w.Flush())
	}
	require.NoError(t, w.Close())
	return out.Bytes()
}

func zip(t testing.TB, s string) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := w.Write([]byte(s))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return out.Bytes()
}

func unpack(data []byte) (string, error) {
	r := NewReader(bytes.NewReader(data))
	defer r.Close()
	out, err := io.ReadAll(r)
	return string(out), err
}

func TestReader(t *testing.T) {
	two := append(pack(t, "a\n"), pack(t, "b\n")...)
	tests := []struct {
		name   string
		data   []byte
		want   string
		packed bool
	}{
		{"zstd", pack(t, text), text, true},
		{"flushed", pack(t, text[:1000], text[1000:1001], "", text[1001:]), text, true},
		{"nothing, packed", pack(t), "", true},
		{"two frames", two, "a\nb\n", true},
		{"gzip", zip(t, text), text, true},
		{"text", []byte(text), text, false},
		{"short", []byte("#"), "#", false},
		{"empty", nil, "", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			require.Equal(t, test.packed, Is(test.data[:min(4, len(test.data))]))
			got, err := unpack(test.data)
			require.NoError(t, err)
			require.Equal(t, test.want, got)
			r := NewReader(iotest.OneByteReader(bytes.NewReader(test.data)))
			require.NoError(t, iotest.TestReader(r, []byte(test.want)))
			require.NoError(t, r.Close())
			require.NoError(t, r.Close(), "closing twice")
			_, err = r.Read(make([]byte, 1))
			require.Error(t, err)
		})
	}
	require.Less(t, len(pack(t, text)), len(text)/4)
}

// TestTruncated cuts at many places: what was flushed before the cut is read.
func TestTruncated(t *testing.T) {
	var out bytes.Buffer
	w := NewWriter(&out)
	type mark struct{ packed, plain int }
	var flushed []mark
	for at := 0; at < len(text); at += 20_000 {
		_, err := io.WriteString(w, text[at:min(at+20_000, len(text))])
		require.NoError(t, err)
		require.NoError(t, w.Flush())
		flushed = append(flushed, mark{out.Len(), min(at+20_000, len(text))})
	}
	require.NoError(t, w.Close())
	data := out.Bytes()
	for cut := len(zstdMagic); cut < len(data); cut += 97 {
		got, err := unpack(data[:cut])
		require.ErrorIs(t, err, ErrTruncated, "cut at %d", cut)
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		require.True(t, strings.HasPrefix(text, got), "cut at %d", cut)
		for _, m := range flushed {
			if m.packed <= cut {
				require.GreaterOrEqual(t, len(got), m.plain, "cut at %d", cut)
			}
		}
	}
	zipped := zip(t, text)
	got, err := unpack(zipped[:len(zipped)/2])
	require.ErrorIs(t, err, ErrTruncated)
	require.NotEmpty(t, got)
	require.True(t, strings.HasPrefix(text, got))
}

func TestLimit(t *testing.T) {
	long := strings.Repeat("\n", 3<<20)
	for _, c := range []struct {
		data    []byte
		limit   int64
		refused bool
	}{{pack(t, long), 1 << 20, true}, {pack(t, long), 3 << 20, false}, {pack(t, long), 0, false}, {[]byte(long), 1 << 20, false}} {
		r := NewReader(bytes.NewReader(c.data))
		r.Limit = c.limit
		n, err := io.Copy(io.Discard, r)
		r.Close()
		if !c.refused {
			require.NoError(t, err)
			require.EqualValues(t, len(long), n)
			continue
		}
		require.ErrorIs(t, err, ErrLimit)
		require.EqualError(t, err, "decompressed data exceed the limit: 1 MiB")
		require.Less(t, n, int64(len(long)))
	}
}

func TestDamaged(t *testing.T) {
	var wide bytes.Buffer
	w, err := zstd.NewWriter(&wide, zstd.WithWindowSize(64<<20))
	require.NoError(t, err)
	_, err = io.WriteString(w, text)
	require.NoError(t, err)
	require.NoError(t, w.Flush())
	require.NoError(t, w.Close())
	sum := pack(t, text)
	sum[len(sum)-1]++
	tests := []struct {
		name, message string
		data          []byte
	}{
		{"checksum", "compressed data are damaged: ", sum},
		{"after the end", "compressed data are damaged: ", append(pack(t, "a\n"), "garbage"...)},
		{"window", "the compression window is 64 MiB, the limit is 8 MiB: decompress the file with zstd -d --long=31 first", wide.Bytes()},
		{"window of a later frame", "decompression needs more than 8 MiB of memory", append(pack(t, text), wide.Bytes()...)},
		{"gzip", "compressed data are damaged: ", append([]byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3}, bytes.Repeat([]byte{0xff}, 40)...)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := unpack(test.data)
			require.ErrorContains(t, err, test.message)
			require.NotErrorIs(t, err, ErrTruncated)
		})
	}
	failed := errors.New("disk broken")
	r := NewReader(iotest.ErrReader(failed))
	defer r.Close()
	_, err = r.Read(make([]byte, 1))
	require.ErrorIs(t, err, failed)
}

type full struct{}

var errFull = errors.New("disk full")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestWriterErrors(t *testing.T) {
	w := NewWriter(full{})
	_, err := io.WriteString(w, "a")
	require.NoError(t, err)
	require.ErrorIs(t, w.Flush(), errFull)
	require.ErrorIs(t, w.Flush(), errFull)
	require.ErrorIs(t, w.Close(), errFull)
}

func FuzzReader(f *testing.F) {
	f.Add(pack(f, "a\n", "b\n"))
	f.Add(zip(f, "a\n"))
	f.Add([]byte("# pianola script 1\n"))
	f.Add(pack(f, text)[:500])
	f.Fuzz(func(t *testing.T, data []byte) {
		r := NewReader(bytes.NewReader(data))
		defer r.Close()
		// Little data can be unpacked to very much.
		_, _ = io.Copy(io.Discard, io.LimitReader(r, 1<<20))
	})
}
