package device

import (
	"cmp"
	"context"
	"errors"
	"math"
	"math/bits"
	"runtime"
	"slices"
	"sort"
	"sync"

	"pianola/format"
)

// Sample is measurements of a device: a recording made on it, or a job of fio.
type Sample interface {
	// Name identifies the sample.
	Name() string

	// measure returns the measured and the predicted times, by kind of calls.
	measure(f *Fitted) []figure

	// spread adds the factors by which single calls differ from the model.
	spread(f *Fitted, s *spreads)
}

// figure compares the calls of one kind.
type figure struct {
	work                Work
	calls               int64
	measured, predicted float64 // seconds of all of them
	weight              float64 // in the fit
}

// Recording is a Sample: what the calls of a recording asked of a device and how
// long they took, in the order in which they began.
type Recording struct {
	name  string
	calls []timed
}

type timed struct {
	Demand
	thread      int32
	begin, took int64
}

// maxCalls bounds how many calls of a recording count; the first ones do.
const maxCalls = 100_000

// ErrNoCalls is the error of a recording without calls that reach a device.
var ErrNoCalls = errors.New("no call of it reaches a device: no sync, no direct access, no read that misses the page cache")

// NewRecording reads the events of a recording, of a compiled trace, or of a replay's
// log, which was made on the device. It returns the errors of r unchanged, or ErrNoCalls.
func NewRecording(name string, r format.Reader, c Cache) (*Recording, error) {
	s := &Recording{name: name}
	err := Walk(format.NewCausalReader(r), c, func(e *format.Event, _ int64, d Demand) error {
		if len(s.calls) == maxCalls || d.Work == NoWork || e.Dur < 0 {
			return nil
		}
		if d.Work == ReadWork && !reaches(e.Op, e.Ret, e.Dur) {
			return nil // the page cache had it nevertheless
		}
		s.calls = append(s.calls, timed{d, e.TID, e.Start, e.Dur})
		return nil
	})
	if err == nil && len(s.calls) == 0 {
		err = ErrNoCalls
	}
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(s.calls, func(a, b timed) int { return cmp.Compare(a.begin, b.begin) })
	return s, nil
}

// Name implements Sample.
func (s *Recording) Name() string { return s.name }

// Len returns how many calls reached the device.
func (s *Recording) Len() int { return len(s.calls) }

// Halves returns the calls of the first and of the second half.
func (s *Recording) Halves() (first, second *Recording) {
	n := len(s.calls) / 2
	return &Recording{s.name + ", first half", s.calls[:n]}, &Recording{s.name + ", second half", s.calls[n:]}
}

// play calls each with every call that waits for the device and the time that the model
// gives it, in nanoseconds. A thread issues a call later where those before took longer,
// and earlier where they took less, but not before the end of what had ended when it
// began in the recording: it may have waited for that.
func (s *Recording) play(f *Fitted, each func(c *timed, predicted int64)) {
	flat := *f
	flat.Spread = Spreads{}
	d := flat.start()
	type flight struct{ recorded, end int64 } // ends
	var (
		flights []flight
		ended   int64 // the last end of those that had ended
		later   = map[int32]int64{}
	)
	for i := range s.calls {
		c := &s.calls[i]
		flights = slices.DeleteFunc(flights, func(f flight) bool {
			if f.recorded > c.begin {
				return false
			}
			ended = max(ended, f.end)
			return true
		})
		begin := max(c.begin+later[c.thread], ended)
		if end := d.end(&c.Demand, begin); c.Work != SubmitWork {
			each(c, end-begin)
			later[c.thread] = end - c.begin - c.took
			flights = append(flights, flight{c.begin + c.took, end})
		}
	}
}

// kind groups the calls that are compared together: the same work, about the same size.
type kind struct {
	work               Work
	sequential, commit bool
	requests, bytes    int // logarithms
}

func (s *Recording) measure(f *Fitted) []figure {
	sums := map[kind]*figure{}
	var order []*figure
	var total float64
	s.play(f, func(c *timed, predicted int64) {
		k := kind{c.Work, c.Sequential, c.Commit, bits.Len32(uint32(c.Requests)), bits.Len64(uint64(c.Bytes))}
		g := sums[k]
		if g == nil {
			g = &figure{work: c.Work}
			sums[k] = g
			order = append(order, g)
		}
		g.calls++
		g.measured += float64(c.took) / 1e9
		g.predicted += float64(predicted) / 1e9
		total += float64(c.took) / 1e9
	})
	list := make([]figure, len(order))
	for i, g := range order {
		g.weight = g.measured / max(total, 1e-9)
		list[i] = *g
	}
	return list
}

