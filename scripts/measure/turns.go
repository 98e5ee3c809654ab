package main

import (
	"slices"

	"pianola/internal/stats"
)

// turns calls measure for each side in so many rounds, and returns the samples of each
// side by round. Every second round has the order reversed: what comes second would
// otherwise always meet what the first has left in caches.
func turns[S comparable](rounds int, sides []S, measure func(S) (sample, error)) (map[S][]sample, error) {
	all, _, err := turnsWhile(rounds, sides, measure, func() bool { return true })
	return all, err
}

// turnsWhile is turns, but ends earlier if more, which is called after each round, says
// so. It returns how many rounds there were.
func turnsWhile[S comparable](rounds int, sides []S, measure func(S) (sample, error), more func() bool) (map[S][]sample, int, error) {
	all := map[S][]sample{}
	for round := range rounds {
		order := slices.Clone(sides)
		if round%2 == 1 {
			slices.Reverse(order)
		}
		for _, s := range order {
			got, err := measure(s)
			if err != nil {
				return nil, round, err
			}
			all[s] = append(all[s], got)
		}
		if !more() {
			return all, round + 1, nil
		}
	}
	return all, rounds, nil
}

// errorRate is the probability that an interval misses the median of the ratios. Nine
// rounds keep it: the interval is that from the second to the eighth (stats.MedianInterval).
const errorRate = 0.05

// change is a figure of two sides over the same rounds.
type change struct {
	base, now float64 // medians
	ratio     float64 // the median of the ratios of now to base, round by round
	stats.Interval
}

// changeOf compares a figure of two sides, round by round: the machine is the same
// within a round rather than from the first to the last. A figure of 0 in both sides is
// no change.
func changeOf(name string, base, now []sample) change {
	var bases, nows, ratios []float64
	for i := range base {
		a, b := base[i][name], now[i][name]
		bases, nows = append(bases, a), append(nows, b)
		if a == b {
			ratios = append(ratios, 1)
		} else {
			ratios = append(ratios, b/a)
		}
	}
	slices.Sort(ratios)
	return change{stats.Median(bases), stats.Median(nows), stats.Median(ratios), stats.MedianInterval(ratios, errorRate)}
}
