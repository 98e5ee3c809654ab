// Command go is pianola with one transform more, faster: it halves all times.
//
//	go build -o mypianola ./docs/plugins/go
//	./mypianola compile --with faster -o trace.bin trace.txt
package main

import (
	"pianola/cli"
	"pianola/format"
	"pianola/transform"
)

// faster halves the times of what it reads.
type faster struct{ format.Reader }

// Read implements format.Reader.
func (r faster) Read(events []format.Event) (int, error) {
	n, err := r.Reader.Read(events)
	for i := range events[:n] {
		events[i].Start /= 2
	}
	return n, err
}

func main() {
	transform.Register(transform.Transform{
		Name: "faster", Doc: "halves the time from call to call", Keeps: "all but time",
		New: func(string) (transform.Func, error) {
			return func(r format.Reader) (format.Reader, error) { return faster{r}, nil }, nil
		},
	})
	cli.Main()
}