func (s *Recording) spread(f *Fitted, to *spreads) {
	s.play(f, func(c *timed, predicted int64) {
		if predicted > 0 {
			to.add(c.Work, float64(c.took)/float64(predicted), 1)
		}
	})
}

// Fit fits a model to samples. It ends early, with its error, when ctx is done.
func Fit(ctx context.Context, samples []Sample, c Cache) (*Fitted, error) {
	if len(samples) == 0 {
		return nil, errors.New("nothing to fit a model to")
	}
	var f *Fitted
	best := math.Inf(1)
	for _, burst := range []float64{tiny, 0.05} {
		for _, latency := range []float64{tiny, 1e-4} {
			g := initialGuess(samples, burst, latency)
			g.Cache = c
			list := g.parameters()
			if busy := saturated(samples); busy != nil {
				rates := func(p parameter) bool { return !p.rate }
				descend(ctx, g, slices.DeleteFunc(g.parameters(), rates), func(f *Fitted) float64 { return loss(busy, f) })
				list = slices.DeleteFunc(list, func(p parameter) bool { return p.rate })
			}
			if l := descend(ctx, g, list, func(f *Fitted) float64 { return loss(samples, f) + complexity*f.penalty() }); l < best {
				f, best = g, l
			}
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if f == nil {
		return nil, errors.New("no model fits the measurements")
	}
	f.fillUnknown(samples)
	var s spreads
	for _, one := range samples {
		one.spread(f, &s)
	}
	f.Spread = s.percentiles()
	return f, f.Check()
}

// loss returns the mean square of the logarithms of predicted by measured times, by their
// weights.
func loss(samples []Sample, f *Fitted) float64 {
	var sum, weights float64
	for _, s := range samples {
		for _, g := range s.measure(f) {
			n := float64(max(g.calls, 1))
			const floor = 1e-6 // seconds a call, below which nothing differs
			off := math.Log((g.predicted/n + floor) / (g.measured/n + floor))
			// Beyond a factor of e^0.3 the error counts as it is, not squared, so that
			// a measurement that was disturbed does not spoil the others (P. J. Huber,
			// "Robust Estimation of a Location Parameter", 1964).
			const robust = 0.3
			if off = math.Abs(off); off > robust {
				off = math.Sqrt(robust * (2*off - robust))
			}
			sum += g.weight * off * off
			weights += g.weight
		}
	}
	return sum / max(weights, 1e-9)
}

// saturated returns the jobs that keep the servers busy, from which alone their rates are
// fitted: with one request at a time, a server is indistinguishable from latency. It
// returns nil if some direction has no such job.
func saturated(samples []Sample) (list []Sample) {
	var reads, writes bool
	for _, s := range samples {
		j, ok := s.(*Job)
		if !ok {
			return nil
		}
		if !j.direct || j.think > 0 || j.depth < 4 && j.size < 1<<20 {
			continue
		}
		reads, writes = reads || j.readShare == 1, writes || j.readShare == 0
		list = append(list, s)
	}
	if !reads || !writes {
		return nil
	}
	return list
}

// complexity is the weight of penalty in a loss: of models that fit equally well, the
// simpler one wins. It changes times that matter by less than 1 %.
const complexity = 1e-4

// penalty returns how much latency and burst a model has, how far sequential accesses
// are from random ones, and commits from those of ext4 (a block of descriptors, one that
// ends the commit, and the blocks of metadata), as a sum of logarithms.
func (f *Fitted) penalty() (sum float64) {
	sum = math.Log(max(f.Burst, tiny)/tiny) + math.Log(max(f.Sync.Flush, tiny)/tiny) + math.Log(max(f.Sync.Commit, tiny)/tiny) +
		math.Abs(math.Log(f.Sync.CommitFixed/2)) + math.Abs(math.Log(f.Sync.CommitBlock))
	for _, d := range []*Direction{&f.Read, &f.Write} {
		r, s := &d.Random, &d.Sequential
		sum += math.Log(max(r.Latency, tiny)/tiny) + math.Abs(math.Log(max(r.Latency, tiny)/max(s.Latency, tiny))) + math.Abs(math.Log(r.IOPS/s.IOPS))
	}
	return sum
}

// parameters returns the values of a model that are fitted, each with its bounds.
func (f *Fitted) parameters() []parameter {
	list := []parameter{
		{&f.Burst, tiny, 10, false},
		{&f.Sync.Flush, tiny, 100, false}, {&f.Sync.FlushRequests, 0.01, 1000, false},
		{&f.Sync.Commit, tiny, 100, false}, {&f.Sync.CommitFixed, 0.01, 1000, false}, {&f.Sync.CommitBlock, 0.01, 1000, false},
	}
	for _, d := range []*Direction{&f.Read, &f.Write} {
		list = append(list, parameter{&d.Bandwidth, 1e3, 1e12, true})
		for _, a := range []*Access{&d.Random, &d.Sequential} {
			list = append(list, parameter{&a.Latency, tiny, 100, false}, parameter{&a.IOPS, 0.1, 1e9, true})
		}
	}
	return list
}

type parameter struct {
	value    *float64
	min, max float64
	rate     bool // of a server
}

// tiny is in seconds. Shorter times count as none.
const tiny = 1e-7

// descend changes parameters of a model until its loss no longer falls, and
// returns the loss: a direct search along each parameter in turn, on a logarithmic scale,
// whose steps grow with success and shrink without (R. Hooke, T. A. Jeeves, "Direct
// Search Solution of Numerical and Statistical Problems", JACM 8, 1961). It begins again
// with long steps as long as that helps.
func descend(ctx context.Context, f *Fitted, list []parameter, loss func(*Fitted) float64) float64 {
	const (
		rounds = 60
		starts = 6
		first  = 0.7  // of a step, in natural logarithms
		last   = 0.01 // shorter steps are not tried
		worth  = 0.99 // of the loss, to begin again
	)
	steps := make([]float64, len(list))
	best := loss(f)
	better := func() bool {
		l := loss(f)
		if !(l < best*(1-1e-6)) {
			return false
		}
		best = l
		return true
	}
	for range starts {
		began := best
		for i := range steps {
			steps[i] = first
		}
		for range rounds {
			short := true
			for i, p := range list {
				if math.Abs(steps[i]) < last {
					continue
				}
				short = false
				before := *p.value
				try := func(step float64) bool {
					*p.value = min(max(before*math.Exp(step), p.min), p.max)
					if *p.value != before && better() {
						return true
					}
					*p.value = before
					return false
				}
				switch {
				case try(steps[i]):
					steps[i] *= 1.7
				case try(-steps[i]):
					steps[i] *= -1.7
				default:
					steps[i] /= 2.5
				}
			}
			const clearly = 0.95 // of the loss, for servers to be shared or not
			before := best
			if f.Shared = !f.Shared; !better() || best > clearly*before {
				f.Shared, best = !f.Shared, before
			}
			if short || ctx.Err() != nil {
				break
			}
		}
		if best > began*worth || ctx.Err() != nil {
			break
		}
	}
	return best
}

// initialGuess returns a model that a fit begins with: the most requests and bytes a second
// that were seen, a burst, and a latency.
func initialGuess(samples []Sample, burst, latency float64) *Fitted {
	f := &Fitted{Burst: burst, Sync: Sync{Flush: latency, FlushRequests: 1, Commit: latency, CommitFixed: 2, CommitBlock: 1}}
	for i, d := range []*Direction{&f.Read, &f.Write} {
		fast, wide := 0.0, 0.0
		for _, s := range samples {
			calls, requests, bytes, seconds := volume(s, Work(i)+ReadWork)
			if calls == 0 || seconds == 0 {
				continue
			}
			fast, wide = max(fast, requests/seconds), max(wide, bytes/seconds)
		}
		if fast == 0 {
			continue
		}
		a := Access{latency, fast}
		*d = Direction{a, a, wide}
	}
	f.copyMissing()
	return f
}

// copyMissing gives a direction without measurements the values of the other one.
func (f *Fitted) copyMissing() {
	unknown := Direction{Access{1e-4, 1e4}, Access{1e-4, 1e4}, 1e8}
	if f.Write.Bandwidth == 0 {
		f.Write = cmp.Or(f.Read, unknown)
	}
	if f.Read.Bandwidth == 0 {
		f.Read = f.Write
	}
}

// fillUnknown replaces values on which no measurement depends: a direction without
// any has the other's, sequential accesses without any those of random ones, and the
// reverse.
func (f *Fitted) fillUnknown(samples []Sample) {
	depends := func(value *float64) bool {
		before, was := loss(samples, f), *value
		defer func() { *value = was }()
		for _, factor := range []float64{3, 1. / 3} {
			*value = was * factor
			if loss(samples, f) != before {
				return true
			}
		}
		return false
	}
	known := map[*Direction]bool{}
	for _, d := range []*Direction{&f.Read, &f.Write} {
		random, sequential := depends(&d.Random.Latency), depends(&d.Sequential.Latency)
		switch {
		case random && !sequential:
			d.Sequential = d.Random
		case sequential && !random:
			d.Random = d.Sequential
		}
		known[d] = random || sequential || depends(&d.Bandwidth)
	}
	switch {
	case !known[&f.Read]:
		f.Read = f.Write
	case !known[&f.Write]:
		f.Write = f.Read
	}
	for _, p := range f.parameters() {
		if *p.value <= 2*tiny {
			*p.value = 0
		}
	}
}

// volume returns how much of some work a sample has, and the seconds in which it did that.
func volume(s Sample, w Work) (calls, requests, bytes, seconds float64) {
	switch s := s.(type) {
	case *Job:
		m, size := &s.read, float64(s.size)
		if w == WriteWork {
			m = &s.write
		}
		if !s.direct || m.calls == 0 || s.think > 0 || s.readShare > 0 && s.readShare < 1 {
			return
		}
		n := float64(m.calls)
		return n, n, n * size, n * m.mean / float64(s.depth)
	case *Recording:
		for i := range s.calls {
			c := &s.calls[i]
			if c.Work == w || w == WriteWork && c.Work == SyncWork {
				calls++
				requests += float64(max(c.Requests, 1))
				bytes += float64(c.Bytes)
				seconds += float64(c.took) / 1e9
			}
		}
	}
	return
}

// HoldOut fits a model without each of the samples in turn, and returns its prediction for
// the omitted one.
func HoldOut(ctx context.Context, samples []Sample, c Cache) ([]HeldOut, error) {
	if len(samples) < 2 {
		return nil, errors.New("a single measurement: nothing can be held out")
	}
	var (
		all   = make([][]HeldOut, len(samples))
		errs  = make([]error, len(samples))
		group sync.WaitGroup
		slots = make(chan struct{}, runtime.GOMAXPROCS(0))
	)
	for k, s := range samples {
		group.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			f, err := Fit(ctx, slices.Delete(slices.Clone(samples), k, k+1), c)
			if errs[k] = err; err == nil {
				all[k] = Compare(s, f)
			}
		})
	}
	group.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return slices.Concat(all...), errors.Join(errs...)
}

