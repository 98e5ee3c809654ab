package plugin

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/format/script"
)

// Backend is a program that executes events. For each event it reads a line of an
// intermediate script, with the recorded result and without compute and edges, and
// answers with a line that holds the result. In a trace of several threads, the
// thread's number is at the start of each line and each answer. Answers of different
// threads may come in any order.
//
// All threads share one program, because they share files, descriptors and
// offsets.
type Backend struct {
	run     *process
	strings []string
	several bool
	threads []threadState

	writing sync.Mutex
	turn    chan struct{} // holds a token: its owner reads for all

	// Guarded by the token.
	buf        []byte
	start, end int
	err        error // why there are no more answers
}

// threadState is the state of a replayed thread. Its memory is allocated before the first
// event.
type threadState struct {
	line   []byte
	text   [format.MaxStrings][]byte
	event  format.Event
	span   bool // the question is a span
	asked  atomic.Bool
	answer chan Answer
}

// Answer is the answer of a program.
type Answer struct {
	Result  int64  // or -errno; of a span what the function returned
	Dur     int64  // nanoseconds that the call took, by the program's account; format.Unknown where it gave none
	Refused string // why the program did not play the span, or ""
	Remark  string // how it played the span otherwise than it was recorded, or ""
}

const (
	maxAnswer = 4 << 10 // bytes
	lineSize  = 1 << 10 // bytes of a line and of a string that need no new allocation
)

// Backend runs the program for a trace. It must be closed.
func (p *Program) Backend(ctx context.Context, t format.Trace) (*Backend, error) {
	return p.backend(ctx, t.Header(), t.Strings())
}

func (p *Program) backend(ctx context.Context, h *format.Header, strings []string) (*Backend, error) {
	r, err := p.start(ctx, true)
	if err != nil {
		return nil, err
	}
	n := max(1, len(h.Threads))
	o := &Backend{
		run: r, strings: strings, several: n > 1, threads: make([]threadState, n),
		turn: make(chan struct{}, 1), buf: make([]byte, maxAnswer),
	}
	o.turn <- struct{}{}
	for i := range o.threads {
		a := &o.threads[i]
		a.answer, a.line = make(chan Answer, 1), make([]byte, 0, lineSize)
		for k := range a.text {
			a.text[k] = make([]byte, 0, lineSize)
		}
	}
	// Play reports why the program stopped reading.
	if err = writeHeader(o, h); err != nil && !errors.Is(err, unix.EPIPE) {
		r.closeInput()
		return nil, r.end(p.named(err))
	}
	r.awaitRead()
	return o, nil
}

// writeHeader writes the lines before the events of an intermediate script.
func writeHeader(to io.Writer, h *format.Header) (err error) {
	w := script.NewIntermediateWriter(to, h)
	if len(h.Append(nil)) == 0 {
		_, err = io.WriteString(to, script.IntermediateLine)
	}
	return cmp.Or(err, w.Flush())
}

// Write gives the program text.
func (o *Backend) Write(b []byte) (int, error) { return len(b), o.run.write(b, o.run.Timeout) }

// Play makes the program execute an event of a thread and returns its result or -errno.
// Threads may call it concurrently, each one call at a time. After an error the backend
// cannot be used.
func (o *Backend) Play(thread int32, r *format.Record) (int64, error) {
	a := &o.threads[thread-1]
	a.fill(thread, r, o.strings, o.several)
	got, err := o.ask(a)
	return got.Result, err
}

// ask gives the program the line of a thread, and waits for the answer.
func (o *Backend) ask(a *threadState) (Answer, error) {
	a.asked.Store(true)
	o.writing.Lock()
	_, err := o.Write(a.line)
	o.writing.Unlock()
	if errors.Is(err, errHangs) {
		<-o.turn
		o.fail(err)
		o.turn <- struct{}{}
	}
	// If the program has ended, its output explains more than the error.
	select {
	case got := <-a.answer:
		return got, nil
	case <-o.turn:
		defer func() { o.turn <- struct{}{} }()
		return o.read(a)
	}
}

// fill makes the line of an event.
func (a *threadState) fill(thread int32, r *format.Record, strings []string, several bool) {
	e := &a.event
	*e = format.Event{Op: r.Op, TID: thread, Dur: format.Unknown, Ret: r.Ret, Args: r.Args}
	text := 0
	for i, arg := range r.Op.Info().Args {
		switch {
		case arg.Kind == format.Addr:
			e.Args[i] = 0
		case arg.Kind.IsString():
			if n := r.Args[i]; n >= 0 && n < int64(len(strings)) {
				a.text[text] = append(a.text[text][:0], strings[n]...)
				e.Str[text] = a.text[text]
			}
			text++
		}
	}
	a.line = a.line[:0]
	if several {
		a.line = append(strconv.AppendInt(a.line, int64(thread), 10), ' ')
	}
	a.line = script.AppendOperation(a.line, e)
}

