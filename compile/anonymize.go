package compile

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"regexp"
	"strings"

	"pianola/format"
)

// MinKey is the minimum length of a key, in bytes. Shorter keys could be guessed, and
// the key allows testing names one by one.
const MinKey = 16

// known are the names of directories that every system has. They tell nothing
// about its user. They are kept where all directories above them are kept.
var known = map[string]bool{
	"usr": true, "lib": true, "lib32": true, "lib64": true, "libx32": true, "bin": true, "sbin": true, "etc": true, "opt": true, "var": true,
	"tmp": true, "home": true, "root": true, "srv": true, "mnt": true, "media": true, "run": true, "boot": true, "dev": true, "shm": true,
	"local": true, "share": true, "include": true, "libexec": true, "log": true, "cache": true, "spool": true,
	"x86_64-linux-gnu": true, "aarch64-linux-gnu": true,
}

// kept are the remarks that an anonymous trace keeps if their values have the form that
// recorders write. The coverage is kept too.
var kept = map[string]*regexp.Regexp{
	format.MetaArch:    regexp.MustCompile(`^(amd64|arm64)$`),
	format.MetaTool:    regexp.MustCompile(`^(ebpf|ptrace|IOProf)$`),
	format.MetaLost:    regexp.MustCompile(`^\d+( [a-z0-9_]+=\d+)*$`),
	format.MetaExit:    regexp.MustCompile(`^\d+$`),
	format.MetaElapsed: regexp.MustCompile(`^\d+\.\d+$`),
}

// keeps reports whether an anonymous trace keeps a remark.
func keeps(m format.Meta) bool {
	form := kept[m.Key]
	return form != nil && form.MatchString(m.Value)
}

// nameLetters is the number of letters of a hashed name: 65 bits. Among a million
// names, two collide with a probability of one in 70 million.
const nameLetters = 13

// extensions are the known file extensions, which are kept. Other extensions may be
// parts of a name, as in alice.bobsmith.
var extensions = setOf(`
	a avi bak bin blob bmp bz2 c cache cc cfg cgi class conf cpp crc cs css csv dat data db db-journal db-shm db-wal db3 deb dex diff
	dll doc docx dump elf eot eps epub exe flac frm gif go gz h h5 hdf5 hpp htm html ibd ico idx img index ini ipynb iso jar
	java jpeg jpg js json key ko ldb lock log lua lz4 m4a map md mdb mf mkv mo mov mp3 mp4 mpeg mpg myd myi nc new node npy npz o
	odp ods odt ogg old opt orc otf out pack parquet patch pdf pem php pid pl png po pod ppt pptx ps py pyc pyd pyi pyo r rb
	rdb rev rpm rs rst rtf s sav sh shm sig snap so sock socket sql sqlite sqlite-journal sqlite-shm sqlite-wal sqlite3 sst svg swp tar
	tbl tbz tex tgz tif tiff tmp toml ts tsv ttf txt txz vmdk wal wasm wav webm webp woff woff2 xls xlsx xml xz yaml yml zip zst`)

// namespaces are those of extended attributes.
var namespaces = setOf("security system trusted user")

// attributes are the extended attributes that mean the same on every system.
var attributes = setOf("security.capability security.evm security.ima security.selinux system.posix_acl_access system.posix_acl_default")

func setOf(words string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		set[word] = true
	}
	return set
}

var nameEncoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// anonymous returns the replacement of one component of a path: a keyed hash of it
// (HMAC-SHA-256), with a well-known extension kept. The same key gives the same name
// for the same component everywhere.
func anonymous(key []byte, comp string) string {
	name := hashed(key, comp)
	if i := strings.LastIndexByte(comp, '.'); i > 0 && extensions[strings.ToLower(comp[i+1:])] {
		name += comp[i:]
	}
	return name
}

// hashed returns the keyed hash of a text, in letters.
func hashed(key []byte, text string) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return nameEncoding.EncodeToString(mac.Sum(nil))[:nameLetters]
}

// hideNames replaces the names of all entries except temporary names and those
// of known directories.
func (m *model) hideNames() {
	hidden := map[*entry]bool{}
	for _, e := range m.names.entries { // a directory comes before its contents
		shown := known[e.comp] && !hidden[e.dir.at]
		hidden[e] = !shown
		switch {
		case e.comp == longName: // its hash would not be too long
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

// hideAttr returns the replacement of the name of an extended attribute. The namespace
// is kept. A name that the kernel refuses is replaced by one that it refuses too.
func (p *pass) hideAttr(name string) string {
	space, rest, _ := strings.Cut(name, ".")
	switch {
	case p.options.Key == nil || attributes[name] || name == "":
		return name
	case len(name) > maxName:
		return longName
	case !namespaces[space]:
		return hashed(p.options.Key, name)
	case rest == "":
		return name
	}
	return space + "." + hashed(p.options.Key, rest)
}

// hideTarget returns the replacement of the target of a link that leads nowhere
// below the root.
func (p *pass) hideTarget(target string) string {
	if p.options.Key == nil || target == "" {
		return target
	}
	return hashed(p.options.Key, target)
}
