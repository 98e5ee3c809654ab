package nodes

import (
	"path"
	"strings"

	"pianola/format"
)

// shared are types of file systems whose files several machines can share. A FUSE file system
// has its own name after the dot.
var shared = map[string]bool{
	"nfs": true, "nfs4": true, "lustre": true, "gpfs": true, "beegfs": true, "ceph": true, "cifs": true, "smb3": true, "9p": true, "virtiofs": true,
	"glusterfs": true, "orangefs": true, "pvfs2": true, "panfs": true, "gfs2": true, "ocfs2": true, "afs": true, "wekafs": true, "dvs": true,
}

// installed are directories of programs, libraries and their data, which are the same on
// all nodes.
var installed = []string{"/usr", "/lib", "/lib64", "/bin", "/sbin", "/etc", "/opt", "/proc", "/sys", "/dev"}

// ownFiles returns the names in the merged recording of the files of a node with a machine of its
// own: files on shared file systems, and those that are installed, are one file for all nodes;
// others lie below a directory that is called like the node. value is Header.Value of the node's
// recording.
func ownFiles(node string, value func(string) (string, bool)) func(string) string {
	var points []string // of shared file systems
	var local []string
	text, _ := value(format.MetaFileSystems)
	rest := []byte(text)
	for len(rest) > 0 {
		point, after, err := format.Unquote(nil, rest)
		if err != nil || len(after) == 0 || after[0] != '=' {
			break
		}
		kind, _, _ := strings.Cut(string(after[1:]), " ")
		if shared[strings.TrimPrefix(kind, "fuse.")] {
			points = append(points, string(point))
		} else {
			local = append(local, string(point))
		}
		rest = after[1+len(kind):]
		for len(rest) > 0 && rest[0] == ' ' {
			rest = rest[1:]
		}
	}
	return func(name string) string {
		if longest(points, name) >= 0 && longest(points, name) >= longest(local, name) || longest(installed, name) >= 0 {
			return name
		}
		return path.Join("/"+node, name)
	}
}

// longest returns the length of the longest directory that holds a path, -1 for none.
func longest(dirs []string, name string) int {
	found := -1
	for _, dir := range dirs {
		rest, ok := strings.CutPrefix(name, dir)
		if ok && (rest == "" || rest[0] == '/' || dir == "/") {
			found = max(found, len(dir))
		}
	}
	return found
}
