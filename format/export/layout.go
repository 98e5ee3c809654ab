package export

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"pianola/format"
)

// layout writes a shell script that creates the files of an iolog in the
// working directory, because fio creates none. The files have the size that
// they had before the recorded run, or that the reads need, and hold random
// bytes without holes. The script overwrites no file. Its last line is a comment with
// the command for fio.
type layout struct {
	out   text
	log   *iolog
	depth depth
}

// maxLayout bounds the sum of the sizes of files, in bytes, as in a replay.
const maxLayout = 1 << 40

func newLayout(w io.Writer, h *format.Header) (Writer, error) {
	l := &layout{out: newText(w), log: newIolog(h, func(*logged, string, int64, int64) {})}
	l.log.files.start()
	for i := range l.depth.ends {
		l.depth.ends[i] = format.NewHeap(func(a, b *int64) bool { return *a < *b }, nil)
	}
	return l, nil
}

func (l *layout) Write(events []format.Event) error {
	for i := range events {
		if err := l.log.apply(&events[i]); err != nil {
			return err
		}
		l.depth.add(&events[i])
	}
	return nil
}

func (l *layout) Close() error {
	if l.log.err != nil {
		return l.log.err
	}
	room := int64(maxLayout)
	for _, f := range l.log.order {
		if room -= f.size; f.size < 0 || room < 0 {
			return fmt.Errorf("%s: files of more than %d TiB", f.name, maxLayout>>40)
		}
	}
	l.out.b = append(l.out.b, "#!/bin/sh\nset -eC # noclobber\n"...)
	dirs := make([]string, 0, len(l.log.dirs))
	for dir := range l.log.dirs {
		dirs = append(dirs, dir)
	}
	slices.Sort(dirs)
	for _, dir := range dirs {
		l.line("mkdir -p ", dir)
	}
	for _, f := range l.log.order {
		command := ": >"
		if f.size > 0 {
			command = "head -c " + strconv.FormatInt(f.size, 10) + " /dev/urandom >"
		}
		l.line(command, f.name)
	}
	l.out.b = append(l.command(append(l.out.b, "# "...)), '\n')
	return l.out.flush()
}

// command appends the command that replays the iolog in the directory of the files: with
// as many requests in flight as there were, or one call after the other.
func (l *layout) command(dst []byte) []byte {
	dst = append(dst, "fio --name=replay --thread --read_iolog=LOG --ioengine="...)
	engine, via := "psync", format.ViaCall
	if l.depth.most[format.ViaAIO] > 0 {
		engine, via = "libaio", format.ViaAIO
	}
	if n := l.depth.most[format.ViaUring]; n > 0 && n >= l.depth.most[format.ViaAIO] {
		engine, via = "io_uring", format.ViaUring
	}
	if dst = append(dst, engine...); via == format.ViaCall {
		return dst
	}
	return strconv.AppendInt(append(dst, " --iodepth="...), int64(l.depth.most[via]), 10)
}

// line writes a command and a name, quoted so that the shell reads it as one
// word, and not as an option.
func (l *layout) line(command, name string) {
	l.out.b = append(append(l.out.b, command...), "'./"...)
	l.out.b = append(append(l.out.b, strings.ReplaceAll(name, "'", `'\''`)...), "'\n"...)
	_ = l.out.flushFull() // the error stays
}
