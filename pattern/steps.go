package pattern

// open is the step of that name.
type open struct {
	Path   template `key:"path" doc:"name of the file"`
	As     handle   `key:"as" default:"f" doc:"name of the descriptor, for other steps"`
	Access word     `key:"access" of:"read write both" default:"both" doc:"what it is opened for"`
	Flags  words    `key:"flags" of:"append create direct dsync exclusive noatime sync truncate" optional:"" doc:"of open(2)"`
}

// closing is the step close.
type closing struct {
	File handle `key:"file" default:"f" doc:"descriptor"`
}

// transfer is the steps read and write.
type transfer struct {
	write   bool
	File    handle `key:"file" default:"f" doc:"descriptor"`
	Size    number `key:"size" unit:"bytes" doc:"of each call; drawn for each one, but once for shuffled and reverse"`
	Count   number `key:"count" optional:"" doc:"number of calls; by default 1, for shuffled and reverse as many as the range holds"`
	Total   number `key:"total" unit:"bytes" optional:"" doc:"bytes of all calls, instead of count; the last is cut"`
	Order   word   `key:"order" of:"sequential strided random shuffled reverse" default:"sequential" doc:"of offsets, see below"`
	Start   number `key:"start" unit:"bytes" optional:"" doc:"where the range begins; without it, sequential calls go on from the descriptor's position"`
	Range   number `key:"range" unit:"bytes" optional:"" doc:"bytes that random, shuffled and reverse move in; by default up to the end of the file"`
	Stride  number `key:"stride" unit:"bytes" optional:"" doc:"of strided: from one offset to the next"`
	Align   number `key:"align" unit:"bytes" optional:"" doc:"of random: offsets are multiples of it from start on; by default the size of the call"`
	Vector  number `key:"vector" default:"1" doc:"segments of a call; above 1 it is readv, writev, preadv or pwritev"`
	Compute number `key:"compute" unit:"time" default:"0" doc:"before each call"`
}

// seek is the step of that name.
type seek struct {
	File handle `key:"file" default:"f" doc:"descriptor"`
	To   number `key:"to" unit:"bytes" default:"0" doc:"offset"`
	From word   `key:"from" of:"start current end" default:"start" doc:"what it counts from"`
}

// fsync is the steps fsync and fdatasync.
type fsync struct {
	data bool
	File handle `key:"file" default:"f" doc:"descriptor"`
}

// truncate is the step of that name.
type truncate struct {
	File handle   `key:"file" default:"f" doc:"descriptor"`
	Path template `key:"path" optional:"" doc:"name, instead of a descriptor"`
	Size number   `key:"size" unit:"bytes" default:"0" doc:"new size"`
}

// fallocate is the step of that name.
type fallocate struct {
	File  handle `key:"file" default:"f" doc:"descriptor"`
	Size  number `key:"size" unit:"bytes" doc:"of the range"`
	Start number `key:"start" unit:"bytes" default:"0" doc:"where it begins"`
	Mode  word   `key:"mode" of:"extend keep punch" default:"extend" doc:"extend the file, keep its size, or punch a hole"`
}

// fstat is the step of that name.
type fstat struct {
	File handle `key:"file" default:"f" doc:"descriptor"`
}

// stat is the step of that name.
type stat struct {
	Path template `key:"path" doc:"name"`
}

// readdir is the step of that name.
type readdir struct {
	Path template `key:"path" doc:"name"`
}

// mkdir is the step of that name.
type mkdir struct {
	Path template `key:"path" doc:"name"`
}

// remove is the steps unlink and rmdir.
type remove struct {
	dir  bool
	Path template `key:"path" doc:"name"`
}

// rename is the step of that name.
type rename struct {
	From template `key:"from" doc:"old name"`
	To   template `key:"to" doc:"new name"`
}

// think is the steps compute and sleep.
type think struct {
	asleep bool
	Time   number `key:"time" unit:"time" doc:"how long"`
}

// barrier is the step of that name.
type barrier struct {
	Of    word `key:"of" of:"all group" default:"all" doc:"threads of all groups, or of this one"`
	group int
}

// repeat is the step of that name.
type repeat struct {
	Times number   `key:"times" doc:"how often"`
	As    variable `key:"as" optional:"" doc:"variable that counts, from 0"`
	Steps []step   `key:"steps" doc:"what is repeated"`
}

// mix is the step of that name.
type mix struct {
	Times number        `key:"times" default:"1" doc:"how often"`
	As    variable      `key:"as" optional:"" doc:"variable that counts, from 0"`
	Of    []alternative `key:"of" doc:"the lists to draw from"`

	weight int64 // of all
}

// alternative is what a mix can do.
type alternative struct {
	Line   int
	Weight number `key:"weight" default:"1" doc:"how often it is drawn, against the sum of all weights"`
	Steps  []step `key:"steps" doc:"what is done then"`

	weight int64
}

// when is the step if.
type when struct {
	Condition number `key:"condition" doc:"holds where it is not 0"`
	Steps     []step `key:"steps" doc:"what is done then"`
}

// let is the step of that name.
type let struct {
	Value number   `key:"value" doc:"drawn once, here"`
	As    variable `key:"as" doc:"its name"`
}
