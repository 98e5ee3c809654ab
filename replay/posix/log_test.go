package posix

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestRegion(t *testing.T) {
	m, err := newRegion(3 * pageSize)
	require.NoError(t, err)
	defer m.free()
	require.Len(t, m, 2*pageSize)
	base := m.at(0, 0)
	for _, test := range []struct{ place, size, want uint64 }{
		{0, 2 * pageSize, 0}, {100, 10, 100}, {2*pageSize + 7, 10, 7}, {pageSize + 5, pageSize, 5}, {pageSize - 1, 2 * pageSize, 0},
		{1<<64 - 1, 1, 2*pageSize - 1}, {1<<64 - 1, 2, pageSize - 1},
	} {
		got := m.at(test.place, test.size)
		require.EqualValues(t, test.want, got-base, "%+v", test)
	}
	var iov [maxSegments]unix.Iovec
	require.True(t, m.segments(&iov, 0, 10, 3))
	require.Equal(t, []uint64{3, 3, 4}, []uint64{iov[0].Len, iov[1].Len, iov[2].Len})
	require.False(t, m.segments(&iov, 0, 1<<20, 3), "a segment larger than the region")
	require.True(t, m.segments(&iov, 0, 0, 0))
}