// read reads answers until there is one for the thread. The caller holds the token.
func (o *Backend) read(a *threadState) (Answer, error) {
	for {
		select {
		case got := <-a.answer:
			return got, nil
		default:
		}
		if o.err != nil {
			return Answer{}, o.err
		}
		if err := o.next(); err != nil {
			o.fail(err)
		}
	}
}

// next takes an answer to its thread.
func (o *Backend) next() error {
	for {
		if n := bytes.IndexByte(o.buf[o.start:o.end], '\n'); n >= 0 {
			line := o.buf[o.start : o.start+n]
			o.start += n + 1
			return o.take(line)
		}
		if o.start > 0 {
			o.end = copy(o.buf, o.buf[o.start:o.end])
			o.start = 0
		}
		if o.end == len(o.buf) {
			return fmt.Errorf("an answer is longer than %d bytes", maxAnswer)
		}
		n, err := o.run.Read(o.buf[o.end:])
		o.end += n
		if err != nil {
			return err
		}
	}
}

var errAnswer = errors.New("expected a number, -1 and an error name, or ?")

// take passes an answer, without its newline, to its thread.
func (o *Backend) take(line []byte) error {
	thread := int64(1)
	rest := bytes.TrimSpace(line)
	if o.several {
		first, after, _ := bytes.Cut(rest, []byte(" "))
		thread, rest = number(first), bytes.TrimSpace(after)
	}
	if thread < 1 || thread > int64(len(o.threads)) {
		return fmt.Errorf("answer %.100q: expected a thread number before the result", line)
	}
	a := &o.threads[thread-1]
	got, err := a.parse(rest)
	if err != nil {
		return fmt.Errorf("answer %.100q: %w", line, err)
	}
	if !a.asked.CompareAndSwap(true, false) {
		return fmt.Errorf("answer %.100q matches no pending event", line)
	}
	a.answer <- got
	return nil
}

// parse parses an answer after the number of its thread.
func (a *threadState) parse(b []byte) (Answer, error) {
	if a.span {
		return spanAnswer(b)
	}
	got, ok := result(b)
	if !ok {
		return Answer{}, errAnswer
	}
	return Answer{Result: got, Dur: format.Unknown}, nil
}

// result parses a result in the form of scripts: 17, ?, -1 ENOENT, with or without a
// text in parentheses.
func result(b []byte) (int64, bool) {
	if len(b) == 1 && b[0] == '?' {
		return format.NoResult, true
	}
	first, rest, _ := bytes.Cut(b, []byte(" "))
	if rest = bytes.TrimSpace(rest); len(rest) > 0 {
		name, text, _ := bytes.Cut(rest, []byte(" "))
		errno, ok := format.ErrnoNumber(name)
		return -int64(errno), ok && string(first) == "-1" && (len(text) == 0 || text[0] == '(' && text[len(text)-1] == ')')
	}
	if len(first) > 0 && first[0] == '-' {
		errno := number(first[1:])
		return -errno, errno > 0 && errno <= format.MaxErrno
	}
	v := number(first)
	return v, v >= 0
}

// fail ends the program because of an error. The caller holds the token.
func (o *Backend) fail(fault error) {
	if o.err != nil {
		return
	}
	if errors.Is(fault, io.EOF) {
		fault = errors.New("closed its output before the replay had ended")
	}
	o.err = o.stop(fault)
}

// stop waits for the end of the program, and returns its error.
func (o *Backend) stop(fault error) error {
	if fault != nil && !o.run.eof {
		o.run.shot = !o.run.hasEnded()
		o.run.kill()
	}
	o.run.closing.Store(true)
	o.writing.Lock()
	o.run.closeInput()
	o.writing.Unlock()
	return o.run.end(o.run.named(fault))
}

var errClosed = errors.New("the backend is closed")

// Close closes the program's input and waits for its end. A failure of the program is
// an error. No call of Play may be running.
func (o *Backend) Close() error {
	<-o.turn
	defer func() { o.turn <- struct{}{} }()
	if o.err != nil {
		return o.err
	}
	o.err = errClosed
	o.writing.Lock()
	o.run.closeInput()
	o.writing.Unlock()
	var fault error
	for fault == nil {
		fault = o.next()
	}
	if errors.Is(fault, io.EOF) {
		fault = nil
	}
	return o.stop(fault)
}
