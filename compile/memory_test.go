package compile_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/compile"
	"pianola/format"
)

const page = 4096

// A buffer lies in the place of the memory that holds it.
func TestBuffersInMappings(t *testing.T) {
	got, _ := compiled(t, `# pianola script 1
1 0.000010000 mmap(NULL, 65536, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0) = 0x7f0000100000 <0.000001000>
1 0.000010000 openat(AT_FDCWD, "/in", O_RDONLY) = 3 <0.000001000> {type=reg mode=0644 size=100000 cached=1}
1 0.000010000 read(3, 0x7f0000108000, 4096) = 4096 <0.000001000>
1 0.000010000 read(3, 0x100000, 4096) = 4096 <0.000001000>
1 0.000010000 munmap(0x7f0000100000, 65536) = 0 <0.000001000>
`, compile.Options{})
	e := got.events
	require.Equal(t, int64(2*page), e[0].Ret, "behind the free page and the other buffer")
	require.Equal(t, e[0].Ret+0x8000, e[2].Args[1])
	require.Equal(t, int64(page), e[3].Args[1])
	require.Equal(t, e[0].Ret, e[4].Args[0])
}

// Memory in which a process can't hold pages of its own, or too much of it, is
// not laid out, and neither is what follows from it.
func TestMappingsNotLaidOut(t *testing.T) {
	for name, call := range map[string]string{
		"reservation": `mmap(NULL, 65536, PROT_NONE, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0)`,
		"no reserve":  `mmap(NULL, 65536, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_ANONYMOUS|MAP_NORESERVE, -1, 0)`,
		"huge":        `mmap(NULL, 17179869185, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0)`,
		"impossible":  `mmap(NULL, 9223372036854775807, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0)`,
	} {
		t.Run(name, func(t *testing.T) {
			got, _ := compiled(t, `# pianola script 1
1 0.000010000 openat(AT_FDCWD, "/in", O_RDWR) = 3 <0.000001000> {type=reg mode=0644 size=100000 cached=1}
1 0.000010000 `+call+` = 0x7f0000100000 <0.000001000>
1 0.000010000 read(3, 0x7f0000108000, 4096) = 4096 <0.000001000>
1 0.000010000 munmap(0x7f0000100000, 65536) = 0 <0.000001000>
`, compile.Options{})
			e := got.events
			require.Equal(t, format.OpMmap, e[1].Op)
			require.Zero(t, e[1].Ret)
			require.Equal(t, int64(page), e[2].Args[1])
			require.Zero(t, e[3].Args[0])
		})
	}
}

// The mappings of one process are bounded together; those that come and go at
// one address count once.
func TestMappingsBounded(t *testing.T) {
	const sixteen = 16 << 30
	var b strings.Builder
	b.WriteString("# pianola script 1\n")
	mmap := func(addr string) {
		b.WriteString("1 0.000010000 mmap(NULL, 17179869184, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0) = " + addr + " <0.000001000>\n")
	}
	for _, addr := range []string{"0x10000000000", "0x20000000000", "0x20000000000", "0x20000000000", "0x30000000000", "0x40000000000", "0x50000000000"} {
		mmap(addr)
	}
	got, _ := compiled(t, b.String(), compile.Options{})
	var places []int64
	for _, e := range got.events {
		places = append(places, e.Ret)
	}
	second := int64(page + sixteen)
	require.Equal(t, []int64{page, second, second, second, second + sixteen, second + 2*sixteen, 0}, places)
}

// Where addresses are left out, memory calls have none.
func TestMemoryBare(t *testing.T) {
	got, _ := compiled(t, `# pianola script 1
1 0.000010000 brk(NULL) = 0x10000 <0.000001000>
1 0.000010000 brk(0x31000) = 0x31000 <0.000001000>
1 0.000010000 mmap(NULL, 65536, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0) = 0x7f0000100000 <0.000001000>
1 0.000010000 munmap(0x7f0000100000, 65536) = -1 EINVAL (Invalid argument) <0.000001000>
`, compile.Options{Bare: true})
	for _, e := range got.events {
		require.Zero(t, e.Args[0])
	}
	require.Zero(t, got.events[2].Ret)
	require.Equal(t, int64(-22), got.events[3].Ret)
}
