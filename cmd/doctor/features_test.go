package doctor

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The features of a machine are read from files of its kernel.
func TestMachineFeatures(t *testing.T) {
	const governor, idle = "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "sys/devices/system/cpu/cpu0/cpuidle/state3/"
	for name, c := range map[string]struct {
		files map[string]string
		of    func(root string) feature
		state state
		found string
	}{
		"no Yama":               {nil, ptraceScope, here, "no Yama"},
		"ptrace of children":    {map[string]string{"proc/sys/kernel/yama/ptrace_scope": "1\n"}, ptraceScope, here, "1"},
		"no ptrace":             {map[string]string{"proc/sys/kernel/yama/ptrace_scope": "2\n"}, ptraceScope, without, "2"},
		"eBPF without rights":   {map[string]string{"proc/sys/kernel/unprivileged_bpf_disabled": "0\n"}, unprivileged, unused, "0; recording with eBPF needs capabilities in any case"},
		"perf":                  {nil, perfEvents, unused, "not there; Pianola uses no events of perf"},
		"virtual machine":       {nil, steadySpeed, unused, "the kernel does not show it, as in virtual machines"},
		"powersave":             {map[string]string{governor: "powersave\n"}, steadySpeed, without, "governor powersave"},
		"performance":           {map[string]string{governor: "performance\n"}, steadySpeed, here, "governor performance"},
		"turbo of Intel":        {map[string]string{governor: "performance\n", "sys/devices/system/cpu/intel_pstate/no_turbo": "0\n"}, steadySpeed, without, "governor performance, with turbo"},
		"turbo of others":       {map[string]string{governor: "performance\n", "sys/devices/system/cpu/cpufreq/boost": "1\n"}, steadySpeed, without, "governor performance, with turbo"},
		"no idle states":        {nil, idleStates, unused, "the kernel does not show it, as in virtual machines"},
		"deep idle state":       {map[string]string{idle + "latency": "890\n", idle + "disable": "0\n"}, idleStates, without, "at most 890 µs"},
		"idle state turned off": {map[string]string{idle + "latency": "890\n", idle + "disable": "1\n"}, idleStates, here, "at most 0 µs"},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			for file, text := range c.files {
				file = filepath.Join(root, file)
				require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
				require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
			}
			f := c.of(root)
			require.Equal(t, c.state, f.State)
			require.Equal(t, c.found, f.Found)
			require.Equal(t, f.State == without, f.Without != "" && f.Hint != "", "what is lost is said, and what helps")
		})
	}
}
