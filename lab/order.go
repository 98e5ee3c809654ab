package lab

import "math/rand/v2"

// seed makes the order of runs the same each time.
const seed = 8

// runOrder returns the order in which n trials are run in a round. Every round has
// each of them once, so that a drift of the machine hits all alike, and another
// order, so that none always comes first, or after the same other.
func runOrder(n, round int) []int {
	return rand.New(rand.NewPCG(seed, uint64(round))).Perm(n)
}
