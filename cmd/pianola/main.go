// Command pianola records the I/O of an unmodified application, compiles the
// recording into a benchmark, replays it anywhere, and compares the two. All it
// does is in package cli.
package main

import "pianola/cli"

func main() { cli.Main() }
