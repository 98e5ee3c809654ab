package experiment

import "math/rand/v2"

// seed makes the order of runs reproducible.
const seed = 8

// runOrder returns the order of n trials in a round. Every round runs each
// trial once, so that a drift of the machine affects all alike. The order
// differs from round to round, so that no trial always comes first or after the
// same other one.
func runOrder(n, round int) []int {
	return rand.New(rand.NewPCG(seed, uint64(round))).Perm(n)
}
