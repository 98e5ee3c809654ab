package ebpf

// The objects are committed, so that a build needs no clang. The compiler
// is pinned to one version, for another makes other bytes.
//
//go:generate sh -c "go tool bpf2go -cc $DOLLAR{CLANG:-clang-19} -strip $DOLLAR{STRIP:-llvm-strip-19} -target amd64,arm64 -type event -type details -type member -type flag -type kind -type number -type bits -type file_type -type request_flag -type untracked_kind -type place -type string_state -type thread_flag -type counted -type missing_kind -type off_kind -type timed_by -type wait_kind -type sample_kind -type submission -type opened -type fault -type fault_flag -type space -type joined -type cgroup_path -type span -type span_plan -type piece_kind -type piece_count recorder recorder.bpf.c -- -O2 -Wall -Werror -mcpu=v3"
