// Scale prints a recording of as many events as asked for, to measure what Pianola
// and others need for it:
//
//	go run ./scripts/scale [-threads 4] [-files 2000] EVENTS >recording.txt
//
// The threads of one process open files, read and write pages of them, sync now and
// then, and close them. The same arguments give the same recording.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
)

// opened is how many events a thread makes with a file that it has opened.
const opened = 11

func main() {
	threads := flag.Int("threads", 4, "number of threads")
	files := flag.Int("files", 2000, "number of files")
	flag.Parse()
	events, err := strconv.Atoi(flag.Arg(0))
	if err != nil || flag.NArg() != 1 || *threads < 1 || *files < 1 {
		fmt.Fprintln(os.Stderr, "usage: scale [-threads N] [-files N] EVENTS")
		os.Exit(2)
	}
	w := bufio.NewWriterSize(os.Stdout, 1<<20)
	write(w, events, *threads, *files)
	if err := w.Flush(); err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
}

// write prints a recording. Errors stay in w.
func write(w *bufio.Writer, events, threads, files int) {
	const first = 4711 // thread
	fmt.Fprint(w, "# pianola script 1\n# command: scale\n# start: 2026-01-02T03:04:05.000000006Z\n# cwd: \"/srv\"\n")
	for i := 1; i < threads; i++ {
		fmt.Fprintf(w, "%d 0.000011000 clone(CLONE_VM|CLONE_FS|CLONE_FILES|CLONE_SIGHAND|CLONE_THREAD) = %d <0.000009000>\n", first, first+i)
	}
	random := rand.New(rand.NewPCG(1, 2))
	var line []byte
	for i := range events - threads + 1 {
		thread, step := i%threads, i/threads%opened
		line = strconv.AppendInt(line[:0], int64(first+thread), 10)
		line = seconds(append(line, ' '), 200+random.IntN(2000))
		line = append(line, ' ')
		fd, duration := 3+thread, 500+random.IntN(3000)
		switch at := random.IntN(20000) * 4096; {
		case step == 0:
			line = fmt.Appendf(line, `openat(AT_FDCWD, "data/file%d", O_RDWR|O_CREAT|O_CLOEXEC, 0644) = %d`, random.IntN(files), fd)
		case step == opened-1:
			line = fmt.Appendf(line, "close(%d) = 0", fd)
		case step == opened/2 && random.IntN(8) == 0:
			line = fmt.Appendf(line, "fdatasync(%d) = 0", fd)
			duration *= 100
		case random.IntN(3) == 0:
			line = call(line, "pwrite64", fd, thread, at)
		default:
			line = call(line, "pread64", fd, thread, at)
		}
		line = append(seconds(append(line, " <"...), duration), '>')
		if step == 0 {
			line = append(line, " {type=reg mode=0644 size=81920000 cached=0}"...)
		}
		_, _ = w.Write(append(line, '\n'))
	}
	fmt.Fprint(w, "# lost: 0\n")
}

// call appends a read or a write of a page.
func call(dst []byte, name string, fd, thread, offset int) []byte {
	dst = strconv.AppendInt(append(append(dst, name...), '('), int64(fd), 10)
	dst = strconv.AppendInt(append(dst, ", 0x55d0c1b"...), int64(10000+thread), 10)
	dst = strconv.AppendInt(append(dst, ", 4096, "...), int64(offset), 10)
	return append(dst, ") = 4096"...)
}

// seconds appends less than a second of nanoseconds, as a script has it.
func seconds(dst []byte, nanos int) []byte {
	digits := strconv.AppendInt(nil, int64(1e9+nanos), 10)
	return append(append(dst, digits[0]-1, '.'), digits[1:]...)
}
