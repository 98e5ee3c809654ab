package profile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"pianola/format"
	"pianola/format/process"
	"pianola/internal/stats"
	"pianola/internal/table"
)

// Requests is what a server did for clients that were not recorded. A request begins when a
// message of a client has come, on a connection on which no other is under way, and ends with
// the last message to the client before its next one. So requests that a client sends without
// waiting for replies count together.
type Requests struct {
	Clients int64 // connections on which requests came
	RequestKind
	Rate  float64       // replies a second, see requests.rate
	Kinds []RequestKind // the most frequent first
}

// RequestKind is what requests with the same operations on files were.
type RequestKind struct {
	Name    string // the operations, "" for all kinds together
	Count   int64  // requests that were answered
	Bytes   int64  // in their messages
	Replied int64  // bytes in the replies
	Nanos   int64  // from request to reply, of all together
	Spent   Doing  // of the threads that took them, which do the same for all requests they have; what others did is in other calls
	Latency *Latency
}

const (
	// edgeShare is the share of the replies that Requests.Rate leaves out at the begin, where
	// caches warm up, and again at the end: in a replay not all clients end at the same time.
	edgeShare = 0.1

	// maxClients is how many connections have their requests counted, at most.
	maxClients = 1 << 16

	// maxKinds is how many kinds of requests have rows of their own, at most. Further kinds
	// share one.
	maxKinds = 64
)

// clientKey is a connection: a descriptor of a table, or a number that compile gave it, in a process.
type clientKey struct {
	of any
	id int64
}

// client is the connection to one.
type client struct {
	asked, answered bool
	start, end      int64 // of the request under way, nanoseconds
	bytes, replied  int64
	by              *thread // that took the request
	before, spent   Doing   // of that thread: at the start, and since then up to the last reply
	did             opSet   // that the thread has used
}

// opSet is a set of operations.
type opSet [(format.NumOps + 63) / 64]uint64

func (s *opSet) add(op format.Op) { s[op/64] |= 1 << (op % 64) }

func (s *opSet) String() string {
	var names []string
	for op := range format.Op(format.NumOps) {
		if s[op/64]>>(op%64)&1 != 0 {
			names = append(names, op.String())
		}
	}
	if len(names) == 0 {
		return "no I/O"
	}
	return strings.Join(names, " ")
}

// serving is what a thread that takes requests has used: when each operation on a file began
// last, in nanoseconds from 1.
type serving [format.NumOps]int64

// requestSum is what requests of a kind add up to.
type requestSum struct {
	RequestKind
	latency stats.Histogram
}

// requests finds the requests among the calls of threads.
type requests struct {
	clients map[clientKey]*client
	sent    map[format.Channel]bool // channels that recorded threads sent to
	asked   int64                   // clients with a request
	first   int64                   // when the first request came
	all     requestSum
	kinds   map[opSet]*requestSum
}

// use notes that a thread which takes requests does I/O.
func (s *serving) use(e *format.Event, at int64) {
	if !e.Op.Info().Acts.Any(format.Seeks | format.Closes) { // which every kind of request can have
		s[e.Op] = at + 1
	}
}

// message counts a call that can have moved a message, once it counts for its thread. It
// returns when a reply was complete before, or -1.
func (r *requests) message(t *thread, by *process.Thread, e *format.Event) (replied int64) {
	at := max(e.Start, 0)
	switch {
	case e.Op == format.OpClientRequest:
		return r.ask(t, clientKey{by.Process, e.Args[0]}, at, e.Args[1])
	case e.Op == format.OpClientReply:
		r.answer(t, clientKey{by.Process, e.Args[0]}, at, e.Args[1])
	case !e.Notes.Known(format.NotedMessage) || e.Failed():
	case e.Sends():
		if len(r.sent) < maxClients {
			r.sent[e.Notes.Moved()] = true
		}
		fd, at := e.Message()
		r.answer(t, clientKey{by.Table, fd}, max(at, 0), e.Ret)
	case !e.Notes.Known(format.NotedConnected) && !r.sent[e.Notes.Moved()]:
		fd, at := e.Message()
		return r.ask(t, clientKey{by.Table, fd}, max(at, 0), e.Ret)
	}
	return -1
}

func (r *requests) ask(t *thread, key clientKey, at, bytes int64) (replied int64) {
	replied = -1
	c := r.clients[key]
	if c == nil {
		if len(r.clients) >= maxClients {
			return replied
		}
		c = new(client)
		r.clients[key] = c
	}
	if c.answered {
		replied = c.end
		r.finish(c)
	}
	if c.asked { // more of the same request
		c.bytes += bytes
		return replied
	}
	if r.asked == 0 {
		r.first = at
	}
	if t.serving == nil {
		t.serving = new(serving)
	}
	r.asked++
	*c = client{asked: true, start: at, bytes: bytes, by: t, before: t.row.spent()}
	return replied
}

func (r *requests) answer(t *thread, key clientKey, at, bytes int64) {
	c := r.clients[key]
	if c == nil || !c.asked {
		return
	}
	c.answered, c.end, c.replied = true, max(at, c.start), c.replied+bytes
	if t == c.by {
		c.spent = t.row.spent()
		c.spent.subtract(&c.before)
	}
	for op, last := range c.by.serving {
		if last > c.start {
			c.did.add(format.Op(op))
		}
	}
}

