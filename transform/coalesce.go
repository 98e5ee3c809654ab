package transform

import "fmt"

var coalesceTransform = Transform{
	Name: "coalesce", Arg: Arg{Form: "SIZE"},
	Doc:   "merges adjacent reads, and adjacent writes, through a buffer of that size for each descriptor",
	Keeps: "everything; data wait in the buffer before they are written",
	New: func(arg string) (Func, error) {
		size, err := parseSize(arg)
		if err != nil {
			return nil, err
		}
		if size > maxTransfer {
			return nil, fmt.Errorf("%q is more than a call moves", arg)
		}
		return newMerger(size, 1<<40, false), nil
	},
}

var vectoredTransform = Transform{
	Name: "vectored", Arg: Arg{Form: "N", Optional: true},
	Doc:   "merges up to N, or 1024, adjacent reads, and writes, into one with a vector of their buffers",
	Keeps: "everything; data wait before they are written",
	New: func(arg string) (Func, error) {
		segments := maxSegments
		if arg != "" {
			var err error
			if segments, err = parseCount(arg, maxSegments); err != nil {
				return nil, err
			}
		}
		return newMerger(maxTransfer, int64(segments), true), nil
	},
}
