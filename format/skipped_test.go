package format

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The kinds of lines that are not taken are bounded, in number and in length.
func TestSkippedIsBounded(t *testing.T) {
	var s Skipped
	sum := int64(0)
	for i := range 2 * MaxSkipped {
		s.Add(strconv.Itoa(i)+strings.Repeat("x", 50*i), 2)
	}
	for _, n := range s {
		sum += n
	}
	require.Len(t, s, MaxSkipped+1)
	require.EqualValues(t, 4*MaxSkipped, sum)
	require.EqualValues(t, 2*MaxSkipped, s["other"])
	var h Header
	Skipped{}.Remark(&h)
	require.Empty(t, h.Meta)
	s.Remark(&h)
	text, _ := h.Value(MetaSkipped)
	require.Less(t, len(text), MaxSkipped*(maxKind+20))
	require.Less(t, len(h.Foreign()[0]), 400)
}
