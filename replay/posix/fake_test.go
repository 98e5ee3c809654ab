package posix

import (
	"testing"

	"pianola/internal/roottest"
	"pianola/replay/engine"
	"pianola/replay/sandbox"
)

// bare returns an executor of no trace, which is not built.
func bare(o Options) *Executor {
	s := engine.NewStage(engine.NewClock(nil))
	return New(s.NewEngine("", nil, nil, engine.Options{}), o)
}

// eachBinding runs a test in both ways to keep a thread in its root.
func eachBinding(t *testing.T, test func(t *testing.T, bind func(*sandbox.Guard) error)) {
	roottest.EachBinding(t, func(t *testing.T, jail bool) {
		test(t, func(g *sandbox.Guard) error { return g.Enter(jail) })
	})
}
