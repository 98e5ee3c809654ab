// Command pianola-ranks carries messages between the processes of "pianola replay
// --ranks". Each of them starts one. All it does is in package hub.
package main

import "pianola/replay/ranks/hub"

func main() { hub.Main() }
