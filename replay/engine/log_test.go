package engine

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Entries come back as they were, from memory and from the file.
func TestLogEntries(t *testing.T) {
	for _, memory := range []int64{1 << 20, 8 * EntrySize, 0} {
		logs, err := newLogs([]int64{5, 0, 40}, memory)
		require.NoError(t, err)
		for n := range logs {
			l := &logs[n]
			for i := range []int64{5, 0, 40}[n] {
				if l.full() {
					require.NoError(t, l.spill())
				}
				l.entries = append(l.entries, Entry{i, int64(n), i * i, -i})
			}
		}
		for n := range logs {
			l := &logs[n]
			for i := int64(0); i < l.Len(); {
				var batch [3]Entry
				got, err := l.Read(i, batch[:])
				require.NoError(t, err)
				require.Positive(t, got)
				for _, e := range batch[:got] {
					require.Equal(t, Entry{i, int64(n), i * i, -i}, e)
					i++
				}
			}
		}
		if memory == 1<<20 {
			require.Error(t, logs[0].spill(), "more events than announced")
		}
	}
}
