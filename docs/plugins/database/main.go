// Database generates the I/O of a database: clients read pages of 8 KiB and compute, a process
// writes the log, and another writes all pages back, each once, twice.
//
//	pianola compile -o database.bin 'exec:go run ./docs/plugins/database [-clients N] [-times N]'
package main

import (
	"bufio"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
)

// Flags of an open.
const (
	write = 1 << 1
	both  = 1 << 2
	creat = 1 << 5
)

const (
	tables = 2
	pages  = 128 // of a table
	page   = 8 << 10
)

func main() {
	clients := flag.Int("clients", 4, "number of clients")
	times := flag.Int("times", 200, "number of reads of a client, and of commits")
	flag.Parse()
	if *clients < 1 || *times < 0 || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	out := bufio.NewWriter(os.Stdout)
	print(out, *clients, *times)
	if err := out.Flush(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// print writes the calls of all threads. Errors stay in out.
func print(out *bufio.Writer, clients, times int) {
	rnd := rand.New(rand.NewPCG(7, 7)) // the same trace each time
	fmt.Fprint(out, "# pianola intermediate 1\n# command: database\n# unknown: durations\n")
	for t := 1; t <= clients; t++ { // threads of one process
		fmt.Fprintf(out, "# thread: %d process=1 parent=%d start=0.000000000\n", t, min(t-1, 1))
	}
	log, writer := clients+1, clients+2
	for _, t := range []int{log, writer} {
		fmt.Fprintf(out, "# thread: %d process=%d parent=0 start=0.000000000\n", t, t)
	}
	fmt.Fprintln(out, `# file: "db" dir mode=0755 size=0 cached=-1`)
	for i := range tables {
		fmt.Fprintf(out, "# file: \"db/table%d\" reg mode=0644 size=%d cached=-1\n", i, pages*page)
	}

	for t := 1; t <= clients; t++ {
		fd := 2 + t // threads share their descriptors, so each has one of its own
		fmt.Fprintf(out, "%d open ( db/table%d %d ) = %d\n", t, t%tables, both, fd)
		for range times {
			fmt.Fprintf(out, "%d compute ( %.9f )\n", t, rnd.ExpFloat64()*100e-6)
			fmt.Fprintf(out, "%d pread64 ( %d %d %d ) = %d\n", t, fd, page, rnd.IntN(pages)*page, page)
		}
		fmt.Fprintf(out, "%d close ( %d ) = 0\n", t, fd)
	}

	fmt.Fprintf(out, "%d openm ( db/log %d 420 ) = 3\n%d fallocate ( 3 1 0 %d ) = 0\n", log, write|creat, log, 1<<20)
	for n := range times {
		// A commit is a few records of 512 bytes; the log goes round.
		size := 512
		switch drawn := rnd.IntN(100); {
		case drawn >= 95:
			size *= 16
		case drawn >= 80:
			size *= 2 + rnd.IntN(3)
		}
		fmt.Fprintf(out, "%d compute ( %.9f )\n", log, rnd.Float64()*100e-6)
		fmt.Fprintf(out, "%d pwrite64 ( 3 %d %d ) = %d\n%d fdatasync ( 3 ) = 0\n", log, size, n%pages*page, size, log)
	}
	fmt.Fprintf(out, "%d close ( 3 ) = 0\n", log)

	for range 2 {
		fmt.Fprintf(out, "%d compute ( 0.010000000 0.010000000 timer=0.010000000 )\n", writer) // all of it off the processor
		for i := range tables {
			fmt.Fprintf(out, "%d open ( db/table%d %d ) = 3\n", writer, i, write)
			for _, at := range rnd.Perm(pages) {
				fmt.Fprintf(out, "%d pwrite64 ( 3 %d %d ) = %d\n", writer, page, at*page, page)
			}
			fmt.Fprintf(out, "%d fsync ( 3 ) = 0\n%d close ( 3 ) = 0\n", writer, writer)
		}
	}
}
