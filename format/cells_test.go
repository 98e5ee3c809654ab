package format_test

import (
	"bytes"
	"encoding/csv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"pianola/format"
)

func TestCellWriter(t *testing.T) {
	for _, c := range []struct{ cell, want string }{
		{"=1+1", "'=1+1"},
		{`=HYPERLINK("http://x","y")`, `'=HYPERLINK("http://x","y")`},
		{"@sum", "'@sum"},
		{"+a", "'+a"},
		{"-rf", "'-rf"},
		{"-", "'-"},
		{"-1-2", "'-1-2"},
		{"-2+cmd|' /C calc'!A0", "'-2+cmd|' /C calc'!A0"},
		{"\t=1", "'\t=1"},
		{"\r=1", "'\r=1"},
		{"-,", "'-,"},
		{"-1,=2", "'-1,=2"},
		{"-1\"", "'-1\""},
		// numbers, and what begins like nothing
		{"-1", "-1"},
		{"+1.5", "+1.5"},
		{"-0.000000001", "-0.000000001"},
		{"a=1", "a=1"},
		{`"=1`, `"=1`},
		{"a,=1", "a,=1"},
		{"a\n=1", "a\n=1"},
		{"", ""},
	} {
		records := [][]string{{c.cell, "x", c.cell}, {"x", c.cell, "y"}}
		var given bytes.Buffer
		w := csv.NewWriter(&given)
		require.NoError(t, w.WriteAll(records))
		for _, whole := range []bool{true, false} {
			var got bytes.Buffer
			guard := format.NewCellWriter(&got)
			if whole {
				_, err := guard.Write(given.Bytes())
				require.NoError(t, err)
			} else {
				for _, b := range given.Bytes() {
					_, err := guard.Write([]byte{b})
					require.NoError(t, err)
				}
			}
			read, err := csv.NewReader(iotest.OneByteReader(strings.NewReader(got.String()))).ReadAll()
			require.NoError(t, err, "%q", got.String())
			require.Equal(t, [][]string{{c.want, "x", c.want}, {"x", c.want, "y"}}, read, "%q", got.String())
		}
	}
}
