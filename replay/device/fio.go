package device

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"pianola/internal/files"
)

// Job is a Sample: a job of fio, which is repeated by the model to predict its times.
type Job struct {
	name       string
	depth      int   // requests that are in flight
	size       int64 // of a request, bytes
	readShare  float64
	sequential bool
	direct     bool
	syncEvery  int   // writes; 0 for no syncs
	commits    int32 // blocks of metadata that each sync commits; 0 for no commit
	think      time.Duration
	thinkEvery int // requests

	seconds           float64 // that it ran
	read, write, sync measured
}

// measured is the calls of a class that a job made.
type measured struct {
	calls int64
	mean  float64    // seconds
	parts []weighted // percentiles of single calls, in seconds
}

// The bounds of fio's JSON.
const (
	maxFio   = 64 << 20 // bytes
	maxJobs  = 1 << 10
	maxDepth = 1 << 10
)

// fioFile is the part of fio's JSON that a model uses.
type fioFile struct {
	Version string            `json:"fio version"`
	Global  map[string]string `json:"global options"`
	Jobs    []fioJob          `json:"jobs"`
}

type fioJob struct {
	Name    string            `json:"jobname"`
	Group   int64             `json:"groupid"`
	Error   int64             `json:"error"`
	Options map[string]string `json:"job options"`
	Read    fioCalls          `json:"read"`
	Write   fioCalls          `json:"write"`
	Sync    fioCalls          `json:"sync"`
}

type fioCalls struct {
	Calls     int64      `json:"total_ios"`
	IOPS      float64    `json:"iops"`
	Runtime   float64    `json:"runtime"` // milliseconds
	Latency   fioLatency `json:"lat_ns"`
	Completed fioLatency `json:"clat_ns"`
}

type fioLatency struct {
	Mean        float64            `json:"mean"`
	Percentiles map[string]float64 `json:"percentile"`
}

// OpenFio is ReadFio of a file of a set. All errors are a *FileError.
func OpenFio(s *files.Set, name string) (jobs []*Job, skipped []string, err error) {
	err = open(s, name, func(r io.Reader) error {
		jobs, skipped, err = ReadFio(r)
		return err
	})
	return jobs, skipped, err
}

// ReadFio reads what fio printed with --output-format=json or json+, at most 64 MiB. It
// returns the jobs whose figures a model can use, and why it can't use the others. Errors of the
// file are a *FileError.
func ReadFio(r io.Reader) (jobs []*Job, skipped []string, err error) {
	text, err := io.ReadAll(io.LimitReader(r, maxFio+1))
	if err != nil {
		return nil, nil, err
	}
	if len(text) > maxFio {
		return nil, nil, &FileError{Err: fmt.Errorf("larger than %d MiB", maxFio>>20)}
	}
	begin := 0
	if !bytes.HasPrefix(text, []byte{'{'}) { // messages of fio precede the document
		begin = bytes.Index(text, []byte("\n{")) + 1
	}
	if begin == 0 && !bytes.HasPrefix(text, []byte{'{'}) {
		return nil, nil, &FileError{Err: errors.New("not JSON of fio: want the output of fio --output-format=json")}
	}
	var f fioFile
	if err := json.NewDecoder(bytes.NewReader(text[begin:])).Decode(&f); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, nil, &FileError{Line: lineAt(text, int64(len(text))), Err: err}
		}
		if e, ok := errors.AsType[*json.SyntaxError](err); ok {
			e.Offset += int64(begin)
		}
		if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			e.Offset += int64(begin)
		}
		return nil, nil, lined(text, err)
	}
	switch {
	case f.Version == "":
		return nil, nil, &FileError{Err: errors.New(`not JSON of fio: it has no "fio version"`)}
	case len(f.Jobs) > maxJobs:
		return nil, nil, &FileError{Err: fmt.Errorf("more than %d jobs", maxJobs)}
	}
	for i := range f.Jobs {
		of := &f.Jobs[i]
		option := func(name string) (string, bool) {
			if v, ok := of.Options[name]; ok {
				return v, true
			}
			v, ok := f.Global[name]
			return v, ok
		}
		// stonewall begins a group. The copies of numjobs have one name.
		if i > 0 && of.Group == f.Jobs[i-1].Group && of.Name != f.Jobs[i-1].Name {
			return nil, nil, &FileError{Err: fmt.Errorf("jobs %.100q and %.100q ran at the same time: the option stonewall has them run one after the other", f.Jobs[i-1].Name, of.Name)}
		}
		j, err := jobOf(of, option)
		if err != nil {
			skipped = append(skipped, fmt.Sprintf("%s: %v", of.Name, err))
			continue
		}
		jobs = append(jobs, j)
	}
	return jobs, skipped, nil
}

