package compile

import "pianola/format"

// argMap holds, for each argument of the canonical form of an operation, the
// index of the source operation's argument, -1 for none. Arguments are matched
// by name.
type argMap [format.MaxArgs]int8

type opPair struct{ from, to format.Op }

// argMaps caches the maps that were needed so far.
type argMaps map[opPair]*argMap

func (a argMaps) of(from, to format.Op) *argMap {
	if m, ok := a[opPair{from, to}]; ok {
		return m
	}
	m := new(argMap)
	for i, arg := range to.Info().Args {
		m[i] = int8(from.Info().ArgIndex(arg.Name))
		if m[i] < 0 && arg.Kind == format.FD {
			// fstat and the like, made by a call with a path: dirfd is the file.
			m[i] = int8(from.Info().ArgIndex("dirfd"))
		}
	}
	a[opPair{from, to}] = m
	return m
}

// canonical fills out with the canonical form of e, without paths.
func (a argMaps) canonical(e *format.Event, out *format.Event) {
	op := e.Op
	if canon := op.Info().Canon; canon != nil {
		op = canon(e)
	}
	out.Op, out.Dur, out.Ret, out.Start = op, e.Dur, e.Ret, e.Start
	out.Str, out.List, out.Edges, out.How = [format.MaxStrings][]byte{}, nil, nil, format.How{}
	if op == e.Op {
		out.Args = e.Args
	} else {
		out.Args = [format.MaxArgs]int64{}
		m := a.of(e.Op, op)
		for i := range op.Info().Args {
			if m[i] >= 0 {
				out.Args[i] = e.Args[m[i]]
			}
		}
	}
	at := &op.Info().At
	if implied := e.Op.Info().Implied; implied != 0 {
		out.Args[at.Flags] = implied
	}
	// Addresses mean nothing in a replay. apply fills in those of data.
	for i, addrs := 0, at.Addrs; addrs != 0; i, addrs = i+1, addrs>>1 {
		if addrs&1 != 0 {
			out.Args[i] = 0
		}
	}
}
