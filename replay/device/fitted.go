package device

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"

	"pianola/format"
	"pianola/internal/files"
)

// Fitted is a model of a whole device, fitted from measurements: it predicts how long a
// call takes from the work that the call causes (Demand). Times are in seconds.
//
// A request waits for a server of requests and for one of bytes, and then takes its
// latency, in which others can be served. With one request at a time the latency
// determines the time, under load the servers do. The servers are token buckets: they
// save up idle time, at most Burst.
type Fitted struct {
	Read   Direction `json:"read"`
	Write  Direction `json:"write"`
	Shared bool      `json:"shared"`        // reads and writes have the same servers
	Burst  float64   `json:"burst_seconds"` // that an idle server saves up
	Sync   Sync      `json:"sync"`
	Spread Spreads   `json:"spread"`
	Cache  Cache     `json:"cache"`
}

// Direction is how a device reads, or writes.
type Direction struct {
	Random     Access  `json:"random"`
	Sequential Access  `json:"sequential"`
	Bandwidth  float64 `json:"bandwidth_bytes_per_second"`
}

// Access is the cost of a request, besides its bytes.
type Access struct {
	Latency float64 `json:"latency_seconds"`
	IOPS    float64 `json:"iops"` // requests that are served in a second
}

// Sync is the cost of a sync after dirty pages are written: a flush of the device, or
// a commit of the file system's journal, which has a flush in it. Both are requests to
// the server of writes, and then latency. Syncs that need a commit while one is
// written share the next one.
type Sync struct {
	Flush         float64 `json:"flush_latency_seconds"`
	FlushRequests float64 `json:"flush_requests"`
	Commit        float64 `json:"commit_latency_seconds"`
	CommitFixed   float64 `json:"commit_requests"`
	CommitBlock   float64 `json:"commit_requests_per_block"`
}

// Spreads are the factors by which the work of single calls differs from the model, as
// percentiles whose mean is 1. An empty one stands for 1.
type Spreads struct {
	Read  []Factor `json:"read"`
	Write []Factor `json:"write"`
	Sync  []Factor `json:"sync"`
}

// Factor is a percentile.
type Factor struct {
	Percentile float64 `json:"percentile"`
	Factor     float64 `json:"factor"`
}

// The file.
const (
	fileVersion = 1
	maxFile     = 1 << 20 // bytes
	maxFactors  = 1 << 10 // of a spread
	maxHeldOut  = 1 << 10
)

// File is a fitted model in its file.
type File struct {
	Version int       `json:"pianola_model"`
	Meta    []Remark  `json:"about"` // how and where it was fitted, and from what
	Model   Fitted    `json:"model"`
	HeldOut []HeldOut `json:"held_out"` // errors of the model on samples that it was not fitted to
}

// Remark is a key and a value, as a script has them in its header.
type Remark struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// HeldOut compares a measurement with the prediction of a model that was fitted without it.
type HeldOut struct {
	Name      string  `json:"name"`  // of a recording, a part of it, or a job
	Class     string  `json:"class"` // read, write or sync
	Calls     int64   `json:"calls"`
	Measured  float64 `json:"measured_seconds"` // of all these calls
	Predicted float64 `json:"predicted_seconds"`
}

// Error returns the relative error of the prediction; below 0 if it is too short.
func (h *HeldOut) Error() float64 { return h.Predicted/h.Measured - 1 }

// FileError is an error in the file of a model, or in fio's JSON.
type FileError struct {
	Line int // from 1; 0 if it is of the whole
	Err  error
	name string // of the file, "" if it is not known
}

func (e *FileError) Error() string {
	switch {
	case e.name != "" && e.Line > 0:
		return fmt.Sprintf("%s:%d: %v", e.name, e.Line, e.Err)
	case e.name != "":
		return fmt.Sprintf("%s: %v", e.name, e.Err)
	case e.Line > 0:
		return fmt.Sprintf("line %d: %v", e.Line, e.Err)
	}
	return e.Err.Error()
}

