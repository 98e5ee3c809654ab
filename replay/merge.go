package replay

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/internal/stats"
	"pianola/replay/engine"
	"pianola/replay/fileset"
)

// RankResult is the result of one of several processes.
type RankResult struct {
	Rank     int     // of the process
	Node     string  // where it ran
	Recorded []int32 // the recorded ranks that it replayed
	Events   int64
	Elapsed  time.Duration // from the common start to its last event
	Late     time.Duration // how long after the common start its threads started; 0 if they were ready
	Offset   time.Duration // of the clock of rank 0 to its own
	Clock    time.Duration // error of Offset, at most
	Memory   int64         // bytes that its process had in memory at most
	Carrier  int64         // the same of the process that carries its messages
}

// Edges are the waits of threads for events of other processes, including events that had ended.
type Edges struct {
	Count   int64
	Latency stats.Quantiles // from the end of an event until the other process knew
}

// collectRank fills in the part of this process.
func (r *Result) collectRank(ctx context.Context, e *playing) error {
	s := e.Session
	carried, err := s.End(ctx)
	if err != nil {
		return err
	}
	var u unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &u)
	own := RankResult{
		Rank: s.Rank, Node: s.Nodes[s.Rank], Events: r.Executed, Elapsed: r.Elapsed, Late: time.Duration(e.LateStart()), Offset: time.Duration(s.Offset), Clock: time.Duration(s.Error),
		Memory: u.Maxrss << 10, Carrier: carried.Memory,
	}
	for i, player := range playersOf(e.Whole.Header(), s.Size) {
		if rank := e.Whole.Header().Rank(int32(i + 1)); player == s.Rank && rank >= 0 && !slices.Contains(own.Recorded, rank) {
			own.Recorded = append(own.Recorded, rank)
		}
	}
	slices.Sort(own.Recorded)
	r.Ranks = []RankResult{own}
	r.Edges.Count = carried.Edges
	latency, err := carried.Latency.Histogram()
	if err != nil {
		return fmt.Errorf("latencies: %w", err)
	}
	r.latency.Merge(latency)
	return nil
}

// rankShare is a Result on its way to rank 0. Logs follow it.
type rankShare struct {
	Elapsed                    time.Duration
	Interrupted                bool
	Executed, Failed, Differed int64
	Left                       int64
	ByOp                       [format.NumOps]OpResult
	Lateness                   [][2]int64 // nanoseconds and count
	Latest                     int64
	OrderWait                  time.Duration
	LateReads, MemoryBytes     int64
	Floor                      format.Floor
	Prepared                   fileset.Prepared
	Notes                      []string
	Differences                []Difference
	Rank                       RankResult
	Edges                      int64
	Latency                    stats.Counts
}

// The kinds of pieces of a result, their first byte.
const (
	pieceResult byte = iota
	pieceLog         // number of a thread, then entries
	pieceEnd
)

// logPiece is how many entries of a log are sent at a time.
const logPiece = 4096

// mergeRanks brings the Results of all players together at rank 0.
func (r *Result) mergeRanks(ctx context.Context, e *playing) error {
	if err := r.collectRank(ctx, e); err != nil {
		return err
	}
	s := e.Session
	if s.Size > 1 {
		var err error
		if s.Rank == 0 {
			err = r.receiveAll(ctx, e)
		} else {
			err = r.sendParts(ctx, e)
		}
		if err != nil {
			return err
		}
	}
	r.Edges.Latency = r.latency.Quantiles()
	_, err := s.Gather(ctx, nil) // until then, the root stays as it is
	return err
}

