// Command pianola-ranks carries messages between the processes of "pianola replay
// --ranks". Each of them starts one. All it does is in package hub.
package main

import (
	"fmt"
	"os"

	"pianola/ranks/hub"
)

func main() {
	if err := hub.Main(); err != nil {
		fmt.Fprintln(os.Stderr, "pianola-ranks:", err)
		os.Exit(1)
	}
}