func (e *FileError) Unwrap() error { return e.Err }

// open opens a file of a set for read. All errors are a *FileError.
func open(s *files.Set, name string, read func(io.Reader) error) error {
	f, err := s.Open(name)
	if err != nil {
		return &FileError{Err: err} // which has the name
	}
	defer f.Close()
	err = read(f)
	if e, ok := errors.AsType[*FileError](err); ok {
		e.name = name
	} else if err != nil {
		return &FileError{Err: err, name: name}
	}
	return err
}

// Open is ReadFile of a file of a set. All errors are a *FileError.
func Open(s *files.Set, name string) (f *File, err error) {
	err = open(s, name, func(r io.Reader) error {
		f, err = ReadFile(r)
		return err
	})
	return f, err
}

// ErrFile is the error of a file that is not a model.
var ErrFile = errors.New("not a model of pianola model fit")

// ReadFile reads a file, at most 1 MiB. Errors of the file are a *FileError.
func ReadFile(r io.Reader) (*File, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxFile {
		return nil, &FileError{Err: fmt.Errorf("%w: larger than %d MiB", ErrFile, maxFile>>20)}
	}
	var kind struct {
		Version *int `json:"pianola_model"`
	}
	if err := json.Unmarshal(text, &kind); err != nil {
		return nil, lined(text, err)
	}
	switch {
	case kind.Version == nil:
		return nil, &FileError{Err: ErrFile}
	case *kind.Version != fileVersion:
		return nil, &FileError{Err: fmt.Errorf("a model of version %d; this pianola reads version %d", *kind.Version, fileVersion)}
	}
	f := &File{}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(f); err != nil {
		if _, ok := errors.AsType[*json.UnmarshalTypeError](err); !ok {
			err = &FileError{Line: lineAt(text, d.InputOffset()), Err: err} // an unknown field
		}
		return nil, lined(text, err)
	}
	if len(f.HeldOut) > maxHeldOut {
		return nil, &FileError{Err: fmt.Errorf("held_out: more than %d", maxHeldOut)}
	}
	if err := f.Model.Check(); err != nil {
		return nil, &FileError{Err: err}
	}
	return f, nil
}

// lined returns an error of JSON with its line.
func lined(text []byte, err error) error {
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		return &FileError{Line: lineAt(text, e.Offset), Err: err}
	}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return &FileError{Line: lineAt(text, e.Offset), Err: fmt.Errorf("%s: want a %s, not a %s", e.Field, e.Type, e.Value)}
	}
	return err
}

func lineAt(text []byte, offset int64) int {
	return 1 + bytes.Count(text[:min(max(offset, 0), int64(len(text)))], []byte{'\n'})
}

// Write writes the file. ReadFile reads back the same.
func (f *File) Write(w io.Writer) error {
	f.Version = fileVersion
	e := json.NewEncoder(w)
	e.SetIndent("", "\t")
	return e.Encode(f)
}

// maxSeconds bounds each time of a model.
const maxSeconds = 3600

