package device

import (
	"path"
)

// commit adds to the demand of a sync what its commit writes, if there is one.
func (w *walk) commit(d *Demand, needed bool, now int64) {
	if !needed {
		return
	}
	d.Commit = true
	blocks := (w.inodes+inodesPerBlock-1)/inodesPerBlock + w.dirs
	if w.bitmap {
		blocks += 2 // the bitmap and the descriptor of the group
	}
	if w.names {
		blocks++
	}
	d.Blocks = int32(blocks)
	w.begin(now)
}

// begin begins a transaction.
func (w *walk) begin(now int64) {
	w.transaction++
	w.begun, w.inodes, w.dirs, w.bitmap, w.names = now, 0, 0, false, false
}

func (w *walk) changeInode(s *cachedFile, now int64) {
	if s.inode != w.transaction {
		if w.inodes == 0 {
			w.begun = now
		}
		s.inode = w.transaction
		w.inodes++
	}
}

// changeLayout changes the size or the blocks of a file.
func (w *walk) changeLayout(s *cachedFile, now int64) {
	w.changeInode(s, now)
	s.layout = w.transaction
}

// changeNames makes or removes a name of a file.
func (w *walk) changeNames(s *cachedFile, name string, now int64) {
	w.changeLayout(s, now)
	w.bitmap, w.names = true, true
	if dir := w.named(path.Dir(name)); dir.inode != w.transaction {
		w.dirs++
		w.changeLayout(dir, now)
	}
}
