package ebpf

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"pianola/record"
)

// permission turns a refusal of the kernel into record.ErrPermission. To those who
// lack a capability the kernel refuses in many ways, for libraries probe it.
func permission(err error) error {
	if err == nil {
		return nil
	}
	if missing := missingCapabilities(); missing != "" {
		return fmt.Errorf("%w: needs root or %s", record.ErrPermission, missing)
	}
	if InUserNamespace() {
		return fmt.Errorf("%w: %w", record.ErrPermission, errNamespace)
	}
	if refused(err) {
		return fmt.Errorf("the verifier of this kernel refuses the eBPF program, whatever the privileges: %w", err)
	}
	if !denied(err) {
		return err
	}
	return fmt.Errorf("%w: the kernel refuses eBPF programs, as in a container or under lockdown: %w", record.ErrPermission, err)
}

var errNamespace = errors.New("the kernel refuses eBPF programs in every user namespace but the first")

// InUserNamespace reports whether the process is in another user namespace than the first,
// as in a rootless container. Its capabilities count for nothing outside of that.
func InUserNamespace() bool {
	ids, err := os.ReadFile("/proc/self/uid_map")
	return err == nil && !isIdentity(string(ids))
}

// isIdentity reports whether a map of user ids is that of the first user namespace.
func isIdentity(ids string) bool {
	return slices.Equal(strings.Fields(ids), []string{"0", "0", strconv.FormatUint(math.MaxUint32, 10)})
}

// missingCapabilities names those that recording takes and the process lacks.
func missingCapabilities() string {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return ""
	}
	return missingIn(string(status))
}

// missingIn is missingCapabilities for the text of a status file.
func missingIn(status string) string {
	_, rest, _ := strings.Cut(status, "CapEff:")
	line, _, _ := strings.Cut(rest, "\n")
	effective, err := strconv.ParseUint(strings.TrimSpace(line), 16, 64)
	if err != nil || effective&(1<<unix.CAP_SYS_ADMIN) != 0 {
		return ""
	}
	var names []string
	if effective&(1<<unix.CAP_BPF) == 0 {
		names = append(names, "CAP_BPF")
	}
	if effective&(1<<unix.CAP_PERFMON) == 0 {
		names = append(names, "CAP_PERFMON")
	}
	return strings.Join(names, "+")
}

// denied reports whether err says that a capability is missing.
func denied(err error) bool { return errors.Is(err, os.ErrPermission) && !refused(err) }

// refused reports whether err says that the kernel's verifier has read the program
// and refuses it, for which it too returns EACCES.
func refused(err error) bool {
	v, ok := errors.AsType[*ebpf.VerifierError](err)
	return ok && len(v.Log) > 0
}
