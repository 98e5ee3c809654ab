// Package coverage says how much of an application's I/O a recording holds.
//
// A recording keeps two accounts: the bytes and time of its events, and the bytes and
// time of I/O that it does not hold, by kind. The recorder writes both into the header
// of the recording. Traces, logs and exports made from it keep them.
//
// The accounts cover I/O on files and block devices. They leave out pipes, sockets,
// terminals, pseudo file systems and the files of programs and libraries.
package coverage

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pianola/format"
	"pianola/internal/table"
)

// Unknown is an unknown number of bytes or nanoseconds.
const Unknown = -1

// Account is the coverage of a recording. The zero Account belongs to a recording
// without one: an import, or a recording whose recorder was killed.
type Account struct {
	Known    bool
	Recorded Amount    // by the events of the recording
	Requests []Missing // the part of Recorded that consists of requests, by kind; the time is that of threads that submit or await them
	Missing  []Missing // I/O that the events do not hold, in the order of the kinds

	Ended    string   // why the recording ended early, "" if it did not; the rest of the account is of the time until then
	Endless  bool     // the recorder could not write the end of the recording
	Uncached Uncached // reads that a replay may find in another state of the page cache

	Crowded Crowded // of a server
}

// Crowded is the share of the time in which threads could run for which programs that were not
// recorded, or the host of a virtual machine, had the processors.
type Crowded float64

// MaxCrowded is the highest share with which a recording of a server allows a verdict. The time that
// other programs had the processors is left out of the compute, but caches and shared cores make the rest
// longer. Kernel threads that work for the server are other programs, too: a tenth is common.
const MaxCrowded = 0.2

// Uncached counts reads of files that existed, of which neither the recorder nor the
// duration of the reads tells whether they were in the page cache. A page counts once.
type Uncached struct {
	Files, Bytes int64
}

// text describes the reads: 8.2 MB read from 3 files.
func (u *Uncached) text() string {
	return table.Bytes(float64(u.Bytes)) + " read from " + table.Plural(int(u.Files), "file")
}

// Amount is an amount of I/O.
type Amount struct {
	Bytes int64 // moved from or to files
	Nanos int64 // of threads in calls and in faults
}

// Missing is I/O of one kind that the recording does not hold.
type Missing struct {
	Kind   Kind
	Calls  int64 // calls, requests or events
	Reads  int64 // those of Calls that are known to read
	Writes int64 // those of Calls that are known to write
	Files  int64 // files that were mapped
	Amount       // Bytes and Nanos can be Unknown
}

// Kind is a kind of I/O that a recording may not hold.
type Kind uint8

// The kinds.
const (
	Uring     Kind = iota // requests of io_uring
	AIO                   // requests of libaio
	Mapped                // files mapped into memory
	Msync                 // msync of such files
	Compat                // calls through the 32-bit table
	Lost                  // events that the recorder could not keep
	Elsewhere             // I/O in the kernel's account that belongs to no other kind
	Mount                 // calls that change what is mounted
	Memory                // process_vm_readv and process_vm_writev
	LeftOut               // recorded calls and faults that compile could not put into the trace
	NumKinds
)

// kinds has the names of the kinds. name is used in scripts and in JSON.
var kinds = [NumKinds]struct {
	name string
	text string // for people
	unit string // one of Calls
	file bool   // I/O on files, which a verdict depends on
}{
	Uring:     {"io_uring", "io_uring", "request", true},
	AIO:       {"libaio", "libaio", "request", true},
	Mapped:    {"mapped", "mapped file", "fault", true},
	Msync:     {"msync", "msync", "call", true},
	Compat:    {"32-bit", "32-bit programs", "call", true},
	Lost:      {"lost", "lost events", "event", true},
	Elsewhere: {"elsewhere", "I/O outside of recorded calls", "call", true},
	Mount:     {"mount", "mount", "call", false},
	Memory:    {"process_vm", "process_vm_readv and process_vm_writev", "call", false},
	LeftOut:   {"left_out", "I/O that compile leaves out", "call", true},
}

