// Package baseline stores the data that comparisons need of runs in one small file: the
// totals of each run by class and by operation, the distribution of call durations, and
// where it ran. Curves, threads and files are left out.
//
//	[]Run → Write → file (JSON) → Read → []Run → compare, check
//
// The file is JSON with a class or an operation on each line:
//
//	{"pianola_baseline": 1, "name": "ext4",
//	"remarks": {"kernel": "6.1.0", …},
//	"runs": [
//	{"remarks": {"start": "2026-11-20T02:00:00Z"}, "run_time_nanos": 3200000000,
//	"classes": {
//	"sync": {"calls":120,"nanos":96000000,"latency_of_operations":true}},
//	"operations": {
//	"fsync": {"calls":120,"nanos":96000000,"latency":{"min_nanos":610000,"max_nanos":2100000,"buckets":"1340 2:5 …"}},
//	…
//
// A run of a workload has its name as "workload", and one of a server with requests of clients
// has them as "requests". Remarks that all runs share stand before the
// runs. A class has no durations of its own where all calls of its operations are in it. Buckets
// are those of stats.Buckets. Numbers that are 0 can be left out. A later version of the format
// has another number.
package baseline

import (
	"pianola/format"
	"pianola/format/provenance"
	"pianola/internal/stats"
	"pianola/profile"
)

// version is that of the format.
const version = 1

// Run is a run of an application or a replay.
type Run struct {
	Workload string        // of which it is a run, "" for none
	Meta     []format.Meta // the remarks of its recording; only those in kept if the run was read from a file
	Profile  *profile.Profile
}

// Baseline is what a file holds.
type Baseline struct {
	Name string // of the side, "ext4"; can be empty
	Runs []Run
}

// kept lists the remarks that a file stores, in addition to those of the provenance.
var kept = []string{format.MetaCommand, format.MetaElapsed, format.MetaReplay, format.MetaFileSystems, format.MetaCoverage, format.MetaRequests, format.MetaUnsupported, format.MetaEnded, format.MetaUncached, format.MetaCrowded, format.MetaFloor, format.MetaGrouped}

// maxRemark is the maximum length of a stored remark, in bytes.
const maxRemark = 1 << 12

// keys are all of them.
func keys() (list []string) {
	for _, r := range provenance.Remarks {
		list = append(list, r.Key)
	}
	return append(list, kept...)
}

// cell holds the totals of a class or an operation, a profile.Total.
type cell struct {
	Calls   int64         `json:"calls"`
	Errors  int64         `json:"errors,omitempty"`
	Unknown int64         `json:"calls_without_duration,omitempty"`
	Bytes   int64         `json:"bytes,omitempty"`
	Nanos   int64         `json:"nanos"`
	Flight  int64         `json:"flight_nanos,omitempty"`
	Latency *stats.Counts `json:"latency,omitempty"`
	Summed  bool          `json:"latency_of_operations,omitempty"` // of a class: that of its operations together
}

// served is what a server did for clients, the requests of a profile.
type served struct {
	Clients  int64         `json:"clients"`
	Requests int64         `json:"requests"`
	Rate     float64       `json:"per_second"`
	Bytes    int64         `json:"bytes,omitempty"`
	Replied  int64         `json:"reply_bytes,omitempty"`
	Latency  *stats.Counts `json:"latency"`
}

// summed returns the durations of all operations of a class together, nil for none.
func summed(p *profile.Profile, k profile.Category) (*profile.Latency, error) {
	var all stats.Histogram
	for op, l := range p.OpLatency {
		if l == nil || profile.CategoryOf(format.Op(op)) != k {
			continue
		}
		one, err := l.Counts.Histogram()
		if err != nil {
			return nil, err
		}
		all.Merge(one)
	}
	return profile.NewLatency(all.Counts())
}
