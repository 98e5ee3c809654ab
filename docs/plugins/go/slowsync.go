package main

import (
	"context"
	"time"

	"pianola/format"
	"pianola/replay"
)

// slowSync is a disk on which a sync takes 5 ms and nothing else takes any
// time.
type slowSync struct{}

func openSlowSync(context.Context, format.Trace) (replay.Player, error) { return slowSync{}, nil }

// Play implements replay.Player.
func (slowSync) Play(_ int32, r *format.Record) (int64, error) {
	if r.Op.Info().Class == format.ClassSync {
		time.Sleep(5 * time.Millisecond)
	}
	return r.Ret, nil
}

// Close implements replay.Player.
func (slowSync) Close() error { return nil }