func (k Kind) String() string { return kinds[k].name }

// MarshalText returns the name.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

func kindOf(name string) (Kind, bool) {
	for k := range kinds {
		if kinds[k].name == name {
			return Kind(k), true
		}
	}
	return 0, false
}

// Of returns the account in a header. An account that cannot be read is unknown.
func Of(h *format.Header) Account {
	a := stated(h)
	a.Ended, _ = h.Value(format.MetaEnded)
	_, recorded := h.Value(format.MetaTool)
	_, ended := h.Value(format.MetaLost)
	a.Endless = recorded && !ended
	text, _ := h.Value(format.MetaUncached)
	reads := Amount{}
	if parse(text, &reads, field{"files", &a.Uncached.Files}) {
		a.Uncached.Bytes = reads.Bytes
	}
	text, _ = h.Value(format.MetaCrowded)
	a.Crowded = Crowded(ParseShare(text))
	return a
}

// ParseShare parses a number from 0 to 1. All else is 0.
func ParseShare(text string) float64 {
	if v, err := strconv.ParseFloat(text, 64); err == nil && v > 0 && v <= 1 {
		return v
	}
	return 0
}

// stated returns the bytes and times of the account in a header.
func stated(h *format.Header) (a Account) {
	recorded, ok := h.Value(format.MetaCoverage)
	if !ok || !parse(recorded, &a.Recorded) {
		return Account{}
	}
	a.Known = true
	for _, remarks := range a.remarks() {
		text, _ := h.Value(remarks.key)
		for remark := range strings.SplitSeq(text, ";") {
			name, fields, _ := strings.Cut(strings.TrimSpace(remark), " ")
			if name == "" {
				continue
			}
			kind, ok := kindOf(name)
			one := Missing{Kind: kind, Amount: Amount{Unknown, Unknown}}
			if !ok || !parse(fields, &one.Amount, one.counts()...) {
				return Account{}
			}
			add(remarks.list, one)
		}
	}
	return a
}

// Put sets the account in a header.
func (a *Account) Put(h *format.Header) {
	h.Set(format.MetaCoverage, fmt.Sprintf("bytes=%d seconds=%s", a.Recorded.Bytes, format.AppendSeconds(nil, a.Recorded.Nanos)))
	for _, remarks := range a.remarks() {
		texts := make([]string, len(*remarks.list))
		for i := range texts {
			texts[i] = (*remarks.list)[i].remark()
		}
		if len(texts) > 0 {
			h.Set(remarks.key, strings.Join(texts, "; "))
		}
	}
}

// Put sets the remark in a header, if there is anything to say.
func (u *Uncached) Put(h *format.Header) {
	if u.Bytes > 0 {
		h.Set(format.MetaUncached, fmt.Sprintf("files=%d bytes=%d", u.Files, u.Bytes))
	}
}

// Put sets the remark in a header, if there is anything to say.
func (c Crowded) Put(h *format.Header) {
	if c > 0 {
		h.Set(format.MetaCrowded, strconv.FormatFloat(float64(c), 'g', 3, 64))
	}
}

// Since returns the account of what came after an earlier account of the same
// recording. A kind that only the earlier account has, such as a kind of requests that
// was distinguished later, counts as 0. Neither account is changed.
func (a *Account) Since(before *Account) Account {
	b := Account{Known: a.Known && before.Known, Recorded: Amount{since(a.Recorded.Bytes, before.Recorded.Bytes), since(a.Recorded.Nanos, before.Recorded.Nanos)}}
	lists, earlier := b.remarks(), before.remarks()
	for i, now := range a.remarks() {
		for _, m := range *now.list {
			if at := slices.IndexFunc(*earlier[i].list, func(e Missing) bool { return e.Kind == m.Kind }); at >= 0 {
				m.take(&(*earlier[i].list)[at])
			}
			add(lists[i].list, m)
		}
	}
	return b
}

