// Package bpf has the part of the recorder that runs in the kernel: a program in C, its
// objects, and what Go must know of it. The headers of the program are the one source of
// the records that it sends, their numbers and bits, and of the tables that it is given.
//
// Names in Go are those of C with a C before them: struct event is CEvent, FLAG_STAT of
// enum flag is CFlagFLAG_STAT, the program sys_enter is CProgSysEnter.
package bpf

// The objects are committed, so that a build needs no clang. The compiler
// is pinned to one version, for another makes other bytes.
//
//go:generate go run gen.go
//go:generate sh -c "go tool bpf2go -cc $DOLLAR{CLANG:-clang-19} -strip $DOLLAR{STRIP:-llvm-strip-19} -target amd64,arm64 -output-stem recorder -no-global-types -type bits -type cgroup_path -type completion -type counted -type details -type entry -type event -type fault -type fault_flag -type file_id -type file_type -type flag -type inner -type joined -type kind -type limit -type mapped -type member -type missing_kind -type number -type off_kind -type parameters -type piece -type piece_count -type piece_kind -type place -type plan -type program -type request_plan -type ring_key -type sample -type sample_kind -type space -type span -type span_plan -type string_state -type submission -type tally -type thread -type thread_flag -type timed_by -type untracked_kind -type wait -type wait_kind C recorder.bpf.c -- -O2 -Wall -Wno-switch -Werror -mcpu=v3"
