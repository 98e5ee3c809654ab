package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
)

// workshop has what both builds use: inputs, and programs that make calls. The tree's
// Pianola records: notes that an older one doesn't know change nothing for it.
type workshop struct {
	tree *build
	dir  string
}

// inputs are the files that measures read, by name.
var inputs = map[string]func(ctx context.Context, w *workshop, path string) error{
	"reads.txt":    written(func(w io.Writer) { writeReads(w, 1_000_000) }),
	"database.txt": written(func(w io.Writer) { writeDatabase(w, 500_000) }),
	"threads.txt":  written(func(w io.Writer) { writeThreads(w, 500_000) }),
	"cached.txt":   written(writeCached),
	"paced.txt":    written(writePaced),
	"demo.txt":     recorded("sqlite3", "app.db", ".read demo.sql"),
	"forks.txt":    recorded("sh", "-c", forking(1000)),
	"requests.txt": recorded("fio", "--name=a", "--filename=a.dat", "--size=16m", "--rw=randread", "--bs=4k", "--ioengine=io_uring", "--iodepth=32",
		"--io_size=400m", "--norandommap", "--invalidate=0", "--thread", "--output=fio.out"),
}

// programs builds the programs that make calls.
func (w *workshop) programs(ctx context.Context) error {
	for _, command := range [][]string{
		{"go", "build", "-o", filepath.Join(w.dir, "load"), "./scripts/load"},
		{"gcc", "-O1", "-o", filepath.Join(w.dir, "calls"), "scripts/load/calls.c"},
	} {
		if _, _, err := process(ctx, w.tree.source, command); err != nil {
			return err
		}
	}
	return nil
}

// prepare makes what a measure needs for a build.
func (w *workshop) prepare(ctx context.Context, m *measure, b *build) error {
	if m.input != "" {
		path := filepath.Join(w.dir, m.input)
		if _, err := os.Stat(path); err != nil {
			if err := inputs[m.input](ctx, w, path); err != nil {
				return err
			}
		}
		// Each build has the file in its own directory.
		if err := os.Link(path, filepath.Join(b.dir, m.input)); err != nil && !os.IsExist(err) {
			return err
		}
	}
	if m.once == nil {
		return nil
	}
	_, _, err := b.run(ctx, m.once...)
	return err
}

// forking is a program of the shell with so many children.
func forking(n int) string {
	return "i=0; while [ $i -lt " + strconv.Itoa(n) + " ]; do /bin/true; i=$((i+1)); done"
}

func written(fill func(io.Writer)) func(context.Context, *workshop, string) error {
	return func(_ context.Context, _ *workshop, path string) error { return write(path, fill) }
}

func recorded(command ...string) func(context.Context, *workshop, string) error {
	return func(ctx context.Context, w *workshop, path string) error {
		dir, err := os.MkdirTemp(w.dir, "recorded")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		statements, err := os.ReadFile(filepath.Join(w.tree.source, "scripts", "demo.sql"))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, "demo.sql"), statements, 0o644); err != nil {
			return err
		}
		_, _, err = process(ctx, dir, append([]string{w.tree.pianola, "record", "-o", path, "--"}, command...))
		return err
	}
}

// writeReads writes a recording of random reads of one file from the page cache.
func writeReads(w io.Writer, n int) {
	fmt.Fprintf(w, "# pianola script 1\n# cwd: \"/srv\"\n")
	fmt.Fprintf(w, "1000 0.000021000 openat(AT_FDCWD, \"db\", O_RDWR|O_CLOEXEC) = 3 <0.000004000> {type=reg mode=0644 size=16384000 cached=0}\n")
	rnd := rand.New(rand.NewPCG(1, 1))
	for range n {
		fmt.Fprintf(w, "1000 0.000021000 pread64(3, 0x7f0000001000, 4096, %d) = 4096 <0.000001000>\n", rnd.IntN(4000)*4096)
	}
}

// writeDatabase writes a recording of one thread as a database makes it: pages read and
// written, some syncs, files opened again.
func writeDatabase(w io.Writer, n int) {
	fmt.Fprintf(w, "# pianola script 1\n# cwd: \"/srv\"\n")
	rnd := rand.New(rand.NewPCG(2, 2))
	for i := range n {
		page := rnd.IntN(20000)
		switch {
		case i%1000 == 0:
			fmt.Fprintf(w, "4711 0.000011000 openat(AT_FDCWD, \"db%d\", O_RDWR|O_CREAT|O_CLOEXEC, 0644) = 3 <0.000004000> {type=reg mode=0644 size=81920000 cached=0}\n", i/1000%10)
		case i%1000 == 999:
			fmt.Fprintf(w, "4711 0.000011000 close(3) = 0 <0.000001000>\n")
		case i%100 == 50:
			fmt.Fprintf(w, "4711 0.000011000 fdatasync(3) = 0 <0.000%06d>\n", page*10)
		case rnd.IntN(7) < 4:
			fmt.Fprintf(w, "4711 0.00000%04d pread64(3, 0x55d0c1b%05x, 4096, %d) = 4096 <0.00000%04d>\n", page%9000+1000, page*16, page*4096, page%700+500)
		default:
			fmt.Fprintf(w, "4711 0.00000%04d pwrite64(3, 0x55d0c1b%05x, 4096, %d) = 4096 <0.00000%04d>\n", page%9000+1000, page*16, page*4096, page%700+1500)
		}
	}
}

// writeThreads writes a recording of eight threads of a process, which read and write
// the same file, so that their calls need order.
func writeThreads(w io.Writer, n int) {
	fmt.Fprintf(w, "# pianola script 1\n# cwd: \"/srv\"\n")
	fmt.Fprintf(w, "1000 0.000010000 openat(AT_FDCWD, \"db\", O_RDWR|O_CLOEXEC) = 3 <0.000004000> {type=reg mode=0644 size=40960000 cached=10000}\n")
	const threads = 8
	for i := 1; i < threads; i++ {
		fmt.Fprintf(w, "1000 0.000010000 clone(child_stack=0x7f0000000000, flags=CLONE_VM|CLONE_FS|CLONE_FILES|CLONE_SIGHAND|CLONE_THREAD|CLONE_SYSVSEM) = %d <0.000004000>\n", 1000+i)
	}
	rnd := rand.New(rand.NewPCG(3, 3))
	for range n {
		call := "pread64"
		if rnd.IntN(4) == 0 {
			call = "pwrite64"
		}
		fmt.Fprintf(w, "%d 0.000002000 %s(3, 0x7f0000001000, 4096, %d) = 4096 <0.000001000>\n", 1000+rnd.IntN(threads), call, rnd.IntN(10000)*4096)
	}
}

// writeCached writes an intermediate script of reads without compute.
func writeCached(w io.Writer) {
	fmt.Fprintf(w, "# file: \"f\" reg mode=0600 size=1048576 cached=256\nopen ( f 1 ) = 3\n")
	for i := range 2_000_000 {
		fmt.Fprintf(w, "pread64 ( 3 4096 %d ) = 4096\n", i%256*4096)
	}
}

// writePaced writes an intermediate script of reads that are 20 µs apart.
func writePaced(w io.Writer) {
	fmt.Fprintf(w, "# file: \"f\" reg mode=0600 size=1048576 cached=256\nopen ( f 1 ) = 3\n")
	for i := range 25_000 {
		fmt.Fprintf(w, "compute ( 0.000020000 )\npread64 ( 3 4096 %d ) = 4096\n", i%256*4096)
	}
}