// take takes an earlier account of a kind off. Files that are mapped count in every part in which
// something is missing.
func (m *Missing) take(before *Missing) {
	counts := before.counts()
	for i, f := range m.counts() {
		if f.at != &m.Files {
			*f.at = since(*f.at, *counts[i].at)
		}
	}
	m.Bytes, m.Nanos = since(m.Bytes, before.Bytes), since(m.Nanos, before.Nanos)
	if m.Files == before.Files && m.Calls == 0 && m.Bytes <= 0 && m.Nanos <= 0 {
		*m = Missing{Kind: m.Kind}
	}
}

// since returns the increase of a number. An unknown number stays unknown.
func since(now, before int64) int64 {
	if now == Unknown {
		return Unknown
	}
	return max(now-max(before, 0), 0)
}

// CopyTo makes b a copy of the account, in the memory that b has.
func (a *Account) CopyTo(b *Account) {
	requests, missing := append(b.Requests[:0], a.Requests...), append(b.Missing[:0], a.Missing...)
	*b = *a
	b.Requests, b.Missing = requests, missing
}

// remarks is a list of an account with its key in a header.
type remarks struct {
	key  string
	list *[]Missing
}

func (a *Account) remarks() [2]remarks {
	return [2]remarks{{format.MetaRequests, &a.Requests}, {format.MetaUnsupported, &a.Missing}}
}

// WithoutRequests returns the account of a replay that leaves out some requests of each
// kind. They are missing, with their share of the time.
func (a *Account) WithoutRequests(left map[Kind]Missing) Account {
	b := *a
	b.Requests, b.Missing = nil, slices.Clone(a.Missing)
	for _, m := range a.Requests {
		l := left[m.Kind]
		l.Kind, l.Calls, l.Reads, l.Writes = m.Kind, min(l.Calls, m.Calls), min(l.Reads, m.Reads), min(l.Writes, m.Writes)
		switch {
		case l.Calls == 0 && m.Calls > 0:
			l.Bytes, l.Nanos = 0, 0
		case l.Calls == m.Calls:
			l.Amount = m.Amount
		default:
			l.Bytes = min(l.Bytes, max(m.Bytes, 0))
			l.Nanos = int64(float64(max(m.Nanos, 0)) / float64(m.Calls) * float64(l.Calls))
		}
		b.Recorded.Bytes = max(b.Recorded.Bytes-max(l.Bytes, 0), 0)
		b.Recorded.Nanos = max(b.Recorded.Nanos-max(l.Nanos, 0), 0)
		b.Add(l)
		b.AddRequests(Missing{Kind: m.Kind, Calls: m.Calls - l.Calls, Reads: m.Reads - l.Reads, Writes: m.Writes - l.Writes, Amount: Amount{m.Bytes - l.Bytes, m.Nanos - l.Nanos}})
	}
	return b
}

// Held returns the bytes that an event moved from or to a file, and its time. ok is
// false for events that are not I/O on files, as far as their notes tell.
func Held(e *format.Event) (held Amount, ok bool) {
	info := e.Op.Info()
	if info.Acts.Any(format.Channels) {
		return held, false
	}
	switch info.Class {
	case format.ClassMemory, format.ClassProcess, format.ClassSubmit:
		return held, false
	case format.ClassRead, format.ClassWrite:
		switch e.FileType() {
		case format.TypeUnknown, format.TypeReg, format.TypeBlk:
		default:
			return held, false
		}
		held.Bytes = moved(e)
	}
	held.Nanos = max(e.Dur, 0) // it can be unknown
	return held, true
}

// moved returns the bytes that a read or a write moved. A request without a completion
// counts in full: it either succeeded without posting a completion, or was not reaped.
func moved(e *format.Event) int64 {
	if e.Via != format.ViaCall && e.Ret == format.NoResult {
		return max(e.Size(), 0)
	}
	return e.Bytes()
}

