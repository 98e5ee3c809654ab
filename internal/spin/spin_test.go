package spin

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLock(t *testing.T) {
	const each, many = 1000, 8
	var (
		l     Lock
		n     int
		group sync.WaitGroup
	)
	for range many {
		group.Go(func() {
			for range each {
				l.Take()
				n++
				l.Give()
			}
		})
	}
	group.Wait()
	require.Equal(t, each*many, n)
}
