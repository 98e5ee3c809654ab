// Command log is a backend that only logs: it writes what it is given to a file,
// and answers that all went as recorded.
//
//	go build -o log ./docs/plugins/log
//	pianola replay --backend 'exec:./log events.txt' trace.bin
package main

import (
	"bufio"
	"fmt"
	"os"
	"regexp"
)

// event finds the thread of a line, where it has one, and its result.
var event = regexp.MustCompile(`^(\d+ )?\w+ \(.* = (.*)$`)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("usage: log FILE")
	}
	f, err := os.Create(args[0])
	if err != nil {
		return err
	}
	defer f.Close()
	log := bufio.NewWriter(f)
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 256<<10) // two paths of 4 KiB, escaped
	for lines.Scan() {
		fmt.Fprintln(log, lines.Text())
		if m := event.FindStringSubmatch(lines.Text()); m != nil {
			// Not buffered, because it is waited for.
			if _, err := fmt.Println(m[1] + m[2]); err != nil {
				return err
			}
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return log.Flush()
}
