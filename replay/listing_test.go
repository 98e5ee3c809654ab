package replay

import (
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/format"
	"pianola/replay/replaykit"
)

// A listing of temporary names may have more calls or fewer than the recorded one. It
// differs if it lacks names that were there from its start to its end, and only then.
func TestListing(t *testing.T) {
	const whole, first = format.Listing, format.Listing | format.ListingStart
	eachBackend(t, func(t *testing.T, p player) {
		for _, test := range []struct {
			name    string
			least   int
			again   int // what another listing after a rewind must have
			missing int64
		}{
			{"whole", 3, 2, 0},
			{"no bound", 0, 0, 0},
			{"names are missing", 5, 2, 2},
			{"names of another listing do not count", 3, 4, 2},
		} {
			t.Run(test.name, func(t *testing.T) {
				r := replaykit.New(1)
				r.File(format.File{Path: "d", Type: format.TypeDir, Mode: 0o755})
				for _, name := range []string{"d/a_name_of_some_length", "d/b", "d/c"} {
					r.File(format.File{Path: name, Type: format.TypeReg, Mode: 0o644})
				}
				r.Add(1, format.OpOpen, 3, "d", format.RDONLY)
				// Six calls in the recording, whose buffers held one entry.
				for call := range 6 {
					mark := whole
					if call == 0 {
						mark = first
					}
					r.Add(1, format.OpGetdents64, 24, 3, mark, 24)
				}
				r.Add(1, format.OpGetdents64, 0, 3, whole|test.least, 24)
				r.Add(1, format.OpUnlink, 0, "d/b")
				r.Add(1, format.OpLseek, 0, 3, 0, format.SeekSet)
				r.Add(1, format.OpGetdents64, 24, 3, first, 24)
				r.Add(1, format.OpGetdents64, 0, 3, whole|test.again, 24)
				_, res := p.play(t, r)
				if test.missing == 0 {
					faultless(t, r, res)
					return
				}
				require.Len(t, res.Differences, 1)
				require.Equal(t, test.missing, res.Differences[0].Got)
				require.Equal(t, "number of names missing from the listing", res.Differences[0].Reason)
			})
		}
	})
}

// A listing whose recorded call ends later than the replay's is read to its end.
func TestListingToItsEnd(t *testing.T) {
	eachBackend(t, func(t *testing.T, p player) {
		r := replaykit.New(1)
		r.Add(1, format.OpMkdir, 0, "d", 0o755)
		const files = 100
		for i := range files {
			r.Add(1, format.OpMknod, 0, "d/"+string(rune('a'+i%26))+string(rune('a'+i/26)), 0o100600, 0)
		}
		r.Add(1, format.OpOpen, 3, "d", format.RDONLY)
		r.Add(1, format.OpGetdents64, 300, 3, format.Listing|format.ListingStart, 300)
		r.Add(1, format.OpGetdents64, 0, 3, format.Listing|files, 300)
		r.Add(1, format.OpGetdents64, 0, 3, 0, 300)
		_, res := p.play(t, r)
		faultless(t, r, res)
	})
}
