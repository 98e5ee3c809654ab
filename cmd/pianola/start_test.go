package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/format/script"
	"pianola/internal/testkit"
)

// The start of a recording is the time 0 of its events, so that compile can set recordings side by side
// that were made at the same time.
func TestStartIsTimeZero(t *testing.T) {
	t.Parallel()
	withTracers(t, func(t *testing.T, tracer string) {
		dir := openDir(t)
		said, err := play(dir, 0, "record", "-q", "--tracer", tracer, "-o", "t.txt", "--", "date", "+%s%N")
		require.NoError(t, err, said)
		date, err := strconv.ParseInt(strings.TrimSpace(said), 10, 64)
		require.NoError(t, err)
		f, err := os.Open(filepath.Join(dir, "t.txt"))
		require.NoError(t, err)
		defer f.Close()
		r := script.NewReader(f, "t.txt")
		events, err := testkit.ReadAll(r, 100)
		require.NoError(t, err)
		text, _ := r.Header().Value(format.MetaStart)
		start, err := time.Parse(time.RFC3339Nano, text)
		require.NoError(t, err)
		written := int64(-1)
		for _, e := range events {
			if e.Op == format.OpWrite {
				written = e.Start
			}
		}
		require.GreaterOrEqual(t, written, int64(0))
		require.LessOrEqual(t, start.UnixNano(), date)
		require.GreaterOrEqual(t, start.UnixNano()+written, date)
	})
}
