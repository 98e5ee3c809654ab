package runs

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Account is the user that a command runs as.
type Account struct {
	user.User
	credential syscall.Credential
	shell      string
}

// FindAccount returns the user that the command runs as: the one with that name or number, by
// default the user who called sudo. It is nil for the caller.
func FindAccount(name string) (*Account, error) {
	caller := os.Geteuid()
	if name == "" && caller == 0 {
		name = os.Getenv("SUDO_UID")
	}
	if name == "" {
		return nil, nil
	}
	a, err := lookUp(name)
	switch {
	case err != nil:
		return nil, err
	case int(a.credential.Uid) == caller:
		return nil, nil
	case caller != 0:
		return nil, fmt.Errorf("only root can run a command as %s", a.Username)
	}
	return a, nil
}

// lookUp finds a user by name or number, with all groups.
func lookUp(name string) (*Account, error) {
	// Most users are in /etc/passwd. Others, such as those of LDAP, are known
	// to the C library only. This program is not linked to it, but getent and
	// id are.
	line, err := exec.Command("getent", "passwd", "--", name).Output()
	a := &Account{}
	if fields := strings.Split(strings.TrimSpace(string(line)), ":"); err == nil && len(fields) == 7 {
		a.User = user.User{Username: fields[0], Uid: fields[2], Gid: fields[3], HomeDir: fields[5]}
		a.shell = fields[6]
	} else {
		u, err := user.Lookup(name)
		if err != nil {
			u, err = user.LookupId(name)
		}
		if err != nil {
			return nil, fmt.Errorf("no user %s", name)
		}
		a.User = *u
	}
	var groups []string
	if out, err := exec.Command("id", "-G", "--", a.Username).Output(); err == nil {
		groups = strings.Fields(string(out))
	} else if groups, err = a.GroupIds(); err != nil {
		return nil, fmt.Errorf("groups of %s: %w", a.Username, err)
	}
	var ids []uint32
	for _, id := range append([]string{a.Uid, a.Gid}, groups...) {
		n, err := strconv.ParseUint(id, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("ids of %s: %w", a.Username, err)
		}
		ids = append(ids, uint32(n))
	}
	a.credential = syscall.Credential{Uid: ids[0], Gid: ids[1], Groups: ids[2:]}
	return a, nil
}

// environment returns the caller's environment, with the variables that name
// the user changed.
func (a *Account) environment() []string {
	env := os.Environ()
	for _, v := range []struct{ key, value string }{
		{"HOME", a.HomeDir}, {"USER", a.Username}, {"LOGNAME", a.Username}, {"SHELL", a.shell},
	} {
		if v.value == "" {
			continue
		}
		env = slices.DeleteFunc(env, func(s string) bool { return strings.HasPrefix(s, v.key+"=") })
		env = append(env, v.key+"="+v.value)
	}
	return env
}