func (r *Result) sendParts(ctx context.Context, e *playing) error {
	s := e.Session
	all := rankShare{
		Elapsed: r.Elapsed, Interrupted: r.Interrupted, Executed: r.Executed, Failed: r.Failed, Differed: r.Differed, Left: r.Left, ByOp: r.ByOp,
		Latest: r.Lateness.Max, OrderWait: r.OrderWait, LateReads: r.LateReads, MemoryBytes: r.MemoryBytes, Floor: r.floor, Prepared: r.Prepared,
		Notes: r.Notes, Differences: r.Differences, Rank: r.Ranks[0], Edges: r.Edges.Count, Latency: r.latency.Counts(),
	}
	r.late.Each(func(nanos, count int64) { all.Lateness = append(all.Lateness, [2]int64{nanos, count}) })
	text, err := json.Marshal(&all)
	if err != nil {
		return err
	}
	if err := s.SendResult(ctx, append([]byte{pieceResult}, text...)); err != nil {
		return err
	}
	entries := make([]engine.Entry, logPiece)
	for i := range r.logs {
		for at := int64(0); at < r.logs[i].Len(); {
			n, err := r.logs[i].Read(at, entries)
			if err != nil {
				return engine.NoEOF(err)
			}
			piece := binary.LittleEndian.AppendUint32([]byte{pieceLog}, uint32(i+1))
			if err := s.SendResult(ctx, append(piece, engine.BytesOf(entries[:n])...)); err != nil {
				return err
			}
			at += int64(n)
		}
	}
	return s.SendResult(ctx, []byte{pieceEnd})
}

// receiveAll takes the Results of all others.
func (r *Result) receiveAll(ctx context.Context, e *playing) error {
	s := e.Session
	players := playersOf(e.Whole.Header(), s.Size)
	entries := make([]engine.Entry, logPiece)
	for left := s.Size - 1; left > 0; {
		from, piece, err := s.TakeResult(ctx)
		if err != nil {
			return err
		}
		if len(piece) == 0 {
			return fmt.Errorf("%s sent an empty piece of its result", s.Name(from))
		}
		switch kind, piece := piece[0], piece[1:]; kind {
		case pieceEnd:
			left--
		case pieceResult:
			err = r.add(piece)
		case pieceLog:
			thread := int64(0)
			if len(piece) >= 4 {
				thread = int64(binary.LittleEndian.Uint32(piece))
				piece = piece[4:]
			}
			if n := len(piece) / int(engine.EntrySize); thread < 1 || thread > int64(len(players)) || players[thread-1] != from || n > logPiece || r.logs[thread-1].Len()+int64(n) > e.Whole.Len(int32(thread)) {
				err = errors.New("the log of a thread that it does not replay, or too much of it")
			} else {
				copy(engine.BytesOf(entries), piece)
				err = r.logs[thread-1].Append(entries[:n])
			}
		default:
			err = errors.New("a piece of an unknown kind")
		}
		if err != nil {
			return fmt.Errorf("result of %s: %w", s.Name(from), err)
		}
	}
	slices.SortFunc(r.Ranks, func(a, b RankResult) int { return a.Rank - b.Rank })
	r.Lateness = r.late.Quantiles()
	r.sortDifferences(e)
	return nil
}

// add adds the Result of another player.
func (r *Result) add(text []byte) error {
	var o rankShare
	if err := json.Unmarshal(text, &o); err != nil {
		return err
	}
	r.Elapsed = max(r.Elapsed, o.Elapsed)
	if o.Floor.Total > r.floor.Total {
		r.floor = o.Floor
	}
	r.Interrupted, r.Left = r.Interrupted || o.Interrupted, r.Left+o.Left
	r.Executed, r.Failed, r.Differed = r.Executed+o.Executed, r.Failed+o.Failed, r.Differed+o.Differed
	for i := range r.ByOp {
		to, from := &r.ByOp[i], &o.ByOp[i]
		to.Executed, to.Failed, to.Differed = to.Executed+from.Executed, to.Failed+from.Failed, to.Differed+from.Differed
	}
	for _, l := range o.Lateness {
		r.late.AddCount(l[0], l[1])
	}
	if o.Latest > 0 {
		r.late.AddCount(o.Latest, 0)
	}
	r.OrderWait += o.OrderWait
	r.LateReads += o.LateReads
	r.MemoryBytes += o.MemoryBytes
	r.Prepared.Add(&o.Prepared)
	for _, note := range o.Notes {
		if !slices.Contains(r.Notes, note) {
			r.Notes = append(r.Notes, note)
		}
	}
	for i := range o.Differences {
		r.addDifference(&o.Differences[i])
	}
	r.Ranks = append(r.Ranks, o.Rank)
	r.Edges.Count += o.Edges
	latency, err := o.Latency.Histogram()
	if err == nil {
		r.latency.Merge(latency)
	}
	return err
}
