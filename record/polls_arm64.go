package record

// olderPolls are the calls of this architecture that wait for descriptors and
// that newer ones have none of.
var olderPolls []int
