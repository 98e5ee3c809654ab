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

// known are the names of directories that every system has. They tell nothing
// about its user. They are kept where all directories above them are kept.
var known = map[string]bool{
	"usr": true, "lib": true, "lib32": true, "lib64": true, "libx32": true, "bin": true, "sbin": true, "etc": true, "opt": true, "var": true,
	"tmp": true, "home": true, "root": true, "srv": true, "mnt": true, "media": true, "run": true, "boot": true, "dev": true, "shm": true,
	"local": true, "share": true, "include": true, "libexec": true, "log": true, "cache": true, "spool": true,
	"x86_64-linux-gnu": true, "aarch64-linux-gnu": true,
}

// kept are the remarks of a recording that an anonymous trace keeps.
var kept = map[string]bool{
	format.MetaArch: true, format.MetaLost: true, format.MetaElapsed: true, format.MetaExit: true, format.MetaTool: true,
	format.MetaCoverage: true, format.MetaUnsupported: true,
}

// nameLetters is how many letters of the hash a name has: 65 bits. Among a
// million names, two are alike with a probability of one in 70 million.
const nameLetters = 13

// maxExtension is the length of the longest extension that is kept, in bytes.
const maxExtension = 8

var nameEncoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// anonymous returns the name that stands for one component of a path: a keyed
// hash of it (HMAC-SHA-256), with the extension kept. The same key gives the
// same name for the same component everywhere.
func anonymous(key []byte, comp string) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(comp))
	name := nameEncoding.EncodeToString(mac.Sum(nil))[:nameLetters]
	if i := strings.LastIndexByte(comp, '.'); i > 0 && isExtension(comp[i+1:]) {
		name += comp[i:]
	}
	return name
}

// isExtension reports whether the text after a dot is an extension, which is
// kept: a letter, then at most maxExtension-1 letters and digits. "db3" is one;
// "2024" and "O'Brien" are not.
func isExtension(ext string) bool {
	for i, r := range ext {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return ext != "" && len(ext) <= maxExtension
}

// hideNames replaces the names of all entries except temporary names and those
// of known directories.
func (m *model) hideNames() {
	hidden := map[*entry]bool{}
	for _, e := range m.names.entries { // a directory comes before its contents
		shown := known[e.comp] && !hidden[e.dir.at]
		hidden[e] = !shown
		switch {
		case e.comp == longName: // a hash of it would not be too long
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

// hideText returns the replacement of a text other than a path below the root:
// the name of an attribute, whose namespace is kept, or the target of a link.
func (m *model) hideText(s string, attribute bool) string {
	if m.options.Key == nil {
		return s
	}
	if space, name, ok := strings.Cut(s, "."); ok && attribute {
		return space + "." + anonymous(m.options.Key, name)
	}
	return anonymous(m.options.Key, s)
}
