package transform_test

import (
	"fmt"
	"os"
	"strings"

	"pianola/compile/transform"
	"pianola/format"
	"pianola/format/script"
)

// A transform of one's own is a function. This one makes an application's
// locks cost nothing.
func Example() {
	all := transform.Builtin().With(transform.Transform{
		Name: "lockless", Doc: "takes locks out", Keeps: "all but locks",
		New: func(string) (transform.Func, error) {
			return transform.Each(func(_ *format.Header, e *format.Event) transform.Verdict {
				if e.Op == format.OpFlock {
					return transform.Spare
				}
				return transform.Keep
			}), nil
		},
	})

	// Open is what compile.Compile reads the recording by.
	lockless, err := all.Parse("lockless")
	if err != nil {
		panic(err)
	}
	chain := transform.NewChain(func() (format.Reader, error) {
		return script.NewReader(strings.NewReader(`1 0.000000000 flock(3, LOCK_EX) = 0 <0.001500000>
1 0.001510000 write(3, 0x1000, 64) = 64 <0.000020000>
`), "app.txt"), nil
	}, lockless)
	r, err := chain.Open()
	if err != nil {
		panic(err)
	}
	events := make([]format.Event, 512)
	n, err := r.Read(events)
	if err != nil {
		panic(err)
	}
	w := script.NewWriter(os.Stdout)
	if err := w.Write(events[:n]); err != nil {
		panic(err)
	}
	if err := w.Flush(); err != nil {
		panic(err)
	}
	fmt.Println(chain.Close())
	// Output:
	// # pianola script 1
	// 1 0.001510000 write(3, 0x1000, 64) = 64 <0.000020000> {cut=1500000}
	// <nil>
}