// jobOf returns the measurements of a job, or why a model can't use them.
func jobOf(of *fioJob, option func(string) (string, bool)) (*Job, error) {
	j := &Job{name: of.Name, readShare: 1}
	if of.Error != 0 {
		return nil, fmt.Errorf("it ended with error %d", of.Error)
	}
	var err error
	number := func(name string, otherwise int64, parse func(string) (int64, error)) (v int64) {
		text, ok := option(name)
		if !ok || err != nil {
			return otherwise
		}
		if v, err = parse(text); err != nil {
			err = fmt.Errorf("%s=%s: %w", name, text, err)
		}
		return v
	}
	for _, name := range []string{"bssplit", "bsrange", "bs_unaligned", "zonemode", "flow", "rate", "rate_iops", "latency_target", "verify", "sync"} {
		if v, ok := option(name); ok && v != "0" && v != "none" {
			return nil, fmt.Errorf("%s is not modelled", name)
		}
	}
	j.size = number("bs", 4096, parseFioSize)
	copies, depth := number("numjobs", 1, parseFioSize), number("iodepth", 1, parseFioSize)
	if engine, _ := option("ioengine"); slices.Contains([]string{"", "sync", "psync", "vsync", "pvsync", "pvsync2"}, engine) {
		depth = 1
	}
	j.direct = number("direct", 0, parseFioSize) != 0
	overwrite := number("overwrite", 0, parseFioSize) != 0
	fsync, fdatasync := number("fsync", 0, parseFioSize), number("fdatasync", 0, parseFioSize)
	j.think = time.Duration(number("thinktime", 0, parseFioTime))
	j.thinkEvery = int(min(max(number("thinktime_blocks", 1, parseFioSize), 1), math.MaxInt32))
	mixed := number("rwmixread", 50, parseFioSize)
	if err != nil {
		return nil, err
	}
	rw, _ := option("rw")
	if v, ok := option("readwrite"); ok {
		rw = v
	}
	kind, _, _ := strings.Cut(rw, ":")
	switch kind {
	case "", "read", "randread":
	case "write", "randwrite":
		j.readShare = 0
	case "rw", "readwrite", "randrw":
		j.readShare = float64(mixed) / 100
	default:
		return nil, fmt.Errorf("rw=%s is not modelled", rw)
	}
	j.sequential = !strings.HasPrefix(kind, "rand")
	j.syncEvery = int(min(max(fsync, fdatasync), math.MaxInt32))
	if fallocate, _ := option("fallocate"); !overwrite {
		// Its inode, and the bitmap of blocks with the descriptor of their group if
		// fio did not reserve blocks.
		if j.commits = 1; fallocate == "none" {
			j.commits = 3
		}
	}
	switch {
	case copies < 1 || depth < 1 || copies > maxDepth || copies*depth > maxDepth:
		return nil, fmt.Errorf("not from 1 to %d requests in flight", maxDepth)
	case j.size < 1 || j.size > 1<<30:
		return nil, errors.New("bs is not from 1 byte to 1 GiB")
	case j.readShare < 1 && !j.direct && j.syncEvery == 0:
		return nil, errors.New("its writes are the page cache's: neither direct nor synced")
	case j.readShare > 0 && !j.direct && !j.sequential:
		return nil, errors.New("its reads are in the page cache in part: direct=1 reads the device")
	case j.readShare > 0 && !j.direct && j.readShare < 1:
		return nil, errors.New("buffered reads together with writes are not modelled")
	case fsync > 0 && overwrite:
		return nil, errors.New("an fsync after writes in place commits or not, depending on the clock: use fdatasync")
	case j.think > 0 && depth > 1:
		return nil, errors.New("thinktime with an iodepth above 1 is not modelled")
	}
	j.depth = int(copies * depth)
	j.read, j.write, j.sync = of.Read.measured(), of.Write.measured(), of.Sync.measured()
	j.seconds = max(of.Read.Runtime, of.Write.Runtime) / 1000
	if j.read.calls+j.write.calls == 0 || !(j.seconds > 0 && j.seconds < 1e7) {
		return nil, errors.New("it made no calls")
	}
	if fdatasync > 0 && j.readShare == 0 && j.think == 0 {
		// fio does not time fdatasync, but its writes wait for nothing else.
		every := float64(fdatasync)
		mean := (float64(copies)/of.Write.IOPS - j.write.mean) * every
		if !(mean > 0 && mean < 1e7) {
			return nil, errors.New("its fdatasyncs take no time")
		}
		j.sync = measured{calls: int64(float64(j.write.calls) / every), mean: mean}
	}
	if j.syncEvery > 0 && j.sync.calls == 0 {
		return nil, errors.New("it has no times of its syncs")
	}
	return j, nil
}

// measured returns the calls of a class, none if their times are impossible.
func (c *fioCalls) measured() (m measured) {
	mean := c.Latency.Mean / 1e9
	if c.Calls <= 0 || !(mean > 0 && mean < 1e6) {
		return m
	}
	m.calls, m.mean = c.Calls, mean
	from := c.Latency.Percentiles
	if len(from) == 0 {
		from = c.Completed.Percentiles
	}
	var points []point
	for name, nanos := range from {
		if v, err := strconv.ParseFloat(name, 64); err == nil && v >= 0 && v <= 100 && nanos >= 0 {
			points = append(points, point{v / 100, nanos / 1e9})
		}
	}
	slices.SortFunc(points, func(a, b point) int { return int(math.Copysign(1, a.part-b.part)) })
	before := 0.0
	for _, p := range points {
		m.parts = append(m.parts, weighted{p.value, p.part - before})
		before = p.part
	}
	return m
}

