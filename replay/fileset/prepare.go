package fileset

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"pianola/format"
	"pianola/internal/option"
	"pianola/replay/sandbox"
)

// Prepare is how the fileset is prepared before a replay.
type Prepare uint8

// The ways to prepare.
const (
	PrepareAuto   Prepare = iota // keep files that fit, build or remove the others
	PrepareAlways                // build everything again
	PrepareNever                 // take the files as they are
	PrepareOnly                  // like PrepareAuto, but replay nothing, and keep the root
)

// Preparations are the names of the ways.
var Preparations = option.Names[Prepare]{What: "preparation", All: []string{PrepareAuto: "auto", PrepareAlways: "always", PrepareNever: "never", PrepareOnly: "only"}}

func (p Prepare) String() string { return Preparations.All[p] }

// Prepared is the result of a preparation.
type Prepared struct {
	Files       int64  // of the fileset, of any type
	Kept        int64  // of these, and of fillers, files that existed before, including those that were cut or completed
	Removed     int64  // names that were removed, with all below them
	Missing     int64  // files and fillers that are missing: PrepareNever
	Example     string // one of them
	Bytes       int64  // written into files
	Fillers     int64  // empty files that give directories their size
	Substituted int64  // pipes, sockets and devices, replaced by empty files
	Elapsed     time.Duration
}

// Add adds the result of the preparation of another root, except Elapsed.
func (p *Prepared) Add(o *Prepared) {
	p.Files += o.Files
	p.Kept += o.Kept
	p.Removed += o.Removed
	p.Missing += o.Missing
	p.Bytes += o.Bytes
	p.Fillers += o.Fillers
	p.Substituted += o.Substituted
	p.Example = cmp.Or(p.Example, o.Example)
}

// Progress is the progress of a preparation.
type Progress struct {
	Files, AllFiles int64 // fillers too
	Bytes, AllBytes int64 // written, and to be written
}

// Options are the choices of a preparation.
type Options struct {
	Prepare         Prepare
	Cache           Cache
	Compressibility int    // of the data of files, in per cent
	Data            []byte // data to write, filled by Fill: a multiple of 64 KiB

	Root  *sandbox.Root              // claimed; nil if Guard's kernel has no files yet
	Guard sandbox.Guard              // bound once, so that its copies share what binding makes
	Bind  func(*sandbox.Guard) error // binds the calling thread to a copy

	// Progress, if not nil, is called with the progress, often, and by one
	// goroutine at a time.
	Progress func(Progress)
}

// preparation builds a fileset, or restores it.
type preparation struct {
	*Options
	set     *set
	workers *workerPool

	mu     sync.Mutex // of what follows
	done   Prepared
	state  Progress
	linked map[inode]*links
}

// InitRoot marks a root and makes it ready for a fileset. It removes the files of an
// earlier replay, unless some of them can be used.
func InitRoot(r *sandbox.Root, how Prepare, compressibility int) error {
	// Files can be used if they are as compressible as those that would be
	// written. The marker says how compressible they are.
	mark := fmt.Sprintf("compressibility %d\n", compressibility)
	if !r.Fresh() {
		switch same := r.Marked(mark); {
		case same && how != PrepareAlways && !r.Linked():
			return nil
		case same && how != PrepareAlways:
		case how == PrepareNever:
			mark = "compressibility mixed\n" // once something was written
		default:
			if err := r.Empty(); err != nil {
				return err
			}
		}
	}
	return r.Mark(mark)
}

// Prepare makes the fileset. It sets GOMAXPROCS while it runs. If ctx is done,
// it returns the error of ctx. After an error, the next preparation of the root
// uses what was made so far.
func (p *Plan) Prepare(ctx context.Context, o Options) (Prepared, error) {
	begin := time.Now()
	set, err := newSet(p.files, p.fillers)
	if err != nil {
		return Prepared{}, err
	}
	r := &preparation{Options: &o, set: set, linked: make(map[inode]*links)}
	if r.workers, err = startWorkers(poolSize(), o.Guard, o.Bind); err != nil {
		return Prepared{}, err
	}
	defer r.workers.stop()
	err = r.run(ctx)
	r.done.Elapsed = time.Since(begin)
	return r.done, err
}

