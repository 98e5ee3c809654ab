package ebpf

import (
	"cmp"
	"fmt"
	"math"

	"pianola/bpf"
	"pianola/format"
)

// measureEvery is of how many runs of the program one is measured. It is prime, for
// programs make their calls in turns.
const measureEvery = 61

// measured is what the program has measured of its own runs, by bpf.CSampleKind.
type measured [bpf.CSampleKindNUM_SAMPLES]bpf.CSample

// measure lets the program measure one of so many of its runs from now on.
func (p *program) measure(every uint32) error {
	if err := p.coll.Variables[bpf.CVarEvery].Set(every); err != nil {
		return fmt.Errorf("set how often the eBPF program measures itself: %w", err)
	}
	return nil
}

// measured returns what the program has measured so far.
func (p *program) measured() (m measured, err error) {
	if err := p.coll.Variables[bpf.CVarSamples].Get(&m); err != nil {
		return m, fmt.Errorf("read the measurements of the eBPF program: %w", err)
	}
	return m, nil
}

// mean returns the nanoseconds of a run since before, or known where there were
// too few.
func (m *measured) mean(before measured, kind bpf.CSampleKind, known float64) float64 {
	runs := m[kind].Runs - before[kind].Runs
	if runs < enoughRuns {
		return known
	}
	return float64(m[kind].Nanos-before[kind].Nanos) / float64(runs)
}

// enoughRuns are those that a mean takes.
const enoughRuns = 20

// inPlace returns what recording cost the application: what the calibration
// measured, by how much longer the program's own runs took than there. A kind
// with too few runs costs as much more as the other one. The kernel's way to the
// program can't be measured in place. It goes through the same cold or warm caches,
// at the same speed of the processor. The way to the programs of switches and of
// messages takes the same share of the whole as that of calls.
func inPlace(cost format.Cost, in loop, before, after measured) format.Cost {
	plain := after.mean(before, bpf.CSampleKindSAMPLE_PLAIN, 0) / in.plain
	rich := after.mean(before, bpf.CSampleKindSAMPLE_RICH, 0) / in.rich
	plain, rich = cmp.Or(plain, rich, 1), cmp.Or(rich, plain, 1)
	added := cost.Inside + cost.Outside
	whole := max(float64(added)/in.plain, 1) * withReload(plain) / plain
	others := func(kind bpf.CSampleKind) int64 { return int64(math.Round(after.mean(before, kind, 0) * whole)) }
	times := func(nanos int64, factor float64) int64 { return int64(math.Round(float64(nanos) * factor)) }
	inside := times(cost.Inside, plain)
	plain, rich = withReload(plain), withReload(rich)
	return format.Cost{
		Inside:  inside,
		Outside: times(added, plain) - inside,
		Rich:    times(added+cost.Rich, rich) - times(added, plain),
		Call:    times(cost.Call, plain),
		Span:    times(cost.Span, plain),
		Switch:  others(bpf.CSampleKindSAMPLE_SWITCH),
		Message: others(bpf.CSampleKindSAMPLE_MESSAGE),
	}
}

// withReload adds what the application loses to the factor by which a run takes longer than
// in the loop. Such a run has to load lines that the application displaced from the caches. It
// displaces as many of the application's, which then loads those again that it still needs (the
// reload transient of Thiebaut and Stone, Footprints in the Cache, ACM TOCS 5 (1987) 4). Half of
// them is assumed: the processor time of requests of MariaDB and PostgreSQL with and without a
// recorder shows between none and all.
func withReload(factor float64) float64 { return factor + max(factor-1, 0)/2 }
