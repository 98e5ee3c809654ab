package layer

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// guesses are what a word in the name of a function suggests. The first one counts.
var guesses = []struct {
	kind  string
	words []string
}{
	{"close", []string{"close", "free", "destroy", "shutdown", "disconnect"}},
	{"open", []string{"open", "create", "connect", "new"}},
	{"sync", []string{"sync", "flush", "commit"}},
	{"read", []string{"read", "get", "pop", "fetch", "load"}},
	{"write", []string{"write", "put", "push", "append", "store"}},
}

var (
	prototype = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_ \t*]*?[ \t*])([A-Za-z_]\w*)[ \t]*\(([^{}]*)\)[^(){}=]*;$`)
	parameter = regexp.MustCompile(`^(?:const\s+|struct\s+)*([A-Za-z_]\w*)\s*(\*?)\s*([A-Za-z_]\w*)$`)
	pathNames = []string{"path", "file", "filename", "name", "pathname"}
)

// maxPrototype bounds the characters of a prototype.
const maxPrototype = 1 << 12

// Draft writes a copy of a C header with guessed annotations: the kind of each function by its
// name, handles of the types that an opening function returns, and paths. A person must look at
// them. It reads prototypes outside of braces, and leaves alone all that it does not understand.
func Draft(w io.Writer, name, library string, header io.Reader) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "//layer %s %q\n", name, library)
	statement, depth, found := "", 0, 0
	handles := map[string]bool{}
	lines := bufio.NewScanner(header)
	for lines.Scan() {
		line := lines.Text()
		out.WriteString(line)
		code, _, _ := strings.Cut(line, "//")
		code, _, _ = strings.Cut(code, "/*")
		if code = strings.TrimSpace(code); strings.HasPrefix(code, "#") || strings.HasPrefix(code, "*") {
			code = ""
		}
		depth += strings.Count(code, "{") - strings.Count(code, "}")
		statement = strings.TrimSpace(statement + " " + code)
		if m := prototype.FindStringSubmatch(statement); m != nil && depth == 0 && !strings.HasPrefix(statement, "typedef") && !strings.HasPrefix(statement, "static") {
			out.WriteString("\n" + annotated(m[1], m[2], m[3], handles))
			found++
		}
		if strings.HasSuffix(code, ";") || strings.HasSuffix(code, "{") || strings.HasSuffix(code, "}") || code == "" || len(statement) > maxPrototype {
			statement = ""
		}
		out.WriteByte('\n')
	}
	if err := lines.Err(); err != nil {
		return err
	}
	if found == 0 {
		return errors.New("no prototypes of functions")
	}
	return out.Flush()
}

// annotated returns the annotations of a function. handles are the types that earlier ones opened.
func annotated(returns, name, parameters string, handles map[string]bool) string {
	kind, own := "metadata", strings.ToLower(name)
	for _, g := range guesses {
		if slices.ContainsFunc(g.words, func(word string) bool { return strings.Contains(own, word) }) {
			kind = g.kind
			break
		}
	}
	all := []string{"//span " + kind}
	for p := range strings.SplitSeq(parameters, ",") {
		m := parameter.FindStringSubmatch(strings.TrimSpace(p))
		switch {
		case m == nil:
		case m[1] == "char" && m[2] != "" && slices.Contains(pathNames, m[3]):
			all = append(all, "//path "+m[3])
		case handles[m[1]] && m[2] != "" && kind == "close":
			all = append(all, "//undefine "+m[1]+" "+m[3])
		case handles[m[1]] && m[2] != "":
			all = append(all, "//map "+m[1]+" "+m[3])
		}
	}
	words := strings.Fields(strings.ReplaceAll(returns, "*", " "))
	if made := words[len(words)-1]; kind == "open" && strings.Contains(returns, "*") && made != "char" && made != "void" {
		handles[made] = true
		all = append(all, "//define "+made+" result", "//error result == 0")
	}
	return strings.Join(all, " ")
}