func (p *preparation) run(ctx context.Context) error {
	if p.Options.Prepare == PrepareNever {
		if p.Root != nil && !p.Root.Fresh() && !p.Root.Joined() {
			if err := p.checkLinks(ctx); err != nil {
				return err
			}
		}
		if err := p.scan(ctx); err != nil {
			return err
		}
	} else {
		if p.Root != nil && !p.Root.Fresh() {
			if err := p.restore(ctx); err != nil {
				return err
			}
		}
		if err := p.runOne(ctx, p.checkSpace); err != nil {
			return err
		}
	}
	p.done.Kept = p.countExisting()
	if p.Options.Prepare != PrepareNever {
		if err := p.build(ctx); err != nil {
			return err
		}
	}
	p.count()
	if len(p.set.names) == 1 {
		return nil
	}
	// Without this sync, data would be written during the replay, and pages
	// could not be dropped from the cache before.
	if err := p.runOne(ctx, syncAll); err != nil {
		return err
	}
	if p.Cache == CacheAsIs {
		return nil
	}
	return p.workers.each(ctx, p.set.files, func(w *worker, it *item) error { return p.setCache(ctx, w, it) })
}

// runOne calls a function on one of the workers.
func (p *preparation) runOne(ctx context.Context, do func(*worker, *item) error) error {
	return p.workers.each(ctx, p.set.dirs[0], do)
}

func syncAll(w *worker, _ *item) error {
	if err := sandbox.Error(w.guard.Kernel.Call(unix.SYS_SYNCFS, w.guard.Root, 0, 0)); err != nil {
		return fmt.Errorf("sync: %w", err)
	}
	return nil
}

// checkSpace reports an error if the files don't fit into the free space. It runs before
// the first write.
func (p *preparation) checkSpace(w *worker, _ *item) error {
	// The struct is in the buffer, because a backend within Go cannot write to this
	// stack.
	s := (*unix.Statfs_t)(unsafe.Pointer(&w.buffer[0]))
	if err := sandbox.Error(w.guard.Kernel.Call(unix.SYS_FSTATFS, w.guard.Root, uintptr(unsafe.Pointer(s)), 0)); err != nil {
		return fmt.Errorf("read the free space: %w", err)
	}
	block := max(s.Frsize, 1)
	var files, blocks int64
	missing := func(it *item) {
		p.state.AllBytes += it.data() - it.kept
		blocks += (allocated(it.File) - it.kept + block - 1) / block
	}
	for _, it := range p.set.names {
		if it.exists || it.target != nil || it.parent == nil {
			if it.exists && (it.reallocate || it.kept < it.length()) {
				missing(it)
			}
			continue
		}
		files++
		if it.Type == format.TypeDir {
			blocks++
		} else {
			missing(it)
		}
	}
	p.state.AllFiles = int64(len(p.set.names)) - 1
	// A file system that creates inodes on demand counts none.
	if uint64(blocks) > s.Bavail || s.Files > 0 && uint64(files) > s.Ffree {
		return fmt.Errorf("the fileset needs %d more bytes and %d more files, but only %d bytes and %d files are free: %w",
			blocks*block, files, s.Bavail*uint64(block), s.Ffree, unix.ENOSPC)
	}
	return nil
}

// scan finds out which files exist. It changes nothing.
func (p *preparation) scan(ctx context.Context) error {
	look := func(w *worker, it *item) error {
		if it.exists {
			return nil
		}
		_, err := w.stat(it.path)
		if it.exists = err == nil; it.exists || errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) {
			return nil
		}
		return fmt.Errorf("look for %q: %w", it.path, err)
	}
	for _, items := range append(p.set.dirs, p.set.files, p.set.links) {
		if err := p.workers.each(ctx, items, look); err != nil {
			return err
		}
	}
	return nil
}

// countExisting returns how many names of the fileset exist.
func (p *preparation) countExisting() (n int64) {
	for _, it := range p.set.names {
		if it.exists && it.parent != nil {
			n++
		}
	}
	return n
}

// count counts the parts of the fileset.
func (p *preparation) count() {
	d := &p.done
	for path, it := range p.set.names {
		switch {
		case it.parent == nil:
		case !it.exists:
			if d.Missing++; d.Example == "" || path < d.Example {
				d.Example = path
			}
		case it.File == &filler:
			d.Fillers++
		default:
			d.Files++
			if it.target == nil && it.Type != format.TypeReg && it.Type != format.TypeDir && it.Type != format.TypeLnk {
				d.Substituted++
			}
		}
	}
}

// remove removes a name, with all below it.
func (p *preparation) remove(path string) error {
	p.mu.Lock()
	p.done.Removed++
	p.mu.Unlock()
	return p.Root.Remove(path)
}

// countMade notes that an item exists.
func (p *preparation) countMade(it *item) {
	it.exists = true
	p.mu.Lock()
	defer p.mu.Unlock()
	if it.parent != nil {
		p.state.Files++
	}
	p.reportProgress()
}

// countWritten notes that n more bytes were written.
func (p *preparation) countWritten(bytes int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done.Bytes += bytes
	p.state.Bytes += bytes
	p.reportProgress()
}

func (p *preparation) reportProgress() {
	if p.Progress != nil {
		p.Progress(p.state)
	}
}