// finish adds the request of a client that has its reply.
func (r *requests) finish(c *client) {
	nanos, rest := c.end-c.start, c.end-c.start
	for k, spent := range c.spent {
		c.spent[k] = min(max(spent, 0), rest)
		rest -= c.spent[k]
	}
	c.spent[DoingOther] += rest
	kind := r.kinds[c.did]
	if kind == nil {
		name := c.did.String()
		if len(r.kinds) >= maxKinds {
			name, c.did = othersName, opSet{}
			for k := range c.did {
				c.did[k] = ^uint64(0)
			}
		}
		if kind = r.kinds[c.did]; kind == nil {
			kind = &requestSum{RequestKind: RequestKind{Name: name}}
			r.kinds[c.did] = kind
		}
	}
	for _, s := range []*requestSum{&r.all, kind} {
		s.Count++
		s.Bytes += c.bytes
		s.Replied += c.replied
		s.Nanos += nanos
		s.Spent.add(&c.spent)
		s.latency.Add(nanos)
	}
	*c = client{}
}

// rate returns the replies a second, without those of edgeShare.
func (r *requests) rate(v *sliced) float64 {
	n := r.all.Count
	low, high := int64(edgeShare*float64(n)), max(int64((1-edgeShare)*float64(n)), 1)
	from, to := float64(r.first), v.replied(high)
	if low > 0 {
		from = v.replied(low)
	}
	if to <= from {
		return 0
	}
	return float64(high-low) / (to - from) * 1e9
}

// snapshot returns what the requests add up to, nil for none. The replies that have begun are
// complete.
func (r *requests) snapshot(v *sliced) *Requests {
	for _, c := range r.clients {
		if c.answered {
			v.reply(c.end)
			r.finish(c)
		}
	}
	if r.all.Count == 0 {
		return nil
	}
	p := &Requests{Clients: int64(len(r.clients)), RequestKind: r.all.RequestKind}
	p.Latency = distribution(&r.all.latency)
	p.Rate = r.rate(v)
	for _, k := range r.kinds {
		k.RequestKind.Latency = distribution(&k.latency)
		p.Kinds = append(p.Kinds, k.RequestKind)
	}
	slices.SortFunc(p.Kinds, func(a, b RequestKind) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Name, b.Name))
	})
	return p
}

// requestTable has a row for each kind of requests.
func (p *Profile) requestTable() *Table {
	var rows []RequestKind
	if p.Requests != nil {
		rows = p.Requests.Kinds
	}
	return tableOf(rows, requestColumns)
}

func requestQuantile(get func(l *Latency) int64) func(*RequestKind) value {
	return func(k *RequestKind) value { return integer(get(k.Latency)) }
}

var requestColumns = func() []column[RequestKind] {
	columns := []column[RequestKind]{
		{heading{"name", words}, func(k *RequestKind) value { return text(k.Name) }},
		{heading{"requests", number}, func(k *RequestKind) value { return integer(k.Count) }},
		{heading{"seconds", duration}, func(k *RequestKind) value { return integer(k.Nanos) }},
		{heading{"p50_seconds", latencies}, requestQuantile(func(l *Latency) int64 { return l.P50 })},
		{heading{"p90_seconds", latencies}, requestQuantile(func(l *Latency) int64 { return l.P90 })},
		{heading{"p99_seconds", latencies}, requestQuantile(func(l *Latency) int64 { return l.P99 })},
		{heading{"p999_seconds", latencies}, requestQuantile(func(l *Latency) int64 { return l.P999 })},
		{heading{"max_seconds", latencies}, requestQuantile(func(l *Latency) int64 { return l.Max })},
	}
	for a := range NumActivities {
		columns = append(columns, column[RequestKind]{heading{a.Key() + "_seconds", duration}, func(k *RequestKind) value { return integer(k.Spent[a]) }})
	}
	return append(columns,
		column[RequestKind]{heading{"bytes", number}, func(k *RequestKind) value { return integer(k.Bytes) }},
		column[RequestKind]{heading{"reply_bytes", number}, func(k *RequestKind) value { return integer(k.Replied) }})
}()

// requests says how many requests there were, how long they took and with what.
func (o *overview) requests() {
	r := o.Requests
	if r == nil {
		return
	}
	o.wrapped("%s", r)
	o.wrapped("%s", r.Spent.text(r.Nanos))
}

// String describes the requests in one line.
func (r *Requests) String() string {
	l := r.Latency
	u := table.UnitOf(format.Seconds(l.P99))
	t := func(nanos int64) string { return u.Format(format.Seconds(nanos)) }
	return fmt.Sprintf("%s of %s, %s a second; p50 %s, p90 %s, p99 %s, max %s %s", table.Plural(int(r.Count), "request"), table.Plural(int(r.Clients), "client"),
		ASecond(r.Rate), t(l.P50), t(l.P90), t(l.P99), t(l.Max), u.Name)
}

// text says what most of the time was spent with.
func (d *Doing) text(whole int64) string {
	var most []Activity
	for a := range NumActivities {
		if d[a] > 0 && d[a]*100 >= whole {
			most = append(most, a)
		}
	}
	slices.SortStableFunc(most, func(a, b Activity) int { return cmp.Compare(d[b], d[a]) })
	var words []string
	for _, a := range most {
		words = append(words, a.String()+" "+table.Share(d[a], whole))
	}
	return "of their time: " + strings.Join(words, ", ")
}

// ASecond returns a number of requests a second, with at least three digits.
func ASecond(v float64) string {
	decimals := 0
	for limit := 100.0; v < limit && decimals < 3; limit /= 10 {
		decimals++
	}
	return table.Fixed(v, decimals)
}
