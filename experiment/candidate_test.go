package experiment

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func known(name string) bool {
	return name == "prefetch" || name == "coalesce" || name == "backend" || name == "only" || name == "reroot"
}

func TestParse(t *testing.T) {
	for _, c := range []struct {
		name  string
		texts string // apart by a space
		grid  bool
		want  string
		err   string
	}{
		{"none", "", false, "", ""},
		{"one", "prefetch", false, "prefetch", ""},
		{"several", "prefetch=4 backend=memory", false, "prefetch=4 backend=memory", ""},
		{"a combination", "prefetch=4+coalesce=256KiB", false, "[prefetch=4 coalesce=256KiB]", ""},
		{"steps without arguments", "prefetch+coalesce", false, "[prefetch coalesce]", ""},
		{"a + in an argument", "only=a+b+prefetch=4", false, "[only=a+b prefetch=4]", ""},
		{"a colon", "reroot=/a+b:/c+prefetch", false, "[reroot=/a+b:/c prefetch]", ""},
		{"a list that is none", "prefetch=2,4", false, "prefetch=2,4", ""},
		{"a grid", "prefetch=2,4 coalesce=64KiB,1MiB", true,
			"[prefetch=2 coalesce=64KiB] [prefetch=2 coalesce=1MiB] [prefetch=4 coalesce=64KiB] [prefetch=4 coalesce=1MiB]", ""},
		{"a grid within a candidate", "prefetch=2,4+coalesce=1", true, "[prefetch=2 coalesce=1] [prefetch=4 coalesce=1]", ""},
		{"a grid of one axis", "prefetch=2,4,8", true, "prefetch=2 prefetch=4 prefetch=8", ""},
		{"a step without argument in a grid", "prefetch backend=null,memory", true, "[prefetch backend=null] [prefetch backend=memory]", ""},
		{"commas that part nothing", `only="a,b",(c,d),e`, true, `only="a,b" only=(c,d) only=e`, ""},
		{"quotes of a program", `only='"a,',b only="it's,",c`, true,
			`[only='"a,' only="it's,"] [only='"a,' only=c] [only=b only="it's,"] [only=b only=c]`, ""},
		{"twice", "prefetch=4 prefetch=4", false, "", `duplicate "prefetch=4"`},
		{"twice in a grid", "prefetch=4,4", true, "", `duplicate "prefetch=4"`},
		{"the baseline", "baseline", false, "", `duplicate "baseline"`},
		{"empty", "+prefetch", false, "", `"+prefetch" has an empty step`},
		{"a large grid", "prefetch=" + strings.Repeat("1,", 16) + "1 coalesce=" + strings.Repeat("1,", 16) + "1", true, "", "a grid of more than 256 candidates"},
		{"many", strings.Repeat("prefetch ", 300), false, "", "more than 256 candidates"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Parse(strings.Fields(c.texts), c.grid, known)
			if c.err != "" {
				require.EqualError(t, err, c.err)
				return
			}
			require.NoError(t, err)
			var words []string
			for _, c := range got {
				if len(c) == 1 {
					words = append(words, c[0])
				} else {
					words = append(words, fmt.Sprint([]string(c)))
				}
			}
			require.Equal(t, c.want, strings.ReplaceAll(strings.Join(words, " "), "[]", ""))
		})
	}
}

// FuzzParse: steps are never lost, and a grid is bounded.
func FuzzParse(f *testing.F) {
	f.Add("prefetch=4+coalesce=256KiB", false)
	f.Add(`only="a,b",(c,d)+prefetch=1,2`, true)
	f.Fuzz(func(t *testing.T, text string, grid bool) {
		all, err := Parse([]string{text}, grid, known)
		require.LessOrEqual(t, len(all), MaxCandidates)
		if err == nil && !grid {
			require.Equal(t, text, all[0].String())
		}
	})
}

func TestCut(t *testing.T) {
	for step, want := range map[string][2]string{
		"prefetch":        {"prefetch", ""},
		"prefetch=4":      {"prefetch", "4"},
		"reroot=/a:/b":    {"reroot", "/a:/b"},
		"exec:prog --x=1": {"exec", "prog --x=1"},
	} {
		name, arg := Cut(step)
		require.Equal(t, want, [2]string{name, arg}, step)
	}
}
