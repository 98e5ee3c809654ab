package fileset

import "math/rand/v2"

// grain is the unit of Fill, in bytes: small enough that each block of a file system is
// as compressible as the whole.
const grain = 1024

// Fill fills memory with random bytes, and with zeroes by the percentage of
// compressibility.
func Fill(source *rand.ChaCha8, b []byte, compressibility int) {
	for len(b) > 0 {
		n := min(len(b), grain)
		random := n * (100 - compressibility) / 100
		_, _ = source.Read(b[:random]) // never fails
		clear(b[random:n])
		b = b[n:]
	}
}