// Check returns an error for the first impossible value.
func (f *Fitted) Check() error {
	for _, v := range []struct {
		name      string
		value     float64
		least, at float64
	}{
		{"burst_seconds", f.Burst, 0, maxSeconds},
		{"sync.flush_latency_seconds", f.Sync.Flush, 0, maxSeconds},
		{"sync.flush_requests", f.Sync.FlushRequests, 0, 1e6},
		{"sync.commit_latency_seconds", f.Sync.Commit, 0, maxSeconds},
		{"sync.commit_requests", f.Sync.CommitFixed, 0, 1e6},
		{"sync.commit_requests_per_block", f.Sync.CommitBlock, 0, 1e6},
		{"read.random.latency_seconds", f.Read.Random.Latency, 0, maxSeconds},
		{"read.random.iops", f.Read.Random.IOPS, minRate, maxRate},
		{"read.sequential.latency_seconds", f.Read.Sequential.Latency, 0, maxSeconds},
		{"read.sequential.iops", f.Read.Sequential.IOPS, minRate, maxRate},
		{"read.bandwidth_bytes_per_second", f.Read.Bandwidth, minRate, maxRate},
		{"write.random.latency_seconds", f.Write.Random.Latency, 0, maxSeconds},
		{"write.random.iops", f.Write.Random.IOPS, minRate, maxRate},
		{"write.sequential.latency_seconds", f.Write.Sequential.Latency, 0, maxSeconds},
		{"write.sequential.iops", f.Write.Sequential.IOPS, minRate, maxRate},
		{"write.bandwidth_bytes_per_second", f.Write.Bandwidth, minRate, maxRate},
		{"cache.capacity_bytes", float64(f.Cache.Capacity), 0, math.MaxInt64},
		{"cache.dirty_bytes", float64(f.Cache.Dirty), 0, math.MaxInt64},
		{"cache.readahead_bytes", float64(f.Cache.Readahead), 0, 1 << 30},
	} {
		if !(v.value >= v.least && v.value <= v.at) {
			return fmt.Errorf("%s: %v is not from %v to %v", v.name, v.value, v.least, v.at)
		}
	}
	for i, list := range [][]Factor{f.Spread.Read, f.Spread.Write, f.Spread.Sync} {
		if err := checkSpread(list); err != nil {
			return fmt.Errorf("spread.%s: %w", [...]string{"read", "write", "sync"}[i], err)
		}
	}
	return nil
}

// The bounds of rates, in requests or bytes a second.
const (
	minRate = 1e-3
	maxRate = 1e15
)

func checkSpread(list []Factor) error {
	if len(list) > maxFactors {
		return fmt.Errorf("more than %d percentiles", maxFactors)
	}
	for i, f := range list {
		switch {
		case !(f.Percentile >= 0 && f.Percentile <= 100):
			return fmt.Errorf("percentile %v is not from 0 to 100", f.Percentile)
		case !(f.Factor >= 0 && f.Factor <= 1e6):
			return fmt.Errorf("factor %v is not from 0 to 1e+06", f.Factor)
		case i > 0 && (f.Percentile <= list[i-1].Percentile || f.Factor < list[i-1].Factor):
			return errors.New("percentiles and their factors rise")
		}
	}
	return nil
}

// load is nanoseconds of a server's work, from a time on.
type load struct{ begins, work int64 }

// server is a queue of requests and of bytes, one after the other.
type server struct{ requests, bytes int64 } // when each has done all requests so far

// fitted is a Fitted in use.
type fitted struct {
	*Fitted
	burst         int64
	servers       [2]server // of reads and of writes; the first alone where they are shared
	begins, ended int64     // of the last commit
	pending       [16]load  // work of commits for the server of writes once they begin, in order
	waiting       int       // how many of these there are
	spreads       [3][]point
	drawn         [3]float64
}

func (f *Fitted) start() *fitted {
	d := &fitted{Fitted: f, burst: nanos(f.Burst)}
	for i, list := range [][]Factor{f.Spread.Read, f.Spread.Write, f.Spread.Sync} {
		for _, p := range list {
			d.spreads[i] = append(d.spreads[i], point{p.Percentile / 100, max(p.Factor, 1e-6)})
		}
	}
	return d
}

// maxTime bounds all times of a model in use, in nanoseconds (73 years), so that a sum of
// two never overflows.
const maxTime = 1 << 61

func nanos(seconds float64) int64 { return int64(min(seconds*1e9, maxTime)) }

// after returns the time that lies so many nanoseconds after another.
func after(at, nanos int64) int64 { return min(min(at, maxTime)+nanos, maxTime) }

// writer returns the server of writes.
func (d *fitted) writer() *server {
	if d.Shared {
		return &d.servers[0]
	}
	return &d.servers[1]
}

