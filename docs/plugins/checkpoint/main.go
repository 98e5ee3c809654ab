// Checkpoint generates what a simulation of several processes does that writes a checkpoint
// after every 20 ms of computing: a file for each process, and a part each of one that they
// share. No process computes on before all have written; then the first one puts the
// checkpoint in the place of the last.
//
//	pianola compile -o checkpoint.bin 'exec:go run ./docs/plugins/checkpoint [-ranks N] [-times N]'
package main

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"strings"
)

// Flags of an open.
const (
	write = 1 << 1
	both  = 1 << 2
	trunc = 1 << 4
	creat = 1 << 5
)

const fd = 3 // each process has its own

// program is the calls of all processes, each of one thread.
type program struct {
	out    *bufio.Writer
	events []int  // of each process, so far
	after  []int  // the same at the last barrier
	waits  []bool // by process: its next event waits for the others at that barrier
}

// call prints a call of a process and its result.
func (p *program) call(rank, result int, call string, args ...any) {
	fmt.Fprintf(p.out, "%d %s = %d", rank+1, fmt.Sprintf(call, args...), result)
	if p.waits[rank] {
		p.waits[rank] = false
		var after []string
		for other, n := range p.after {
			if other != rank && n > 0 {
				after = append(after, fmt.Sprintf("after=%d:%d", other+1, n-1))
			}
		}
		if len(after) > 0 {
			fmt.Fprintf(p.out, " {%s}", strings.Join(after, " "))
		}
	}
	fmt.Fprintln(p.out)
	p.events[rank]++
}

// barrier has the next event of each process wait for what the others did.
func (p *program) barrier() {
	copy(p.after, p.events)
	for rank := range p.waits {
		p.waits[rank] = true
	}
}

func main() {
	ranks := flag.Int("ranks", 4, "number of processes, from 2 on")
	times := flag.Int("times", 3, "number of checkpoints")
	flag.Parse()
	if *ranks < 2 || *times < 1 || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	p := &program{bufio.NewWriter(os.Stdout), make([]int, *ranks), make([]int, *ranks), make([]bool, *ranks)}
	fmt.Fprint(p.out, "# pianola intermediate 1\n# command: checkpoint\n# unknown: durations\n")
	for rank := range *ranks {
		fmt.Fprintf(p.out, "# thread: %d process=%d parent=0 start=0.000000000\n", rank+1, rank+1)
	}
	for n := range *times {
		p.checkpoint(n)
	}
	for rank := range *ranks {
		fmt.Fprintf(p.out, "%d exit_group ( 0 ) = ?\n", rank+1)
	}
	if err := p.out.Flush(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// checkpoint prints the computing of all processes, and checkpoint n.
func (p *program) checkpoint(n int) {
	const block = 16 << 10
	ranks := len(p.events)
	for rank := range ranks {
		fmt.Fprintf(p.out, "%d compute ( 0.020000000 )\n", rank+1)
	}
	// The first makes the directory, and the shared file as large as it will be, so that the
	// parts can be written in any order.
	p.call(0, 0, "mkdir ( checkpoint.new 493 )")
	p.call(0, fd, "openm ( checkpoint.new/shared %d 420 )", both|creat)
	p.call(0, 0, "ftruncate ( %d %d )", fd, 16*block*ranks)
	p.call(0, 0, "close ( %d )", fd)
	p.barrier()
	for rank := range ranks {
		p.call(rank, fd, "openm ( checkpoint.new/rank%d %d 420 )", rank, write|creat|trunc)
		for range 4 {
			p.call(rank, 512<<10, "write ( %d %d )", fd, 512<<10)
		}
		p.call(rank, 0, "fsync ( %d )", fd)
		p.call(rank, 0, "close ( %d )", fd)
		p.call(rank, fd, "open ( checkpoint.new/shared %d )", write)
		for i := range 16 {
			p.call(rank, block, "pwrite64 ( %d %d %d )", fd, block, (i*ranks+rank)*block)
		}
		p.call(rank, 0, "fsync ( %d )", fd)
		p.call(rank, 0, "close ( %d )", fd)
	}
	p.barrier()
	if n > 0 {
		for rank := range ranks {
			p.call(0, 0, "unlink ( checkpoint/rank%d )", rank)
		}
		p.call(0, 0, "unlink ( checkpoint/shared )")
		p.call(0, 0, "rmdir ( checkpoint )")
	}
	p.call(0, 0, "rename ( checkpoint.new checkpoint )")
}
