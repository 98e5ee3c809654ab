// Command pianola records the I/O of an unmodified application, compiles the
// recording into a benchmark, replays it anywhere, and compares the two. All it
// does is in package cli.
package main

import (
	"os"
	"runtime"
	"slices"

	"pianola/cmd/cli"
)

// A rank is executed by the first thread of its process, the only one that the recorder
// follows. Only an init function can keep that thread for main.
func init() {
	if slices.Contains(os.Args, "--ranks") {
		runtime.LockOSThread()
	}
}

func main() { cli.Main() }
