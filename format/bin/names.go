package bin

import (
	"fmt"
	"slices"
	"strings"
	"unsafe"

	"pianola/format"
)

// The application's names are a text. In the order of the paths, it holds each path
// below the root and its name, each with a zero byte after it. A name in the directory
// that the path suggests ("w/db" for "w/pianola_tmp1", not for "pianola_tmp1") is
// stored as its last component, which distinguishes it from an absolute one.

func writeNames(_ *Writer, h *format.Header) content {
	var text []byte
	for _, n := range format.SortNames(slices.Clone(h.Names)) {
		name := n.Name
		suggested, _ := cutBase(n.Path)
		if dir, base := cutBase(n.Name); base != "" && dir[1:] == suggested {
			name = base
		}
		text = append(append(text, n.Path...), 0)
		text = append(append(text, name...), 0)
	}
	return content{text: text}
}

// cutBase cuts a path after its last slash.
func cutBase(path string) (dir, base string) {
	i := strings.LastIndexByte(path, '/') + 1
	return path[:i], path[i:]
}

// mapBytes is the memory of a name in the map of its user (format.AppNames).
const mapBytes = 80

// joinedBytes is the memory of a joined name, besides its text: the rounding of the
// allocator.
const joinedBytes = 16

func readNames(t *Trace, p *part) error {
	text, err := t.loader.text(p)
	if err != nil {
		return err
	}
	defer t.loader.budget.give(p.count)
	if err := t.loader.budget.take(p.count, 1); err != nil {
		return err
	}
	all := string(text)
	names := int64(strings.Count(all, "\x00") / 2)
	if err := t.loader.budget.take(names, int64(unsafe.Sizeof(format.AppName{}))+mapBytes); err != nil {
		return err
	}
	if len(t.header.Names) > 0 {
		return fmt.Errorf("%w: the header has names as well", ErrMalformed)
	}
	t.header.Names = make([]format.AppName, 0, names)
	last := ""
	for len(all) > 0 {
		var n format.AppName
		var whole bool
		n.Path, all, _ = strings.Cut(all, "\x00")
		if n.Name, all, whole = strings.Cut(all, "\x00"); !whole {
			return fmt.Errorf("%w: the last name does not end", ErrMalformed)
		}
		if n.Name != "" && n.Name[0] != '/' {
			dir, _ := cutBase(n.Path)
			if err := t.loader.budget.take(int64(1+len(dir)+len(n.Name)+joinedBytes), 1); err != nil {
				return err
			}
			n.Name = "/" + dir + n.Name
		}
		if why := n.Wrong(); why != "" {
			return fmt.Errorf("%w: name %d: %s", ErrMalformed, len(t.header.Names), why)
		}
		if n.Path <= last {
			return fmt.Errorf("%w: name %d: %q after %q", ErrMalformed, len(t.header.Names), n.Path, last)
		}
		last = n.Path
		t.header.Names = append(t.header.Names, n)
	}
	return nil
}