// Leave moves I/O from Recorded to Missing, if the account is known.
func (a *Account) Leave(m Missing) {
	if !a.Known {
		return
	}
	a.Recorded.Bytes = max(a.Recorded.Bytes-m.Bytes, 0)
	a.Recorded.Nanos = max(a.Recorded.Nanos-m.Nanos, 0)
	a.Add(m)
}

// AddRequests adds to Requests. The caller adds to Recorded.
func (a *Account) AddRequests(m Missing) { add(&a.Requests, m) }

// Add adds I/O that the recording does not hold. It does nothing to an unknown account.
func (a *Account) Add(m Missing) { add(&a.Missing, m) }

func add(list *[]Missing, m Missing) {
	if m.Calls == 0 && m.Files == 0 && m.Bytes == 0 && m.Nanos == 0 {
		return
	}
	at := 0
	for at < len(*list) && (*list)[at].Kind < m.Kind {
		at++
	}
	if at == len(*list) || (*list)[at].Kind != m.Kind {
		*list = slices.Insert(*list, at, m)
		return
	}
	sum := &(*list)[at]
	sum.Calls += m.Calls
	sum.Reads += m.Reads
	sum.Writes += m.Writes
	sum.Files += m.Files
	sum.Bytes = plus(sum.Bytes, m.Bytes)
	sum.Nanos = plus(sum.Nanos, m.Nanos)
}

func plus(a, b int64) int64 {
	if a == Unknown || b == Unknown {
		return Unknown
	}
	return a + b
}

// field is a whole number of a remark.
type field struct {
	name string
	at   *int64
}

// counts returns the counts of a remark, in their order in the text.
func (m *Missing) counts() []field {
	return []field{{"calls", &m.Calls}, {"reads", &m.Reads}, {"writes", &m.Writes}, {"files", &m.Files}}
}

// bytes returns the byte count of a remark as a field.
func (a *Amount) bytes() field { return field{"bytes", &a.Bytes} }

// remark returns the text of a remark. It leaves out unknown values and counts that are
// zero.
func (m *Missing) remark() string {
	text := m.Kind.String()
	for _, f := range m.counts() {
		if *f.at != 0 {
			text += fmt.Sprintf(" %s=%d", f.name, *f.at)
		}
	}
	if m.Bytes != Unknown {
		text += fmt.Sprintf(" bytes=%d", m.Bytes)
	}
	if m.Nanos != Unknown {
		text += fmt.Sprintf(" seconds=%s", format.AppendSeconds(nil, m.Nanos))
	}
	return text
}

// parse reads words of the form name=number into counts, and seconds=SECONDS into the
// time of an amount. It returns false for any other form. It skips unknown names, which
// later recorders may write.
func parse(text string, a *Amount, counts ...field) bool {
	fields := append(counts, a.bytes())
	for word := range strings.FieldsSeq(text) {
		name, value, ok := strings.Cut(word, "=")
		if !ok {
			return false
		}
		var v int64
		var err error
		if name == "seconds" {
			v, err = format.ParseSeconds([]byte(value))
		} else {
			v, err = strconv.ParseInt(value, 10, 63)
		}
		if err != nil || v < 0 {
			return false
		}
		if name == "seconds" {
			a.Nanos = v
		}
		for _, f := range fields {
			if f.name == name {
				*f.at = v
			}
		}
	}
	return true
}

// Share is the share of an amount that a recording holds, from 0 to 1.
type Share struct{ Bytes, Time float64 }

// Share returns the share of the known I/O that the recording holds. It is 1 if there
// is none.
func (a *Account) Share() Share {
	missing := a.missing()
	return Share{share(a.Recorded.Bytes, missing.Bytes), share(a.Recorded.Nanos, missing.Nanos)}
}

func share(held, missing int64) float64 {
	if missing <= 0 {
		return 1
	}
	return float64(held) / (float64(held) + float64(missing))
}