// parseFioSize parses a number, with a suffix for bytes (fio(1), int).
func parseFioSize(text string) (int64, error) {
	lower := strings.ToLower(strings.TrimSpace(text))
	lower = strings.TrimSuffix(strings.TrimSuffix(lower, "b"), "i")
	shift := 0
	for i, unit := range []string{"k", "m", "g"} {
		if s, ok := strings.CutSuffix(lower, unit); ok {
			lower, shift = s, 10*(i+1)
			break
		}
	}
	v, err := strconv.ParseInt(lower, 10, 64)
	if err != nil || v < 0 || v > math.MaxInt64>>shift {
		return 0, errors.New("not a number that is known here")
	}
	return v << shift, nil
}

// parseFioTime parses a time, in microseconds if it has no unit, to nanoseconds.
func parseFioTime(text string) (int64, error) {
	if _, err := strconv.ParseFloat(text, 64); err == nil {
		text += "us"
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > time.Hour {
		return 0, errors.New("not a time that is known here")
	}
	return int64(d), nil
}

// Name implements Sample.
func (j *Job) Name() string { return j.name }

// maxPlayed is how many requests of a job are repeated at most.
const maxPlayed = 1000

// play repeats the job by a model and returns the mean times of its calls, in seconds.
func (j *Job) play(f *Fitted) (read, write, sync float64) {
	flat := *f
	flat.Spread = Spreads{}
	d := flat.start()
	type slot struct {
		at    int64 // when it issues the next request
		moved int   // requests since its start
	}
	const epoch = int64(1e12) // idle before
	slots := make([]slot, j.depth)
	for i := range slots {
		slots[i].at = epoch
	}
	sums := [3]float64{}
	counts := [3]float64{}
	count := func(class int, nanos int64) {
		sums[class] += float64(nanos) / 1e9
		counts[class]++
	}
	window := max(j.size, linuxReadahead/j.size*j.size) // of a buffered sequential read
	reads := 0.0
	for range maxPlayed + 20*j.depth {
		s := &slots[0]
		for i := range slots {
			if slots[i].at < s.at {
				s = &slots[i]
			}
		}
		if float64(s.at-epoch)/1e9 > j.seconds {
			break
		}
		s.moved++
		end := s.at
		if reads += j.readShare; reads >= 1 {
			reads--
			q := Demand{Work: ReadWork, Sequential: j.sequential, Requests: 1, Bytes: j.size}
			if !j.direct {
				if q.Bytes = window; (int64(s.moved)-1)*j.size%window != 0 {
					q = Demand{}
				}
			}
			end = d.end(&q, s.at)
			count(0, end-s.at)
		} else {
			if j.direct {
				end = d.end(&Demand{Work: WriteWork, Sequential: j.sequential, Requests: 1, Bytes: j.size}, s.at)
			} else {
				end += nanos(j.write.mean)
			}
			count(1, end-s.at)
			if j.syncEvery > 0 && s.moved%j.syncEvery == 0 {
				q := Demand{Work: SyncWork, Sequential: j.sequential, Requests: 1, Bytes: j.size * int64(j.syncEvery)}
				if j.direct {
					q.Requests, q.Bytes = 0, 0
				} else if !j.sequential {
					q.Requests = int32(j.syncEvery)
				}
				q.Commit, q.Blocks = j.commits > 0, j.commits
				begin := end
				end = d.end(&q, begin)
				count(2, end-begin)
			}
		}
		if j.think > 0 && s.moved%j.thinkEvery == 0 {
			end += int64(j.think)
		}
		s.at = max(end, s.at+1)
	}
	mean := func(class int) float64 { return sums[class] / max(counts[class], 1) }
	return mean(0), mean(1), mean(2)
}

func (j *Job) measure(f *Fitted) (list []figure) {
	read, write, sync := j.play(f)
	add := func(w Work, m *measured, predicted float64) {
		if n := float64(m.calls); n > 0 {
			list = append(list, figure{w, m.calls, m.mean * n, predicted * n, 1})
		}
	}
	add(ReadWork, &j.read, read)
	if j.direct {
		add(WriteWork, &j.write, write)
	}
	add(SyncWork, &j.sync, sync)
	return list
}

// spread adds the percentiles of a job that has one request in flight: those of others
// are of the queue.
func (j *Job) spread(_ *Fitted, s *spreads) {
	if j.depth > 1 || j.think > 0 {
		return
	}
	add := func(w Work, m *measured) {
		for _, p := range m.parts {
			s.add(w, p.factor/m.mean, p.weight)
		}
	}
	if j.direct || j.sequential {
		add(ReadWork, &j.read)
	}
	if j.direct {
		add(WriteWork, &j.write)
	}
	add(SyncWork, &j.sync)
}
