package compile

// learned is what one pass has learned and the next passes need from their start.
type learned struct {
	links   map[string]string  // absolute path → target, of symbolic links that existed at the start
	strays  map[stray]bool     // descriptors of unknown origin that are files
	first   bool               // this is the first pass
	more    bool               // this pass learned something
	ranges  bool               // a call closes a range of descriptors that has an end, or begins above firstMoved
	ordered bool               // the events come in the order of their effects, not of their lines
	lines   bool               // they come in the order of their lines, because another order takes too much memory
	closed  bool               // learn nothing more, so that the last pass meets the same names as the one before
	named   map[string]bool    // last components of links
	sent    map[channel]bool   // channels that a recorded thread sent to
	woken   map[spot]int64     // where a thread waited → line at which another thread last woke one there
	fed     map[int64]pipeCall // line of a pipe read → the received write, which has a later line
	mpi     mpiLearned
	pipes   pipePlan   // of the newest pass
	buffers []*buffers // the same, by process
	layouts []*buffers // the same, of mapped files
	plan    *plan      // nil in all passes but the last
	bytes   int        // size of the above
}

func newLearned() *learned {
	return &learned{
		links: map[string]string{}, named: map[string]bool{}, strays: map[stray]bool{}, sent: map[channel]bool{}, woken: map[spot]int64{}, fed: map[int64]pipeCall{},
	}
}
