package transform

import "pianola/format"

// openFlags holds where the flags of open stand among the arguments of an
// operation, -1 where there are none.
var openFlags = func() (at [format.NumOps]int) {
	for op := range at {
		at[op] = -1
		if format.Op(op).Valid() {
			for i, a := range format.Op(op).Info().Args {
				if a.Flags == format.OpenFlags {
					at[op] = i
				}
			}
		}
	}
	return at
}()

// Values of format.ReadWriteFlags.
const (
	rwfDsync = 2
	rwfSync  = 4
)
