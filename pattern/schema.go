package pattern

// document is the whole pattern.
type document struct {
	Version     number  `key:"pattern" doc:"version of the language: 1; stands first"`
	Name        text    `key:"name" optional:"" doc:"what the trace is called"`
	Seed        number  `key:"seed" default:"1" doc:"of all that is drawn at random"`
	Directories []entry `key:"directories" optional:"" doc:"directories that exist before; those above files do so anyway"`
	Files       []entry `key:"files" optional:"" doc:"files that exist before"`
	Groups      []group `key:"groups" doc:"threads that do the same, in groups that run at the same time"`
}

// entry is what exists before the first step.
type entry struct {
	Line  int
	Path  template `key:"path" doc:"the name; {i} is its number, from 0"`
	Count number   `key:"count" default:"1" doc:"how many there are"`
	Size  number   `key:"size" unit:"bytes" default:"0" doc:"of each; directories have none"`
}

// group is a number of threads that run the same steps.
type group struct {
	Line      int
	Name      text   `key:"name" optional:"" doc:"for readers"`
	Processes number `key:"processes" default:"1" doc:"how many there are"`
	Threads   number `key:"threads" default:"1" doc:"of each process"`
	Steps     []step `key:"steps" doc:"what each thread does"`
}

// step is one thing that a thread does.
type step struct {
	line int
	action
}

// action is what a step does. The fields of an action are its keys; a step
// whose value is a word or a number gives the first of them.
type action interface {
	run(t *thread, line int) error
}

// kind is a row of the table of steps.
type kind struct {
	name string
	doc  string
	make func() action
}

// kinds are the steps there are. It is filled by init, for decode uses it and
// what it makes can hold steps.
var kinds []kind

func init() {
	kinds = []kind{
		{"open", "opens a file for this thread", func() action { return new(open) }},
		{"close", "closes an open file", func() action { return new(closing) }},
		{"read", "reads", func() action { return new(transfer) }},
		{"write", "writes", func() action { return &transfer{write: true} }},
		{"seek", "sets the file offset of an open file (lseek)", func() action { return new(seek) }},
		{"fsync", "makes the data and metadata of a file durable", func() action { return new(fsync) }},
		{"fdatasync", "makes the data of a file durable", func() action { return &fsync{data: true} }},
		{"truncate", "changes the size of a file", func() action { return new(truncate) }},
		{"fallocate", "allocates blocks, or punches a hole", func() action { return new(fallocate) }},
		{"fstat", "reads the attributes of an open file", func() action { return new(fstat) }},
		{"stat", "reads the attributes of a name, which may not exist", func() action { return new(stat) }},
		{"readdir", "opens, lists and closes a directory", func() action { return new(readdir) }},
		{"mkdir", "creates a directory", func() action { return new(mkdir) }},
		{"rmdir", "removes a directory", func() action { return &remove{dir: true} }},
		{"unlink", "removes a file", func() action { return new(remove) }},
		{"rename", "renames a file or directory", func() action { return new(rename) }},
		{"compute", "computes", func() action { return new(think) }},
		{"sleep", "sleeps", func() action { return &think{asleep: true} }},
		{"barrier", "waits until all threads have reached the barrier", func() action { return new(barrier) }},
		{"repeat", "runs a list of steps repeatedly", func() action { return new(repeat) }},
		{"mix", "runs one of several lists of steps, chosen at random each time", func() action { return new(mix) }},
		{"if", "runs steps if a condition holds", func() action { return new(when) }},
		{"let", "defines a variable for the rest of the list of steps", func() action { return new(let) }},
	}
}
