package importer

import (
	"bytes"
	"io"
	"strconv"

	"pianola/format"
	"pianola/format/script"
)

// survey is the state before the first line of a file of strace, which later
// lines reveal: the working directory and, with -y, the open descriptors.
type survey struct {
	cwd         string
	descriptors []format.Descriptor
}

// maxFD bounds the descriptors that a survey follows.
const maxFD = 1 << 16

// surveyFile reads a whole file.
func surveyFile(f File) (survey, error) {
	src, err := f.Open()
	if err != nil {
		return survey{}, err
	}
	defer src.Close()
	s := surveyor{moved: make(map[string]bool), lines: lines{name: f.Name, r: src, buf: make([]byte, 4*maxLine), p: &iozone{}}}
	if err := s.run(); err != nil {
		return survey{}, err
	}
	return s.found, nil
}

type surveyor struct {
	lines lines
	found survey
	moved map[string]bool // threads, and whether their working directory may have changed
	left  bool            // that of some thread has
	seen  [maxFD]bool
}

func (s *surveyor) run() error {
	for {
		line, err := s.lines.nextLine()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			// The reader will meet the same error and has a better message.
			if _, ok := err.(*script.SyntaxError); ok {
				return nil
			}
			return err
		}
		s.lines.line++
		if s.found.cwd == "" {
			s.directory(line)
		}
		s.descriptorsOf(line)
	}
}

var (
	atCwd  = []byte("AT_FDCWD<")
	getcwd = []byte(`getcwd("`)
	chdir  = []byte("chdir(") // fchdir, too
)

// directory finds the working directory at the start: the path that -y shows for the
// first AT_FDCWD, or the result of the first getcwd, of a thread that has not left it
// by a chdir. A thread that appears after some chdir may have begun in another
// directory.
func (s *surveyor) directory(line []byte) {
	id := threadOf(line)
	moved, known := s.moved[id]
	if !known && len(s.moved) < maxSurveyed {
		moved = s.left
		s.moved[id] = moved
	}
	if moved || !known && len(s.moved) >= maxSurveyed {
		return
	}
	if i := bytes.Index(line, atCwd); i >= 0 {
		if path, _, ok := bytes.Cut(line[i+len(atCwd):], []byte{'>'}); ok && len(path) > 0 && path[0] == '/' {
			s.found.cwd = unescape(path)
			return
		}
	}
	if i := bytes.Index(line, getcwd); i >= 0 {
		path, rest, err := format.Unquote(nil, line[i+len(getcwd)-1:])
		if err == nil && len(path) > 0 && path[0] == '/' && !bytes.HasPrefix(rest, []byte("...")) {
			s.found.cwd = string(path)
			return
		}
	}
	if bytes.Contains(line, chdir) {
		s.moved[id], s.left = true, true
	}
}

// maxSurveyed bounds the threads whose working directory is followed.
const maxSurveyed = 1 << 16

// threadOf returns the id of a line's thread, "" if the line has none.
func threadOf(line []byte) string {
	line = bytes.TrimLeft(bytes.TrimPrefix(line, []byte("[pid ")), " ")
	n := 0
	for n < len(line) && line[n] >= '0' && line[n] <= '9' {
		n++
	}
	if n == 0 || n == len(line) || line[n] == '.' || line[n] == ':' {
		return "" // it is a time
	}
	return string(line[:n])
}

// descriptorsOf reads all N</path> of a line. A descriptor that is an argument
// before it is a result was open at the start.
func (s *surveyor) descriptorsOf(line []byte) {
	result := bytes.LastIndex(line, []byte(" = "))
	quoted := false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '"':
			quoted = !quoted
		case c == '\\' && quoted:
			i++
		case c == '<' && !quoted && i > 0 && line[i-1] >= '0' && line[i-1] <= '9':
			end := bytes.IndexByte(line[i:], '>')
			if end < 0 {
				return
			}
			first := i
			for first > 0 && line[first-1] >= '0' && line[first-1] <= '9' {
				first--
			}
			// The duration follows the result: " <0.000010>".
			fd, err := strconv.Atoi(string(line[first:i]))
			if err == nil && fd < maxFD && !s.seen[fd] {
				s.seen[fd] = true
				before := byte(0)
				if first > 0 {
					before = line[first-1]
				}
				made := result >= 0 && i > result || before == '[' // pipe2([3<pipe:[1]>, 4<…>])
				if !made && line[i+1] == '/' {
					s.open(fd, line[i+1:i+end])
				}
			}
			i += end
		}
	}
}

// open records a descriptor that was open at the start.
func (s *surveyor) open(fd int, path []byte) {
	if n := bytes.IndexByte(path, '<'); n >= 0 { // /dev/null<char 1:3>
		path = path[:n]
	}
	s.found.descriptors = append(s.found.descriptors, format.Descriptor{Process: 1, FD: int32(fd), Flags: format.RDWR, Path: unescape(path)})
}

// unescape decodes the escapes in a path of strace -y.
func unescape(path []byte) string {
	text := append(append([]byte{'"'}, path...), '"')
	if s, rest, err := format.Unquote(nil, text); err == nil && len(rest) == 0 {
		return string(s)
	}
	return string(path)
}
