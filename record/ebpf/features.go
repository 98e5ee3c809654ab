package ebpf

import (
	"github.com/cilium/ebpf/btf"

	"pianola/bpf"
)

// Feature is something that newer kernels have, and that recordings have more with.
type Feature struct {
	Name    string
	Since   string // the version of Linux that brought it
	Present bool
	Without string // what recordings lack on a kernel without it
}

// optionalFeatures are what recordings use where the kernel has it. One that has no program is
// found by the name of a function of the kernel.
var optionalFeatures = []struct {
	name, since, without string
	program, function    string
}{
	{"reading of kernel types without a helper", "6.2", "reads and writes are recorded without the type of their descriptor", "", "bpf_rdonly_cast"},
	{"tracepoints of messages", "6.3", "no event waits for a message that another process sent", bpf.CProgSockSend, ""},
	{"tracepoints of io_uring", "6.4", "requests of io_uring are counted, and not recorded", bpf.CProgUringSubmit, ""},
	{"tracepoints of mapped files", "6.12", "reads and writes of mapped files are not recorded, and programs that map files get no verdict", bpf.CProgMapFault, ""},
}

// Features returns which features this kernel has. An error says that the kernel does not
// describe its types: then nothing can be recorded with eBPF.
func Features() ([]Feature, error) {
	kernel, err := btf.LoadKernelSpec()
	if err != nil {
		return nil, err
	}
	spec, err := bpf.LoadC()
	if err != nil {
		return nil, err
	}
	lacking := unsupported(spec, kernel)
	var all []Feature
	for _, f := range optionalFeatures {
		_, lacks := lacking[f.program]
		var function *btf.Func
		if f.function != "" {
			lacks = kernel.TypeByName(f.function, &function) != nil
		}
		all = append(all, Feature{Name: f.name, Since: f.since, Present: !lacks, Without: f.without})
	}
	return all, nil
}
