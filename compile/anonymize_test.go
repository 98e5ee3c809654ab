package compile_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pianola/compile"
)

// Every name in it that is to be hidden holds the word secret.
const secrets = `# pianola script 1
# command: secretprogram --secretoption
# cwd: "/home/secretuser/work-secret"
# start: secretstart
# kernel: secretkernel
# options: --user secretuser
# host: secrethost
# version: v0-secret
# cpu: secretcpu
# cpus: 2 secret
# mount: nfs4 rw,addr=secretserver
# device: sda "secretmodel" rotational=0
# load: 0.1 0.2 secret
# pressure: io=secret
# arch: amd64
# lost: 0
# remark of a newer version: secret
# file systems: "/mnt/secretdisk"=ext4
# fd: 10 0 O_RDONLY 5 "/home/secretuser/in-secret.sql"
10 0.000010000 openat(AT_FDCWD, "/usr/lib/x86_64-linux-gnu/libsecret.so.0", O_RDONLY) = 3 <0.000001000> {type=reg mode=0644 size=10}
10 0.000010000 openat(AT_FDCWD, "secret.xlsx", O_RDWR|O_CREAT, 0600) = 4 <0.000001000> {type=reg mode=0600 size=0 new}
10 0.000010000 openat(AT_FDCWD, "old secret.secretext9x", O_RDWR) = 5 <0.000001000> {type=reg mode=0600 size=9}
10 0.000010000 readlink("link-secret", 0x1, 100) = 20 <0.000001000> {target="/srv/secretstore/x.db"}
10 0.000010000 openat(AT_FDCWD, "link-secret", O_RDONLY) = 6 <0.000001000> {type=reg mode=0600 size=9}
10 0.000010000 readlink("/etc/loc-secret", 0x1, 100) = 20 <0.000001000> {target="/proc/secret"}
10 0.000010000 symlink("nowhere-secret", "s-secret") = 0 <0.000001000>
10 0.000010000 symlink("/proc/secret", "t-secret") = 0 <0.000001000>
10 0.000010000 getxattr("old secret.secretext9x", "user.secretattr", 0x1, 100) = 5 <0.000001000>
10 0.000010000 fsetxattr(4, "user.secretother", 0x1, 5, 0) = 0 <0.000001000>
10 0.000010000 stat("nosuch-secret", 0x1) = -1 ENOENT (No such file or directory) <0.000001000>
10 0.000010000 mkdir("dir-secret", 0700) = 0 <0.000001000>
10 0.000010000 rename("dir-secret", "newdir-secret") = 0 <0.000001000>
10 0.000010000 memfd_create("secretmem", 0) = 7 <0.000001000>
10 0.000010000 execve("/opt/secretprog/bin/secretd", NULL, NULL) = 0 <0.000001000>
10 0.000010000 stat("/home/secretuser/usr/bin/x.TXT", 0x1) = 0 <0.000001000> {type=reg mode=0600 size=9}
10 0.000010000 exit_group(0) = ?
# elapsed: 1.0
`

var testKey = []byte("0123456789abcdef")

func TestAnonymize(t *testing.T) {
	for _, paths := range []compile.Paths{compile.Tree, compile.Flat} {
		s, r := compiled(t, secrets, compile.Options{Paths: paths, Key: testKey})
		text := s.String()
		require.NotContains(t, text, "secret")
		require.Zero(t, r.Unexplained)

		again, _ := compiled(t, secrets, compile.Options{Paths: paths, Key: testKey})
		require.Equal(t, text, again.String())
		other, _ := compiled(t, secrets, compile.Options{Paths: paths, Key: []byte("another key of 16")})
		require.NotEqual(t, text, other.String())

		// The same calls, with the same shape, come out.
		original, _ := compiled(t, secrets, compile.Options{Paths: paths})
		require.Len(t, s.events, len(original.events))
		for i := range s.events {
			require.Equal(t, original.events[i].Op, s.events[i].Op)
			for k := range s.events[i].Str {
				if paths == compile.Tree && s.events[i].Op.String() != "symlink" {
					require.Equal(t, strings.Count(string(original.events[i].Str[k]), "/"), strings.Count(string(s.events[i].Str[k]), "/"))
				}
			}
		}
		require.Len(t, s.header.Files, len(original.header.Files))
	}
	s, _ := compiled(t, secrets, compile.Options{Key: testKey})
	text := s.String()
	for _, shown := range []string{`usr/lib/x86_64-linux-gnu/`, "# arch: amd64", "# lost: 0", "# elapsed: 1.0", "user."} {
		require.Contains(t, text, shown)
	}
	require.Regexp(t, `home/[a-z2-7]{13}/[a-z2-7]{13}/[a-z2-7]{13}/[a-z2-7]{13}\.TXT`, text, "known names below hidden ones are hidden")

	_, r := compiled(t, `# pianola script 1
1 0.1 symlink("", "/a") = -1 ENOENT (No such file or directory)
1 0.1 setxattr("/b", "", 0x1, 5, 0) = -1 ERANGE (Numerical result out of range)
1 0.1 setxattr("/b", "user.", 0x1, 5, 0) = -1 EINVAL (Invalid argument)
1 0.1 setxattr("/b", "`+strings.Repeat("secret", 50)+`", 0x1, 5, 0) = -1 ERANGE (Numerical result out of range)
1 0.1 setxattr("/b", "secret.secret", 0x1, 5, 0) = -1 EOPNOTSUPP (Operation not supported)
1 0.1 setxattr("/b", "user.a.secret", 0x1, 5, 0) = 0
1 0.1 setxattr("/b", "security.selinux", 0x1, 5, 0) = 0
`, compile.Options{Key: testKey})
	require.Zero(t, r.Unexplained)

	_, err := compile.Compile(nil, nil, nil, compile.Options{Key: []byte("short")})
	require.EqualError(t, err, fmt.Sprintf("the key has 5 bytes, fewer than %d", compile.MinKey))
}
