package replay

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLock(t *testing.T) {
	const each, many = 1000, 8
	var (
		l     spinLock
		n     int
		group sync.WaitGroup
	)
	for range many {
		group.Go(func() {
			for range each {
				l.take()
				n++
				l.give()
			}
		})
	}
	group.Wait()
	require.Equal(t, each*many, n)
}
