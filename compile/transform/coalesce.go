package transform

import "fmt"

var coalesceTransform = Transform{
	Name: "coalesce", Arg: Arg{Form: "SIZE"},
	Doc:   "merges adjacent reads, and adjacent writes, through a buffer of SIZE for each descriptor",
	Keeps: "everything, but data stay in the buffer before they are written",
	New: func(arg string) (Func, error) {
		size, err := parseSize(arg)
		if err != nil {
			return nil, err
		}
		if size > maxTransfer {
			return nil, fmt.Errorf("%q is more than one call can move", arg)
		}
		return newMerger(size, 1<<40, false), nil
	},
}

var vectoredTransform = Transform{
	Name: "vectored", Arg: Arg{Form: "N", Optional: true},
	Doc:   "merges up to N adjacent reads, or writes, into one vectored call (default and maximum 1024)",
	Keeps: "everything, but data wait before they are written",
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
