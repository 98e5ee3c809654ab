package compile

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"strings"

	"pianola/format"
)

// MinKey is the shortest key to anonymise with, in bytes: shorter ones could be
// guessed, and with the key names can be tested one by one.
const MinKey = 16

// known are the names of directories that every system has, which tell nothing
// of its user. They are kept where all directories above them are.
var known = map[string]bool{
	"usr": true, "lib": true, "lib32": true, "lib64": true, "libx32": true, "bin": true, "sbin": true, "etc": true, "opt": true, "var": true,
	"tmp": true, "home": true, "root": true, "srv": true, "mnt": true, "media": true, "run": true, "boot": true, "dev": true, "shm": true,
	"local": true, "share": true, "include": true, "libexec": true, "log": true, "cache": true, "spool": true,
	"x86_64-linux-gnu": true, "aarch64-linux-gnu": true,
}

// kept are the remarks of a recording that an anonymous trace keeps.
var kept = map[string]bool{
	format.MetaArch: true, format.MetaLost: true, format.MetaElapsed: true, format.MetaExit: true, format.MetaTool: true,
}

// nameLetters is how much of the hash stands in a name: 65 bits, so that among
// a million names two are alike with a chance of one in 70 million.
const nameLetters = 13

// maxExtension bounds what counts as an extension, and is kept.
const maxExtension = 8

var nameEncoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// anonymous returns the name that stands for one component of a path: a keyed
// hash of it (HMAC-SHA-256), with the extension kept. The same key gives the
// same name for the same component everywhere.
func anonymous(key []byte, comp string) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(comp))
	name := nameEncoding.EncodeToString(mac.Sum(nil))[:nameLetters]
	if i := strings.LastIndexByte(comp, '.'); i > 0 && plainExtension(comp[i+1:]) {
		name += comp[i:]
	}
	return name
}

// plainExtension reports whether an extension can be kept: a few letters and
// digits that begin with a letter, as in "db3" but not in "2024" or "O'Brien".
func plainExtension(ext string) bool {
	for i, r := range ext {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return ext != "" && len(ext) <= maxExtension
}

// hideNames replaces the names of all entries but temporary ones and those of
// known directories.
func (m *model) hideNames() {
	hidden := map[*entry]bool{}
	for _, e := range m.names.entries { // a directory stands before what it holds
		shown := known[e.comp] && !hidden[e.dir.at]
		hidden[e] = !shown
		switch {
		case e.comp == longName: // which would no longer be too long
		case e.made || shown && m.options.Paths == Tree:
		case m.options.Paths == Tree:
			e.mapped = anonymous(m.options.Key, e.comp)
		default:
			comps := strings.Split(e.mapped, "/")
			for i, comp := range comps {
				if !known[comp] || len(comps) == 1 && !m.standard(e) {
					comps[i] = anonymous(m.options.Key, comp)
				}
			}
			e.mapped = strings.Join(comps, "/")
		}
	}
}

// hideText returns what stands for a text that is no path below the root: the
// name of an attribute, whose name space is kept, or where a link leads to.
func (m *model) hideText(s string, attribute bool) string {
	if m.options.Key == nil {
		return s
	}
	if space, name, ok := strings.Cut(s, "."); ok && attribute {
		return space + "." + anonymous(m.options.Key, name)
	}
	return anonymous(m.options.Key, s)
}
