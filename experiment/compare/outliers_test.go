package compare

import (
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/profile"
)

func TestOutliers(t *testing.T) {
	for _, test := range []struct {
		name  string
		times []int64 // milliseconds
		want  []string
	}{
		{"none", []int64{1000, 1010, 990, 1005, 995, 1002}, nil},
		{"slow", []int64{1000, 1010, 990, 1005, 9995, 1002},
			[]string{"replay: 1 of 6 runs are outliers: 9.995 s, the median is 1.003 s"}},
		{"fast and slow", []int64{1000, 1010, 990, 1005, 1, 995, 1001, 3000},
			[]string{"replay: 2 of 8 runs are outliers: 3.000 s, the median is 1.000 s"}},
		{"two speeds", []int64{1000, 1200, 1000, 1200, 1000, 1200}, nil},
		{"equal but for a little", []int64{1000, 1000, 1000, 1000, 1000, 1049}, nil},
		{"few runs", []int64{1000, 1010, 990, 1005, 9995}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			var runs []*profile.Profile
			for _, ms := range test.times {
				runs = append(runs, made(t, 1, 0, 0, 0, ms))
			}
			c := Profiles(runs[:1], runs)
			require.Equal(t, test.want, c.outliers())
			v := c.Judge(0.1)
			for _, line := range test.want {
				require.Contains(t, c.Remarks(&v), "warning: "+line)
			}
		})
	}
}
