package sandbox

import "strings"

// ModeMask is the bits of a mode that a trace may set: all but set-user-ID and
// set-group-ID, because the files have another owner than the application's.
const ModeMask = 0o1777

// MaxAttribute is the maximum size of the value of an extended attribute, or of a
// list of their names, in bytes.
const MaxAttribute = 65536

// MayChange reports whether a trace may change an extended attribute: only those
// of the name space user. The others (security, system, trusted) grant rights. A trace
// has only the mode that an access list, which is one of them, gives its file.
func MayChange(attribute string) bool { return strings.HasPrefix(attribute, "user.") }
