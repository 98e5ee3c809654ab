package script

import "bytes"

// Output of strace besides calls and their times, which some options add.

// bare returns a line of strace without that, nil for a line that holds nothing else:
// stacks (-k), dumps (-e read=all), the table of -C, names of commands (-Y), and comments
// beside numbers (-X verbose). It changes the line.
func (r *Reader) bare(line []byte) []byte {
	switch {
	case bytes.HasPrefix(line, []byte("% time ")):
		r.summed = true
	case bytes.HasPrefix(line, []byte(" > ")), bytes.HasPrefix(line, []byte(" | ")):
		return nil
	}
	if r.summed {
		return nil
	}
	line = withoutCommand(line)
	if bytes.Contains(line, []byte("/*")) {
		line = withoutComments(line)
	}
	return line
}

// withoutCommand removes "<COMMAND>" behind the thread's id.
func withoutCommand(line []byte) []byte {
	i := 0
	if bytes.HasPrefix(line, []byte("[pid ")) {
		i = len("[pid ")
		for i < len(line) && line[i] == ' ' {
			i++
		}
	}
	first := i
	for i < len(line) && isDigit(line[i]) {
		i++
	}
	if i == first || i == len(line) || line[i] != '<' {
		return line
	}
	// A name can contain ">". A space or the bracket follows the end of the name.
	for end := i + 1; end < len(line)-1; end++ {
		if line[end] == '>' && (line[end+1] == ' ' || line[end+1] == ']') {
			return append(line[:i], line[end+1:]...)
		}
	}
	return line
}

// withoutComments removes text between "/*" and "*/", outside of strings, and the space
// before it.
func withoutComments(line []byte) []byte {
	to, quoted := line[:0], false
	for i := 0; i < len(line); i++ {
		switch b := line[i]; {
		case quoted && b == '\\' && i+1 < len(line):
			to = append(to, b)
			i++
		case b == '"':
			quoted = !quoted
		case !quoted && b == '/' && bytes.HasPrefix(line[i:], []byte("/*")):
			if n := bytes.Index(line[i:], []byte("*/")); n >= 0 {
				to = bytes.TrimRight(to, " ")
				i += n + 1
				continue
			}
		}
		to = append(to, line[i])
	}
	return to
}