// begun gives the server of writes the commits that have begun by a time.
func (d *fitted) begun(at int64) {
	s, done := d.writer(), 0
	for done < d.waiting && d.pending[done].begins <= at {
		s.requests = after(max(s.requests, d.pending[done].begins-d.burst), d.pending[done].work)
		done++
	}
	d.waiting = copy(d.pending[:], d.pending[done:d.waiting])
}

// serve returns when a server has done so many nanoseconds of requests and of bytes.
func (d *fitted) serve(writes bool, at, requests, bytes int64) int64 {
	s := &d.servers[0]
	if writes || d.Shared {
		s = d.writer()
		d.begun(at)
	}
	s.requests = after(max(s.requests, at-d.burst), requests)
	s.bytes = after(max(s.bytes, at-d.burst), bytes)
	return max(at, s.requests, s.bytes)
}

// move returns when the requests of a demand are done that begin at a time. They take
// vary times as long as the model predicts.
func (d *fitted) move(q *Demand, writes bool, at int64, vary float64) int64 {
	to := &d.Read
	if writes {
		to = &d.Write
	}
	if q.Requests <= 0 {
		return at
	}
	first := &to.Random
	if q.Sequential {
		first = &to.Sequential
	}
	requests := 1/first.IOPS + float64(q.Requests-1)/to.Random.IOPS
	return after(d.serve(writes, at, nanos(vary*requests), nanos(vary*float64(q.Bytes)/to.Bandwidth)), nanos(vary*first.Latency))
}

// settle returns when the flush or the commit of a sync ends whose dirty pages are written
// at a time. A commit that begins later includes the sync.
func (d *fitted) settle(q *Demand, at int64, vary float64) int64 {
	y, rate := &d.Sync, d.Write.Random.IOPS
	if !q.Commit {
		return after(d.serve(true, at, nanos(vary*y.FlushRequests/rate), 0), nanos(vary*y.Flush))
	}
	if at <= d.begins {
		return d.ended
	}
	if d.waiting == len(d.pending) {
		d.begun(d.pending[0].begins)
	}
	d.begins = max(at, d.ended)
	d.pending[d.waiting] = load{d.begins, nanos(vary * (y.CommitFixed + y.CommitBlock*float64(q.Blocks)) / rate)}
	d.waiting++
	done := d.writer().requests
	for _, p := range d.pending[:d.waiting] {
		done = after(max(done, p.begins-d.burst), p.work)
	}
	d.ended = after(max(d.begins, done), nanos(vary*y.Commit))
	return d.ended
}

// end returns when a call ends that has a demand and was issued at a time.
func (d *fitted) end(q *Demand, issued int64) int64 {
	switch q.Work {
	case ReadWork:
		return d.move(q, false, issued, d.vary(0))
	case WriteWork:
		return d.move(q, true, issued, d.vary(1))
	case SubmitWork:
		d.move(q, true, issued, 1)
	case SyncWork:
		vary := d.vary(2)
		return d.settle(q, d.move(q, true, issued, vary), vary)
	}
	return issued
}

// golden is the golden ratio: multiples of it, modulo 1, are spread evenly however many
// there are, so that the mean of few draws is near that of the distribution.
const golden = 0.6180339887498949

// vary draws the factor by which the work of a call differs. Less work for one call also
// shortens the wait of the next one.
func (d *fitted) vary(class int) float64 {
	if len(d.spreads[class]) == 0 {
		return 1
	}
	d.drawn[class] += golden
	d.drawn[class] -= math.Floor(d.drawn[class])
	return between(d.spreads[class], d.drawn[class])
}

// className is what a class of work is called.
func className(w Work) string {
	switch w {
	case ReadWork:
		return format.ClassRead.String()
	case SyncWork:
		return format.ClassSync.String()
	}
	return format.ClassWrite.String()
}