// Compare returns the prediction of a model for a sample, by class.
func Compare(s Sample, f *Fitted) (all []HeldOut) {
	for _, w := range []Work{ReadWork, WriteWork, SyncWork} {
		h := HeldOut{Name: s.Name(), Class: className(w)}
		for _, g := range s.measure(f) {
			if g.work == w {
				h.Calls += g.calls
				h.Measured += g.measured
				h.Predicted += g.predicted
			}
		}
		if h.Calls > 0 && h.Measured > 0 {
			all = append(all, h)
		}
	}
	return all
}

// spreads gathers factors, with their weights, by class.
type spreads [3][]weighted

type weighted struct{ factor, weight float64 }

func (s *spreads) add(w Work, factor, weight float64) {
	i := 1
	switch w {
	case ReadWork:
		i = 0
	case SyncWork:
		i = 2
	}
	s[i] = append(s[i], weighted{min(factor, 1e6), weight})
}

// spreadAt are the percentiles that a model has.
var spreadAt = []float64{0, 1, 5, 10, 25, 50, 75, 90, 95, 99, 99.5, 99.9, 100}

func (s *spreads) percentiles() (all Spreads) {
	for i, to := range []*[]Factor{&all.Read, &all.Write, &all.Sync} {
		*to = percentiles(s[i])
	}
	return all
}

// percentiles returns factors whose mean is 1, none for an empty list.
func percentiles(list []weighted) []Factor {
	out := []Factor{}
	if len(list) == 0 {
		return out
	}
	sort.Slice(list, func(i, j int) bool { return list[i].factor < list[j].factor })
	var total float64
	for _, v := range list {
		total += v.weight
	}
	var points []point
	at, sum := 0, list[0].weight
	for _, percentile := range spreadAt {
		for at < len(list)-1 && sum < total*percentile/100 {
			at++
			sum += list[at].weight
		}
		points = append(points, point{percentile / 100, max(list[at].factor, 1e-6)})
	}
	// The mean is the mean of draws.
	const draws = 1 << 12
	var mean float64
	for i := range draws {
		mean += between(points, (float64(i)+0.5)/draws) / draws
	}
	for i, p := range points {
		out = append(out, Factor{spreadAt[i], p.value / mean})
	}
	return out
}
