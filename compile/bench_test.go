package compile_test

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/compile"
	"pianola/format/bin"
	"pianola/format/script"
	"pianola/internal/testkit"
)

// database is a script as a database makes it: reads and writes of pages, and a
// few opens, syncs and closes. The threads of its process share descriptors.
func database(lines, threads int) []byte {
	var b bytes.Buffer
	b.WriteString("# pianola script 1\n# cost: inside=-40 outside=320\n# cwd: \"/srv\"\n")
	for i := range threads - 1 {
		fmt.Fprintf(&b, "4711 0.000011000 clone(CLONE_VM|CLONE_FS|CLONE_FILES|CLONE_SIGHAND|CLONE_THREAD) = %d <0.000009000>\n", 4712+i)
	}
	seed := uint64(1)
	for i := range lines {
		tid := 4711
		if i%1000 != 0 && i%1000 != 999 {
			tid += int(seed>>30) % threads
		}
		seed = seed*6364136223846793005 + 1442695040888963407
		page := seed >> 40 % 20000
		switch {
		case i%1000 == 0:
			fmt.Fprintf(&b, "4711 0.000011000 openat(AT_FDCWD, \"db%d\", O_RDWR|O_CREAT|O_CLOEXEC, 0644) = 3 <0.000004000> {type=reg mode=0644 size=81920000 cached=0 dev=254:0 ino=77 nlink=1}\n", i/1000%10)
		case i%1000 == 999:
			b.WriteString("4711 0.000011000 close(3) = 0 <0.000001000>\n")
		case i%100 == 50:
			fmt.Fprintf(&b, "%d 0.000011000 fdatasync(3) = 0 <0.000%06d>\n", tid, page*10)
		case seed>>20&1 == 0:
			fmt.Fprintf(&b, "%d 0.00000%04d pread64(3, 0x55d0c1b%05x, 4096, %d) = 4096 <0.00000%04d>\n", tid, page%9000+1000, page&^0xff, page*4096, page%700+500)
		default:
			fmt.Fprintf(&b, "%d 0.00000%04d pwrite64(3, 0x55d0c1b%05x, 4096, %d) = 4096 <0.00000%04d>\n", tid, page%9000+1000, page&^0xff, page*4096, page%700+1500)
		}
	}
	return b.Bytes()
}

// BenchmarkCompile compiles 1 Mi lines to a trace.
func BenchmarkCompile(b *testing.B) {
	const lines = 1 << 20
	for _, threads := range []int{1, 4} {
		b.Run(fmt.Sprintf("threads=%d", threads), func(b *testing.B) {
			input := database(lines, threads)
			b.SetBytes(int64(len(input)))
			for b.Loop() {
				_, err := compile.Compile(script.NewReader(bytes.NewReader(input), "bench"), new(testkit.Spool), bin.NewWriter(io.Discard, new(testkit.Spool)), compile.Options{Compensate: true})
				require.NoError(b, err)
			}
			b.ReportMetric(lines*float64(b.N)/b.Elapsed().Seconds(), "lines/s")
		})
	}
}
