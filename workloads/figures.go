package workloads

// Figures are computed from a trace.
type Figures struct {
	Events       int64    `yaml:"events" json:"events"`
	Threads      int      `yaml:"threads" json:"threads"`
	Processes    int      `yaml:"processes" json:"processes"`
	RunSeconds   float64  `yaml:"run_seconds" json:"run_seconds"` // as recorded
	IOSeconds    float64  `yaml:"io_seconds" json:"io_seconds"`   // of all threads together
	Files        int64    `yaml:"files" json:"files"`             // regular files that exist before
	FileBytes    int64    `yaml:"file_bytes" json:"file_bytes"`   // their blocks
	WorkingSet   int64    `yaml:"working_set_bytes" json:"working_set_bytes"`
	Reads        Movement `yaml:"reads" json:"reads"`
	Writes       Movement `yaml:"writes" json:"writes"`
	Syncs        int64    `yaml:"syncs" json:"syncs"`
	Metadata     int64    `yaml:"metadata" json:"metadata"`
	MappedReads  Movement `yaml:"mapped_reads" json:"mapped_reads"` // page faults of mapped files
	MappedWrites Movement `yaml:"mapped_writes" json:"mapped_writes"`
	Requests     int64    `yaml:"requests" json:"requests"` // of io_uring and libaio; they are in reads, writes and syncs
	Coverage     Coverage `yaml:"coverage" json:"coverage"`
}

// Movement is calls that move bytes.
type Movement struct {
	Calls int64 `yaml:"calls" json:"calls"`
	Bytes int64 `yaml:"bytes" json:"bytes"`
}

// Coverage is the share of the application's I/O that the trace holds.
type Coverage struct {
	Bytes float64 `yaml:"bytes" json:"bytes"`
	Time  float64 `yaml:"time" json:"time"`
}
