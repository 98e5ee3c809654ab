package posix

import (
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/replay/engine"
)

// The table of a process goes to another one when its last thread has emptied it, even
// where a thread that ended before leaves its slot between.
func TestTableIsEmptied(t *testing.T) {
	e := bare(Options{Limits: defaults})
	p := &process{}
	p.own.Store(&table{})
	p.threads.Store(2)
	first, last := &worker{Worker: &engine.Worker{}, e: e, process: p}, &worker{Worker: &engine.Worker{}, e: e, process: p}
	first.End()
	first.Recycle()
	require.Empty(t, e.spares.tables)
	last.End()
	last.Recycle()
	require.Len(t, e.spares.tables, 1)
}

// Memory that a process has left has nothing of it.
func TestMemoryIsForgotten(t *testing.T) {
	e := bare(Options{Limits: defaults})
	defer e.Free()
	m, err := e.newMemory(1 << 20)
	require.NoError(t, err)
	m.arena[5*pageSize] = 1
	m.touched.mark(5, 5)
	require.True(t, m.reset())
	require.Equal(t, make([]bool, 8), resident(t, m.arena, 8))
	_, any := m.touched.mark(0, 7)
	require.False(t, any)
}
