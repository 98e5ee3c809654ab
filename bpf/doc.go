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
//go:generate sh -c "go tool bpf2go -cc $DOLLAR{CLANG:-clang-19} -strip $DOLLAR{STRIP:-llvm-strip-19} -target amd64,arm64 -output-stem recorder -type event -type details -type member -type flag -type kind -type number -type bits -type file_type -type request_flag -type untracked_kind -type place -type string_state -type thread_flag -type counted -type missing_kind -type off_kind -type timed_by -type wait_kind -type sample_kind -type submission -type opened -type fault -type fault_flag -type space -type joined -type cgroup_path -type span -type span_plan -type piece_kind -type piece_count C recorder.bpf.c -- -O2 -Wall -Werror -mcpu=v3"
