package ebpf

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/record"
)

// tool is what the header of a recording says.
const tool = "ebpf"

const maxRingBytes = 1 << 30

// Run records a command as record.Recorder says. Descendants that still run when
// a signal ends the recording, such as daemons, go on without it.
func Run(ctx context.Context, o record.Options, s record.Sink) (record.Result, error) {
	if err := o.Complete(); err != nil {
		return record.Result{}, err
	}
	if err := completeRing(&o); err != nil {
		return record.Result{}, err
	}
	r, err := start(ctx, &o, s)
	if err != nil {
		return record.Result{}, err
	}
	defer r.close()
	return r.run(ctx, r.await)
}

// completeRing fills in the size of the ring.
func completeRing(o *record.Options) error {
	if o.RingBytes == 0 {
		o.RingBytes = record.DefaultRingBytes
	}
	if o.RingBytes < 0 || o.RingBytes > maxRingBytes {
		return fmt.Errorf("a ring buffer of %d bytes is not possible", o.RingBytes)
	}
	size := os.Getpagesize()
	for size < o.RingBytes {
		size *= 2
	}
	o.RingBytes = size
	return nil
}

// configOf says what the program in the kernel is to note.
func configOf(o *record.Options) config {
	return config{RingBytes: o.RingBytes, Memory: o.Memory, Cgroup: o.Cgroup != "", Maps: !o.NoFaults, Type: true, Faults: true, Off: true, Messages: true}
}

// recording is a recording under way.
type recording struct {
	program *program
	child   *child
	ring    *ring
	drain   *drain
	signals *record.Signals
	sink    record.Sink
	ranks   record.Ranks // nil for none
	result  record.Result
	probes  *probes         // nil without layers
	woken   <-chan struct{} // of the ring
	shown   int             // of the files that are probed, those in the header
	began   time.Time
	zero    int64 // the same, as monotonic returns it

	loop     loop     // of the calibration
	measured measured // by the end of the calibration
}

// start sets everything up and lets the command go.
func start(ctx context.Context, o *record.Options, s record.Sink) (_ *recording, err error) {
	r := &recording{sink: s, ranks: o.Ranks}
	defer func() {
		if err != nil {
			if r.child != nil {
				r.child.kill()
			}
			r.close()
		}
	}()

	// All of the cost must be measured on one thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err = r.load(o); err != nil {
		return nil, err
	}
	if err = ctx.Err(); err != nil { // loading takes long
		return nil, err
	}
	if r.child, err = r.program.startChild(o); err != nil {
		return nil, err
	}
	if err = r.follow(ctx, o); err != nil {
		return nil, err
	}
	r.drain.writer.Name(int32(r.child.pid)) // it may end before its first fault is read
	if r.drain.gives, err = record.NewBackground(o.Nice, o.Processors); err != nil {
		return nil, err
	}
	if err = r.child.release(); err == nil && r.ranks != nil {
		err = r.ranks.Release()
	}
	return r, err
}

// follow follows the command, and the ranks if there are some, and writes the header.
func (r *recording) follow(ctx context.Context, o *record.Options) error {
	if r.ranks == nil {
		if err := r.ready(ctx, o); err != nil {
			return err
		}
		h := record.StartHeader(o, r.child.pid, tool, r.result.Cost)
		h.Meta = append(h.Meta, r.probed()...)
		if err := errors.Join(r.program.follow(r.child.pidfd), r.begin()); err != nil {
			return err
		}
		return r.drain.writer.Begin(h)
	}
	if err := r.begin(); err != nil {
		return err
	}
	h, err := r.followRanks(ctx, o)
	if err != nil {
		return err
	}
	if err := r.ready(ctx, o); err != nil {
		return err
	}
	h.Meta = append(h.Meta, r.probed()...)
	return r.drain.writer.Begin(h)
}

// ready takes over the signals.
func (r *recording) ready(ctx context.Context, o *record.Options) (err error) {
	r.signals, err = o.Ready(ctx)
	return err
}

// load loads the program, lets it run and measures what it costs. The calling
// goroutine must be locked to its thread.
func (r *recording) load(o *record.Options) (err error) {
	c := configOf(o)
	if r.probes = planSpans(o); r.probes != nil {
		c.Spans = r.probes.all
		c.Globals = r.probes.hasGlobals()
	}
	if r.program, err = load(c); err != nil {
		return permission(err)
	}
	if r.ring, err = openRing(r.program.ring()); err != nil {
		return err
	}
	if r.result.Cost, r.loop, err = calibrate(r.program, r.ring); err != nil {
		return permission(err)
	}
	if r.measured, err = r.program.measured(); err != nil {
		return err
	}
	if err = r.program.attachAdditional(); err != nil || r.probes == nil {
		return permission(err)
	}
	r.probes.program = r.program
	if err = r.probes.installed(); err != nil {
		return err
	}
	if err = r.probes.calibrate(r.ring); err != nil {
		return permission(err)
	}
	r.result.Cost.Span = r.probes.cost()
	r.woken, err = r.ring.wakes(r.program.ring())
	return err
}

// probed returns the lines of the header for the files that were probed since the last
// ones.
func (r *recording) probed() []format.Meta {
	if r.probes == nil {
		return nil
	}
	all := r.probes.header(r.shown)
	r.shown = len(r.probes.files)
	return all
}

