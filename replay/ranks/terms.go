package ranks

import (
	"context"
	"fmt"
	"slices"
)

// Terms are the properties that all players must share.
type Terms struct {
	Trace   uint32   // its checksum
	Version string   // of the program
	Options []string // as on the command line, the same ones in the same order for all players
}

// Agree returns an error that names a player with other terms than rank 0. All players must
// call it.
func (s *Session) Agree(ctx context.Context, own Terms) error {
	all, err := CollectJSON(ctx, s, own)
	if err != nil {
		return err
	}
	return s.agreed(all)
}

func (s *Session) agreed(all []Terms) error {
	for i := range all {
		switch {
		case all[i].Trace != all[0].Trace:
			return fmt.Errorf("%s has another trace than rank 0", s.Name(i))
		case all[i].Version != all[0].Version:
			return fmt.Errorf("%s has version %s of pianola, rank 0 has %s", s.Name(i), all[i].Version, all[0].Version)
		case !slices.Equal(all[i].Options, all[0].Options):
			return fmt.Errorf("%s has other options than rank 0: %s", s.Name(i), differing(all[i].Options, all[0].Options))
		}
	}
	return nil
}

// differing returns the first of the options that one player has and the other has not.
func differing(one, other []string) string {
	for i := range min(len(one), len(other)) {
		if one[i] != other[i] {
			return one[i] + ", not " + other[i]
		}
	}
	return ""
}

// Playing returns a function that reports the progress of this player to rank 0, which shows
// the sums of all. show may be nil; a single player uses it directly.
func (s *Session) Playing(show func(events, all int64)) func(events, all int64) {
	switch {
	case s == nil || s.Size == 1:
		return show
	case s.Rank != 0:
		return s.Report
	case show == nil:
		return nil
	}
	return func(events, all int64) {
		s.Report(events, all)
		show(s.Progress())
	}
}
