// Command manpages writes the manual pages of pianola into a directory. It is a program
// of its own so that pianola does not hold what only its packages need.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"

	"pianola/cmd/cli"
)

func main() {
	version := flag.String("version", "", "the version in the footers")
	seconds := flag.Int64("date", 0, "the date in the footers, as seconds since 1970")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: manpages [-version VERSION] [-date SECONDS] DIR")
		os.Exit(2)
	}
	if err := cli.WriteManPages(flag.Arg(0), *version, time.Unix(*seconds, 0)); err != nil {
		fmt.Fprintln(os.Stderr, "manpages:", err)
		os.Exit(1)
	}
}