// begin makes this moment the time 0 of the recording.
func (r *recording) begin() error {
	r.began = time.Now()
	var err error
	if r.zero, err = monotonic(); err != nil {
		return err
	}
	r.drain = &drain{ring: r.ring, probes: r.probes, woken: r.woken, writer: record.NewWriter(r.sink, r.zero), look: r.program.look}
	if parted, ok := r.sink.(record.Parted); ok {
		parted.Ends(r.soFar)
	}
	return nil
}

// monotonic returns the time of the clock of the events, in nanoseconds. A time namespace does
// not change that clock.
func monotonic() (int64, error) {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return 0, fmt.Errorf("read the clock: %w", err)
	}
	return now.Nano() - namespaceOffset(), nil
}

// namespaceOffset returns how far the clock of the time namespace is ahead, in nanoseconds.
var namespaceOffset = sync.OnceValue(func() int64 {
	text, _ := os.ReadFile("/proc/self/timens_offsets") // missing where there are no such namespaces
	for line := range strings.Lines(string(text)) {
		var seconds, nanos int64
		if n, _ := fmt.Sscanf(line, "monotonic %d %d", &seconds, &nanos); n == 2 {
			return seconds*1e9 + nanos
		}
	}
	return 0
})

// clock returns the time of the recording, in nanoseconds.
func (r *recording) clock() int64 {
	now, _ := monotonic() // begin has read the clock before
	return now - r.zero
}

// soFar is what a record.Parted sink is given.
func (r *recording) soFar() (*format.Header, error) {
	result := record.Result{Cost: r.result.Cost, Elapsed: time.Since(r.began)}
	r.drain.writer.Handed(&result.Coverage)
	lost, err := r.program.lost()
	if err = errors.Join(err, r.program.settle(), r.program.missing(&result.Coverage)); err != nil {
		return nil, err
	}
	lost.addTo(&result)
	return r.drain.writer.EndHeader(&result, false), nil
}

// run records until await returns. failed is closed when draining has failed.
func (r *recording) run(ctx context.Context, await func(_ context.Context, failed <-chan struct{}) error) (record.Result, error) {
	stop, drained := make(chan struct{}), make(chan struct{})
	var drainErr error
	var enough *record.Enough
	var ended time.Duration
	go func() {
		defer close(drained)
		if drainErr = r.drain.run(stop); drainErr != nil {
			ended = time.Since(r.began)
			if errors.As(drainErr, &enough) {
				drainErr = nil
			}
			// The command must not pay for what is not kept.
			drainErr = errors.Join(drainErr, r.program.detach())
		}
	}()
	err := await(ctx, drained)
	err = errors.Join(err, r.program.settle(), r.program.end())
	close(stop)
	<-drained
	err = errors.Join(drainErr, err)
	if enough != nil {
		r.result.Ended, r.result.Elapsed = enough.Why, ended
	}

	var last *format.Header
	if r.ranks != nil {
		r.result.Elapsed = time.Since(r.began)
		last = r.ranks.Part(ctx, r.clock)
	}
	r.result.Events = r.drain.writer.Events()
	lost, lerr := r.program.lost()
	r.result.Coverage = r.drain.writer.Account()
	if err = errors.Join(err, lerr, r.program.missing(&r.result.Coverage)); err != nil {
		return r.result, err
	}
	lost.addTo(&r.result)
	all, err := r.program.measured()
	if err != nil {
		return r.result, err
	}
	r.result.Cost.Span = r.probes.cost()
	r.result.InPlace = inPlace(r.result.Cost, r.loop, r.measured, all)
	h := r.drain.writer.EndHeader(&r.result, r.child != nil)
	if last != nil {
		h.Meta = append(last.Meta, h.Meta...)
	}
	h.Meta = append(h.Meta, r.probed()...)
	if r.probes != nil {
		h.Meta = append(h.Meta, r.probes.values()...)
		r.result.Probed, r.result.Spans = r.probes.files, r.probes.recorded()
	}
	return r.result, r.sink.WriteHeader(h)
}

// livePause is how often descendants that outlive the command are looked for.
const livePause = 10 * time.Millisecond

// await waits for the command, and then for its descendants, unless they are
// no longer recorded because draining has failed.
func (r *recording) await(ctx context.Context, failed <-chan struct{}) error {
	type end struct {
		status unix.WaitStatus
		err    error
	}
	ended := make(chan end, 1)
	go func() {
		status, err := r.child.wait(0)
		ended <- end{status, err}
	}()

	done := ctx.Done()
	for running := true; running; {
		select {
		case e := <-ended:
			if e.err != nil {
				return e.err
			}
			r.result.Status, r.result.Elapsed = record.ExitStatus(e.status), time.Since(r.began)
			running = false
		case s := <-r.signals.C:
			if record.Forwarded(s) {
				r.child.signal(s)
			}
		case <-done:
			r.child.signal(unix.SIGKILL)
			done = nil
		}
	}

	tick := time.NewTicker(livePause)
	defer tick.Stop()
	for {
		live, err := r.program.live()
		if live <= 0 || err != nil || ctx.Err() != nil {
			return err
		}
		select {
		case <-r.signals.C:
			return nil
		case <-failed:
			return nil
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

func (r *recording) close() {
	if r.drain != nil {
		_ = r.drain.gives.End()
	}
	if r.signals != nil {
		r.signals.Release()
	}
	if r.child != nil {
		r.child.close()
	}
	if r.ring != nil {
		_ = r.ring.close()
	}
	if r.program != nil {
		_ = r.program.close()
	}
}