// missing returns the sum of missing I/O on files, as far as it is known.
func (a *Account) missing() (sum Amount) {
	for i := range a.Missing {
		if m := &a.Missing[i]; kinds[m.Kind].file {
			sum.Bytes += max(m.Bytes, 0)
			sum.Nanos += max(m.Nanos, 0)
		}
	}
	return sum
}

// The thresholds of a verdict.
const (
	MinShare = 0.95 // of the bytes, and of the time

	// A gap below both of these allows a verdict: in a program of a few calls, a large
	// share can be a negligible amount.
	SmallBytes = 1 << 20
	SmallNanos = 10e6
)

// Withheld returns the reason why the recording allows no verdict, "" if it allows one.
// An unknown account always allows one.
func (a *Account) Withheld() string {
	if a.Crowded > MaxCrowded {
		return fmt.Sprintf("other programs, or the host of a virtual machine, had the processors for %s of the time in which threads of the server could run", Percent(float64(a.Crowded)))
	}
	if !a.Known {
		return ""
	}
	for i := range a.Missing {
		if m := &a.Missing[i]; kinds[m.Kind].file && m.Bytes == Unknown {
			return m.text() + " is missing, and its size is unknown"
		}
	}
	gap, share := a.missing(), a.Share()
	small := gap.Bytes < SmallBytes && gap.Nanos < SmallNanos
	if small || share.Bytes >= MinShare && share.Time >= MinShare {
		return ""
	}
	return fmt.Sprintf("the coverage is %s of the bytes and %s of the I/O time", Percent(share.Bytes), Percent(share.Time))
}

// String returns the account in a line.
func (a *Account) String() string {
	text := "coverage: "
	switch {
	case !a.Known && a.Endless:
		text += "unknown, because the recording has no end"
	case !a.Known:
		text += "unknown, because the recording does not state it"
	default:
		if a.Ended != "" {
			text += "unknown after the early end of the recording (" + a.Ended + "); until then "
		}
		share := a.Share()
		text += fmt.Sprintf("%s of the bytes, %s of the I/O time", Percent(share.Bytes), Percent(share.Time))
	}
	for i := range a.Missing {
		sep := ", "
		if i == 0 {
			sep = "; missing: "
		}
		text += sep + a.Missing[i].text()
	}
	if a.Uncached.Bytes > 0 {
		text += "; unknown whether " + a.Uncached.text() + " were in the page cache"
	}
	return text
}

// text describes the missing I/O: io_uring (2048 writes, 8.39 MB).
func (m *Missing) text() string {
	k := kinds[m.Kind]
	if m.Files > 0 {
		text := table.Plural(int(m.Files), k.text)
		if m.Bytes > 0 {
			text += " (" + table.Bytes(float64(m.Bytes)) + ")"
		}
		return text
	}
	var parts []string
	count := func(n int64, unit string) {
		if n > 0 {
			parts = append(parts, table.Plural(int(n), unit))
		}
	}
	count(m.Reads, "read")
	count(m.Writes, "write")
	rest := k.unit
	if m.Reads+m.Writes > 0 {
		rest = "other " + rest
	}
	count(m.Calls-m.Reads-m.Writes, rest)
	switch {
	case m.Bytes == Unknown:
		parts = append(parts, "bytes unknown")
	case m.Bytes > 0:
		parts = append(parts, table.Bytes(float64(m.Bytes)))
	}
	if m.Bytes <= 0 && m.Nanos > 0 {
		parts = append(parts, table.Duration(format.Seconds(m.Nanos)))
	}
	if parts == nil {
		return k.text
	}
	return k.text + " (" + strings.Join(parts, ", ") + ")"
}

// Percent prints a share. A share below 1 is never printed as 100 %.
func Percent(share float64) string {
	if share < 1 {
		share = min(share, 0.999)
	}
	return table.Percent(share)
}
