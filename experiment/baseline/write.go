package baseline

import (
	"bytes"
	"encoding/json"
	"io"
	"reflect"

	"pianola/format"
	"pianola/profile"
)

// Write writes runs as a file. The same runs give the same bytes.
func Write(w io.Writer, name string, runs []Run) error {
	var b bytes.Buffer
	b.WriteString(`{"pianola_baseline": `)
	put(&b, version)
	b.WriteString(`, "name": `)
	put(&b, name)
	all := make([]map[string]string, len(runs))
	for i := range runs {
		all[i] = remarks(runs[i].Meta)
	}
	b.WriteString(",\n\"remarks\": ")
	put(&b, common(all))
	b.WriteString(",\n\"runs\": [")
	for i := range runs {
		if i > 0 {
			b.WriteByte(',')
		}
		p := runs[i].Profile
		b.WriteString("\n{")
		if name := runs[i].Workload; name != "" {
			b.WriteString(`"workload": `)
			put(&b, name)
			b.WriteString(", ")
		}
		b.WriteString(`"remarks": `)
		put(&b, all[i])
		b.WriteString(`, "run_time_nanos": `)
		put(&b, p.RunTime)
		if r := p.Requests; r != nil {
			b.WriteString(",\n\"requests\": ")
			put(&b, &served{r.Clients, r.Count, r.Rate, r.Bytes, r.Replied, &r.Latency.Counts})
		}
		b.WriteString(",\n\"classes\": {")
		separator := "\n"
		cells := func(name string, total *profile.Total, l *profile.Latency, summed bool) {
			if total.Calls == 0 {
				return
			}
			c := cell{total.Calls, total.Errors, total.Unknown, total.Bytes, total.Nanos, total.Flight, nil, summed}
			if l != nil && !summed {
				c.Latency = &l.Counts
			}
			b.WriteString(separator)
			put(&b, name)
			b.WriteString(": ")
			put(&b, &c)
			separator = ",\n"
		}
		for k := range profile.NumCategories {
			l := p.Latency[k]
			all, err := summed(p, k)
			cells(k.Key(), &p.Categories[k], l, err == nil && l != nil && reflect.DeepEqual(l, all))
		}
		b.WriteString("},\n\"operations\": {")
		separator = "\n"
		for op := format.OpNone + 1; op.Valid(); op++ {
			cells(op.String(), &p.Ops[op], p.OpLatency[op], false)
		}
		b.WriteString("}}")
	}
	b.WriteString("]}\n")
	_, err := w.Write(b.Bytes())
	return err
}

// put appends a value as JSON on one line.
func put(b *bytes.Buffer, v any) {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("internal error: " + err.Error()) // all types here can be encoded
	}
	b.Truncate(b.Len() - 1) // the end of the line
}

// remarks returns the remarks that are kept.
func remarks(meta []format.Meta) map[string]string {
	h, m := format.Header{Meta: meta}, map[string]string{}
	for _, key := range keys() {
		if v, ok := h.Value(key); ok && len(v) <= maxRemark {
			m[key] = v
		}
	}
	return m
}

// common removes the remarks that all runs share from the runs, and returns them.
func common(all []map[string]string) map[string]string {
	shared := map[string]string{}
	if len(all) == 0 {
		return shared
	}
next:
	for key, v := range all[0] {
		for _, m := range all[1:] {
			if other, ok := m[key]; !ok || other != v {
				continue next
			}
		}
		shared[key] = v
	}
	for key := range shared {
		for _, m := range all {
			delete(m, key)
		}
	}
	return shared
}
