// Command go is pianola with something of one's own of each kind: a transform,
// a format of recordings and a backend.
//
//	go build -o mypianola ./docs/plugins/go
//	./mypianola compile --with faster -o trace.bin trace.txt
//	./mypianola compile -o usr.bin usr_0.csv.gz
//	./mypianola replay --backend slowsync trace.bin
package main

import (
	"pianola/cmd/cli"
	"pianola/replay"
)

func main() {
	cli.Main(
		cli.WithTransform(faster),
		cli.WithImporter(msr),
		cli.WithBackend(replay.NewBackend("slowsync", openSlowSync)),
	)
}
