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
	"database.txt": written(func(w io.Writer) { writeDatabase(w, 500_000, 1) }),
	"long.txt":     written(func(w io.Writer) { writeLong(w, 500_000) }),
	"races.txt":    written(func(w io.Writer) { writeRaces(w, 100_000) }),
	"scale.txt":    written(func(w io.Writer) { writeDatabase(w, 10_000_000, 4) }),
	"threads.txt":  written(func(w io.Writer) { writeThreads(w, 500_000) }),
	"demo.txt":     recorded("sqlite3", "app.db", ".read demo.sql"),
	"forks.txt":    recorded("sh", "-c", forking(1000)),
	"requests.txt": recorded("fio", "--name=a", "--filename=a.dat", "--size=16m", "--rw=randread", "--bs=4k", "--ioengine=io_uring", "--iodepth=32",
		"--io_size=400m", "--norandommap", "--invalidate=0", "--thread", "--output=fio.out"),
}

// setUp builds the programs that make calls and the one that clocks others, and tells all
// commands of them. Users of their own can run these. HOME has no settings.
func (w *workshop) setUp(ctx context.Context) error {
	at := func(name string) string { return filepath.Join(w.dir, name) }
	for _, command := range [][]string{
		{"go", "build", "-o", at("measure"), "./scripts/measure"},
		{"go", "build", "-o", at("load"), "./scripts/load"},
		{"gcc", "-O1", "-o", at("calls"), "scripts/load/calls.c"},
	} {
		if _, err := process(ctx, w.tree.source, command); err != nil {
			return err
		}
	}
	for name, value := range map[string]string{
		"LC_ALL": "C", "DIR": w.dir, "HOME": w.dir, "TMPDIR": w.dir, "TOP": w.tree.source, "MEASURE": at("measure"), "LOAD": at("load"), "CALLS": at("calls"),
	} {
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	return nil
}

// input puts an input into a directory. It is made once.
func (w *workshop) input(ctx context.Context, name, dir string) error {
	path := filepath.Join(w.dir, name)
	if _, err := os.Stat(path); err != nil {
		if err := inputs[name](ctx, w, path); err != nil {
			return err
		}
	}
	return os.Link(path, filepath.Join(dir, name))
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
		_, err = process(ctx, dir, append([]string{w.tree.pianola, "record", "-o", path, "--"}, command...))
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

// writeDatabase writes a recording of threads as a database makes it: pages read and
// written, some syncs, files opened again.
func writeDatabase(w io.Writer, n, threads int) {
	fmt.Fprintf(w, "# pianola script 1\n# cwd: \"/srv\"\n")
	writeClones(w, 4711, threads)
	rnd := rand.New(rand.NewPCG(2, 2))
	for i := range n {
		page, thread, step, fd := rnd.IntN(20000), 4711+i%threads, i/threads, 3+i%threads
		switch {
		case step%1000 == 0:
			fmt.Fprintf(w, "%d 0.000011000 openat(AT_FDCWD, \"db%d\", O_RDWR|O_CREAT|O_CLOEXEC, 0644) = %d <0.000004000> {type=reg mode=0644 size=81920000 cached=0}\n", thread, step/1000%10, fd)
		case step%1000 == 999:
			fmt.Fprintf(w, "%d 0.000011000 close(%d) = 0 <0.000001000>\n", thread, fd)
		case step%100 == 50:
			fmt.Fprintf(w, "%d 0.000011000 fdatasync(%d) = 0 <0.000%06d>\n", thread, fd, page*10)
		case rnd.IntN(7) < 4:
			fmt.Fprintf(w, "%d 0.00000%04d pread64(%d, 0x55d0c1b%05x, 4096, %d) = 4096 <0.00000%04d>\n", thread, page%9000+1000, fd, page*16, page*4096, page%700+500)
		default:
			fmt.Fprintf(w, "%d 0.00000%04d pwrite64(%d, 0x55d0c1b%05x, 4096, %d) = 4096 <0.00000%04d>\n", thread, page%9000+1000, fd, page*16, page*4096, page%700+1500)
		}
	}
}

// writeClones writes how a process gets the threads after its first one.
func writeClones(w io.Writer, first, threads int) {
	for i := 1; i < threads; i++ {
		fmt.Fprintf(w, "%d 0.000010000 clone(child_stack=0x7f0000000000, flags=CLONE_VM|CLONE_FS|CLONE_FILES|CLONE_SIGHAND|CLONE_THREAD|CLONE_SYSVSEM) = %d <0.000004000>\n", first, first+i)
	}
}

// writeRaces writes a recording of two threads that make the same directories. Calls
// overlap, and the one that fails ends first, so that their order is told by results alone.
func writeRaces(w io.Writer, n int) {
	fmt.Fprintf(w, "# pianola script 1\n# cwd: \"/srv\"\n")
	writeClones(w, 1000, 2)
	for i := range n {
		fmt.Fprintf(w, "1000 0.000021000 mkdir(\"d%d\", 0700) = -1 EEXIST (File exists) <0.000005000>\n", i)
		fmt.Fprintf(w, "1001 -0.000001000 mkdir(\"d%d\", 0700) = 0 <0.000007000>\n", i)
	}
}

// writeLong writes a recording of a thread that opens, reads and closes files, during a
// single call of another one.
func writeLong(w io.Writer, n int) {
	fmt.Fprintf(w, "# pianola script 1\n# cwd: \"/srv\"\n")
	writeClones(w, 1000, 2)
	rnd := rand.New(rand.NewPCG(4, 4))
	for i := range n {
		switch i % 10 {
		case 0:
			fmt.Fprintf(w, "1000 0.000010000 openat(AT_FDCWD, \"f%d\", O_RDWR|O_CLOEXEC) = 3 <0.000004000> {type=reg mode=0644 size=409600 cached=0}\n", i/10%100)
		case 9:
			fmt.Fprintf(w, "1000 0.000010000 close(3) = 0 <0.000001000>\n")
		default:
			fmt.Fprintf(w, "1000 0.000010000 pread64(3, 0x7f0000001000, 4096, %d) = 4096 <0.000001000>\n", rnd.IntN(100)*4096)
		}
	}
	took := 10 * (n - 1) // µs from the first call to the last
	fmt.Fprintf(w, "1001 -%d.%06d000 mkdir(\"late\", 0700) = 0 <%d.%06d000>\n", took/1_000_000, took%1_000_000, took/1_000_000, took%1_000_000)
}

// writeThreads writes a recording of eight threads of a process, which read and write
// the same file, so that their calls need order.
func writeThreads(w io.Writer, n int) {
	fmt.Fprintf(w, "# pianola script 1\n# cwd: \"/srv\"\n")
	fmt.Fprintf(w, "1000 0.000010000 openat(AT_FDCWD, \"db\", O_RDWR|O_CLOEXEC) = 3 <0.000004000> {type=reg mode=0644 size=40960000 cached=10000}\n")
	const threads = 8
	writeClones(w, 1000, threads)
	rnd := rand.New(rand.NewPCG(3, 3))
	for range n {
		call := "pread64"
		if rnd.IntN(4) == 0 {
			call = "pwrite64"
		}
		fmt.Fprintf(w, "%d 0.000002000 %s(3, 0x7f0000001000, 4096, %d) = 4096 <0.000001000>\n", 1000+rnd.IntN(threads), call, rnd.IntN(10000)*4096)
	}
}
