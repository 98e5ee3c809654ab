package main

import (
	"fmt"
	"strings"
)

// replays are studies of what replays cost, and how near they are to the program.
var replays = []study{
	{
		name:  "fidelity",
		about: "replays on the same storage compared with the program: run time, and the time in calls compared with that of the recording",
		rows:  of(programKinds...), home: "ext4", once: "begin",
		sides: []side{
			{name: "program", do: "plainly"},
			{name: "recorded", of: "program", do: "recorded"},
			{name: "compiled", of: "program", do: "compiled", follows: true},
			{name: "replayed", of: "program|compiled", do: "replayed", follows: true},
			{name: "replayed without order", of: "program|compiled", do: "replayed --order thread", follows: true},
		},
	},
	{
		name:  "systems",
		about: "results of one recording, replayed on other file systems",
		rows:  of(programKinds...), home: "ext4", cold: true, once: "begin; recorded; compiled",
		sides: []side{
			{name: "ext4", do: "replayed --strict"},
			{name: "xfs", on: "xfs", of: "ext4", do: "replayed --strict"},
			{name: "btrfs", on: "btrfs", of: "ext4", do: "replayed --strict"},
			{name: "tmpfs", on: "tmpfs", of: "ext4", do: "replayed --strict"},
		},
	},
	{
		name:  "storage",
		about: "replays on a slow device, of a recording that was made on a fast one, compared with the program on the slow one",
		rows:  of(programKinds...), home: "ext4", cold: true, once: "begin; recorded; compiled",
		sides: []side{
			{name: "program", on: "slow", do: "plainly"},
			{name: "replayed", on: "slow", of: "program", do: "replayed"},
			{name: "replayed without order", on: "slow", of: "program", do: "replayed --order thread"},
			{name: "as recorded", of: "program", do: `account "$OUT/profile.json"`},
		},
	},
	{
		name:  "commits-slower",
		about: "programs that commit in groups: recorded on a disk, and replayed on one ten times slower, compared with the program there",
		rows:  of("commits"), home: "writes-4000", once: "begin; recorded; compiled",
		sides: inGroups("writes-400"),
	},
	{
		name:  "commits-faster",
		about: "the same, recorded on the slow disk and replayed on the fast one",
		rows:  of("commits"), home: "writes-400", once: "begin; recorded; compiled",
		sides: inGroups("writes-4000"),
	},
	{
		name:  "servers",
		about: "servers under load, recorded on a fast disk by attaching, and replayed on others, compared with the server there: requests a second",
		rows:  cases("pgbench mariadbd redis_always redis_everysec nginx tomcat"), home: "ext4", once: "begin_server",
		sides: onDisks("ext4", "disk-500", "tmpfs"),
	},
	{
		name:  "servers-memory",
		about: "the same with a working set that is larger than the memory of the server, which the replay has, too",
		rows:  cases("pgbench_select"), home: "ext4", once: "begin_server",
		sides: onDisks("ext4", "disk-500"),
	},
	{
		name:  "servers-5000",
		about: "the same on a disk with 5000 requests a second",
		rows:  cases("pgbench"), home: "ext4", once: "begin_server",
		sides: onDisks("ext4", "disk-5000"),
	},
	{
		name:  "servers-faster",
		about: "the same, recorded on a disk with 500 requests a second",
		rows:  cases("pgbench"), home: "disk-500", once: "begin_server",
		sides: onDisks("disk-500", "ext4", "tmpfs"),
	},
	{
		name:  "rings",
		about: "random reads of 4 KiB with 32 requests in flight, by fio and by replay/rings, in batches of 1 and of 16",
		rows: batches(
			"io_uring/nop",
			"threads/cached",
			"io_uring/cached --ioengine=io_uring",
			"io_uring/cached-fixed --ioengine=io_uring --registerfiles --fixedbufs",
			"io_uring/direct --ioengine=io_uring --direct=1",
			"io_uring/direct-fixed --ioengine=io_uring --registerfiles --fixedbufs --direct=1",
			"libaio/cached --ioengine=libaio",
			"libaio/direct --ioengine=libaio --direct=1",
		),
		home: "ext4",
		once: `
			head -c 67108864 /dev/urandom >file
			sync file`,
		sides: []side{
			{name: "fio", do: `needs fio; [ $# -gt 2 ] || left_out "fio has no such way"; cat file >/dev/null; batch=$2; shift 2; fio_reads --iodepth_batch_submit=$batch --iodepth_batch_complete_min=$batch "$@"`},
			{name: "replay/rings", of: "fio", do: `cat file >/dev/null; rings_reads "$1" "$2"`},
		},
	},
	{
		name:  "requests",
		about: "programs that submit requests: fio in many ways, recorded, replayed with its times, and as fast as possible",
		rows: requestRows(mixed,
			"direct --ioengine=io_uring --direct=1 --iodepth=8",
			"buffered --ioengine=io_uring --iodepth=8",
			"vectored --ioengine=io_uring --nonvectored=0 --iodepth=8",
			"fixed --ioengine=io_uring --direct=1 --fixedbufs=1 --registerfiles=1 --iodepth=8",
			"sqpoll --ioengine=io_uring --direct=1 --sqthread_poll=1 --iodepth=8",
			"async --ioengine=io_uring --force_async=1 --iodepth=8",
			"depth1 --ioengine=io_uring --direct=1 --iodepth=1",
			"depth32 --ioengine=io_uring --direct=1 --iodepth=32 --iodepth_batch_submit=8 --iodepth_batch_complete_min=4",
			"fsync --ioengine=io_uring --fsync=64 --iodepth=8",
			"libaio --ioengine=libaio --direct=1 --iodepth=8",
			"libaio-memory --ioengine=libaio --direct=1 --iodepth=8 --userspace_reap",
		).and(cached, "cached --ioengine=io_uring", "libaio-cached --ioengine=libaio"),
		home: "ext4",
		once: `needs fio; shift; echo "$@" >options; head -c 67108864 /dev/urandom >file`,
		sides: []side{
			{name: "fio", do: "fio_job; fio_told"},
			{name: "recorded", of: "fio", do: `fio_job "$PIANOLA" record -o "$OUT/trace.txt" --; compiled; job_of "$OUT/trace.bin"`},
			{name: "replayed", of: "fio", follows: true, do: `
				judged "$PIANOLA" replay --root root --keep --json --log "$OUT/replay.log" "$OUT/trace.bin" >"$OUT/replay.json"
				answered
				job_of "$OUT/replay.log"`},
			{name: "as fast as possible", of: "fio", follows: true, do: `
				judged "$PIANOLA" replay --root root --keep --json --timing afap "$OUT/trace.bin" >"$OUT/replay.json"
				answered
				note "$(awk -F'[:,]' '
					/"elapsed_seconds"/ && !n++ { took = $2 }
					/"(pread64|preadv|pwrite64|pwritev|fsync|fdatasync)"/ { on = 1 }
					on && /"executed"/ { sum += $2; on = 0 }
					/"lateness"/ { exit }
					END { print sum / took / 1e6 }' "$OUT/replay.json") M requests/s"`},
		},
	},
	{
		name:  "replay",
		about: "replays by their own account: requests in flight as fast as possible, and how late reads are that are due every 20 µs",
		rows: []row{
			{name: "requests", words: "--timing afap", input: "requests.txt"},
			{name: "every 20 µs", words: "--timing compute"},
		},
		home: "ext4",
		once: `
			[ -e "$OUT/requests.txt" ] || reads_of 1 25000 20000
			[ ! -e "$OUT/requests.txt" ] || into "$OUT/compile.out" "$PIANOLA" compile -o reads.bin "$OUT/requests.txt"`,
		sides: []side{{name: "replay", guard: true, do: `replay_reads "$@"; own`}},
	},
	{
		name:  "speed",
		about: "cached reads of 4 KiB as fast as possible, in one thread: C loops, a replay, and fio with the same reads",
		rows:  []row{{name: "reads"}}, home: "ext4",
		once: `
			gcc -O2 -pthread -o pread "$TOP/scripts/load/pread.c"
			reads_of 1 2000000 0`,
		sides: []side{
			{name: "C loop", do: `note "$(./pread bare f 2000000 | awk '{ print 2 / $1 }') M reads/s"`},
			{name: "C loop, a clock reading a call", of: "C loop", do: `note "$(./pread clock f 2000000 | awk '{ print 2 / $1 }') M reads/s"`},
			{name: "replay", of: "C loop", guard: true, do: "replay_reads --timing afap; rate_of 2000000"},
			{name: "replay, null", of: "C loop", guard: true, do: "place=; replay_reads --timing afap --backend null; rate_of 2000000"},
			{name: "fio", of: "C loop", do: "fio_iolog"},
			{name: "fio --gtod_reduce=1", of: "C loop", do: "fio_iolog --gtod_reduce=1"},
		},
	},
	{
		name:  "engine",
		about: "nanoseconds of a cached read of 4 KiB, in means of a thousand: a C loop, and replays with a log, as fast as possible",
		rows:  []row{{name: "reads"}}, home: "ext4",
		once: `
			gcc -O2 -pthread -o pread "$TOP/scripts/load/pread.c"
			reads_of 1 1000001 0`,
		sides: []side{
			{name: "C loop", do: `thousands ./pread means f 1000000`},
			{name: "replay --buffer 0", of: "C loop", do: "thousands of_replay --buffer 0"},
			{name: "replay", of: "C loop", do: "thousands of_replay"},
		},
		picture: perCommand,
	},
	{
		name:  "lateness",
		about: "how late reads are issued that are due at a time, as bpftrace sees them: C loops and replays",
		rows: []row{
			{name: "1 thread, every 1 ms", words: "1 2000 1000000 spin"},
			{name: "1 thread, every 100 µs", words: "1 20000 100000 spin"},
			{name: "1 thread, every 20 µs", words: "1 100000 20000 spin"},
			{name: "8 threads, every 1 ms", words: "8 2000 1000000 sleep"},
			{name: "8 threads, every 100 µs", words: "8 20000 100000 sleep"},
		},
		home: "ext4",
		once: `gcc -O2 -pthread -o pread "$TOP/scripts/load/pread.c"; reads_of "$1" "$2" "$3"`,
		sides: []side{
			{name: "C loop", do: `watched ./pread "$4" "$PWD/f" "$2" "$3" "$1"; lateness "$1" "$2" "$3"`},
			{name: "replay --timing schedule", of: "C loop", do: `watched "$PIANOLA" replay --timing schedule --root root --keep --json reads.bin; lateness "$1" "$2" "$3"; own`},
			{name: "C loop, compute after a call", do: `[ "$1" = 1 ] || left_out "one thread only"; watched ./pread after "$PWD/f" "$2" "$3" "$1"; lateness "$1" "$2" "$3" after`},
			{name: "replay --timing compute", of: "C loop, compute after a call", do: `watched "$PIANOLA" replay --root root --keep --json reads.bin; lateness "$1" "$2" "$3" after; own`},
		},
	},
	{
		name:  "long",
		about: "a day of 86 400 reads in three seconds, five million reads as fast as possible, and replays that are interrupted",
		rows: []row{
			{name: "a day", words: "1 86400 1000000000 --timing schedule --speed 28800"},
			{name: "five million reads", words: "1 5000000 0 --timing afap"},
			{name: "eight threads", words: "8 10000 1000000"},
		},
		home: "ext4",
		once: `reads_of "$1" "$2" "$3"`,
		sides: []side{
			{name: "replay", do: `
				shift 3
				clocks "$PIANOLA" replay --root root --keep --json "$@" reads.bin
				note "$(figure elapsed_seconds "$OUT/command.out") replay, s"
				note "$(figure executed "$OUT/command.out") executed"`},
			{name: "interrupted", do: `shift 3; interrupted "$PIANOLA" replay "$@"`},
		},
	},
	{
		name:  "ranks",
		about: "parallel programs of MPI on two nodes that are this machine: recorded, merged, and replayed with and without the edges of MPI",
		rows: []row{
			{name: "collective, 4 ranks", words: "collective 4"}, {name: "each, 4 ranks", words: "each 4"},
			{name: "pipeline, 4 ranks", words: "pipeline 4"}, {name: "metadata, 4 ranks", words: "metadata 4"},
			{name: "collective, 2 ranks", words: "collective 2"}, {name: "each, 2 ranks", words: "each 2"},
			{name: "pipeline, 2 ranks", words: "pipeline 2"}, {name: "metadata, 2 ranks", words: "metadata 2"},
		},
		home: "ext4",
		once: mpiProgram,
		sides: []side{
			{name: "program", do: "kind=$1 ranks=$2; ranks_alone"},
			{name: "recorded", of: "program", do: "kind=$1 ranks=$2; ranks_recorded"},
			{name: "replayed by ranks", of: "program", follows: true, do: `ranks=$2; ranks_replayed edges launch "$PIANOLA" replay --ranks`},
			{name: "replayed by one process", of: "program", follows: true, do: `ranks_replayed edges "$PIANOLA" replay`},
			{name: "replayed without edges", of: "program", follows: true, do: `ranks=$2; ranks_replayed none launch "$PIANOLA" replay --ranks`},
		},
	},
	{
		name:  "slow-rank",
		about: "parallel programs whose ranks have a disk each, recorded with equal disks; then one disk can be ten times slower",
		rows: []row{
			{name: "each, as recorded", words: "each 4 1"}, {name: "each, one disk is slow", words: "each 4 10"},
			{name: "pipeline, as recorded", words: "pipeline 4 1"}, {name: "pipeline, one disk is slow", words: "pipeline 4 10"},
			{name: "metadata, as recorded", words: "metadata 4 1"}, {name: "metadata, one disk is slow", words: "metadata 4 10"},
		},
		home: "here",
		once: mpiProgram + `
			cc -O2 -static -pthread -o slowdisk "$TOP/scripts/load/slowdisk.c"
			kind=$1 ranks=$2
			disks 1
			ranks_recorded
			[ "$3" = 1 ] || disks "$3"`,
		end: "for rank in 0 1 2 3; do take_down_disk $rank; done",
		sides: []side{
			{name: "program", do: "kind=$1 ranks=$2; ranks_alone"},
			{name: "replayed", of: "program", do: `ranks=$2; ranks_replayed edges launch "$PIANOLA" replay --ranks`},
			{name: "replayed without edges", of: "program", do: `ranks=$2; ranks_replayed none launch "$PIANOLA" replay --ranks`},
		},
	},
	{
		name:  "edges",
		about: "the cost of a replay by several ranks: how long a rank takes to hear of another one's event, clocks, start and memory",
		rows:  []row{{name: "2 ranks", words: "2"}, {name: "4 ranks", words: "4"}, {name: "16 ranks", words: "16"}, {name: "64 ranks", words: "64"}},
		home:  "here", once: "ring $1",
		sides: []side{{name: "replay", do: "ring_replayed $1"}},
	},
	{
		name:  "hdf5",
		about: "a program that writes and reads 300 datasets of HDF5: recorded, replayed, and replayed in memory",
		rows:  []row{{name: "10x10", words: "10"}, {name: "50x50", words: "50"}, {name: "100x100", words: "100"}},
		home:  "ext4",
		once:  `needs h5cc; h5cc -O2 -o datasets "$TOP/testdata/hdf5/datasets.c"`,
		sides: []side{
			{name: "recorded", do: `rm -f app.h5; into "$OUT/run.out" "$PIANOLA" record -o "$OUT/trace.txt" -- ./datasets app.h5 "$1" 300; compiled`},
			{name: "replayed", of: "recorded", follows: true, do: "replayed"},
			{name: "in memory", of: "replayed", follows: true, do: `judged "$PIANOLA" replay --backend memory --json "$OUT/trace.bin" >"$OUT/replay.json"; answered`},
		},
	},
	{
		name:  "hdf5-memory",
		about: "the program of the study hdf5 with HDF5 1.14 on native files, its core driver, and the connector that keeps files in memory",
		rows:  []row{{name: "10x10", words: "10"}, {name: "50x50", words: "50"}, {name: "100x100", words: "100"}},
		home:  "ext4",
		sides: []side{
			{name: "native", do: `vol_runs native "$1"`},
			{name: "core driver", of: "native", do: `vol_runs core "$1"`},
			{name: "connector", of: "native", do: `vol_runs connector "$1"`},
			{name: "connector, write=native", of: "native", do: `vol_runs written "$1"`},
			{name: "lab, backend=memory", of: "native", do: `
				rm -f app.h5
				vol native into "$OUT/run.out" "$PIANOLA" record -o "$OUT/trace.txt" -- "$TOP/demo/hdf5-vol/bin/datasets" app.h5 "$1" 300
				predicted backend=memory`},
			{name: "calls, recorded", do: `
				rm -f app.h5
				vol native into "$OUT/run.out" "$PIANOLA" record --layer hdf5 -o "$OUT/trace.txt" -- "$TOP/demo/hdf5-vol/bin/datasets" app.h5 "$1" 300
				into "$OUT/compile.out" "$PIANOLA" compile -o "$OUT/trace.bin" "$OUT/trace.txt"
				hdf5_calls "$OUT/trace.txt"`},
			{name: "calls, native", of: "calls, recorded", follows: true, do: "plays native"},
			{name: "calls, core driver", of: "calls, recorded", follows: true, do: "plays core"},
			{name: "calls, connector", of: "calls, recorded", follows: true, do: "plays connector"},
		},
	},
	{
		name:  "hdf5-datasets",
		about: "writes and reads of one dataset of HDF5 1.14 and the whole file, in microseconds, on native files, the core driver, and the connector",
		rows:  []row{{name: "datasets", words: "500 31"}}, home: "ext4",
		sides: []side{{name: "benchmark", do: `vol_bench "$1" "$2"`}},
	},
	{
		name:  "hdf5-samples",
		about: "900 writes and reads of a dataset of HDF5 1.14, on a fast and on a slow disk, on native files and on the connector",
		rows: []row{
			{name: "write of 10x10", words: "10 write"}, {name: "write of 50x50", words: "50 write"}, {name: "write of 100x100", words: "100 write"},
			{name: "read of 10x10", words: "10 read"}, {name: "read of 50x50", words: "50 read"}, {name: "read of 100x100", words: "100 read"},
		},
		home: "ext4",
		sides: []side{
			{name: "native, fast disk", do: `vol_samples native 900 "$@"`},
			{name: "native, slow disk", on: "device", of: "native, fast disk", do: `slowly vol_samples native 900 "$@"`},
			{name: "connector, fast disk", of: "native, fast disk", do: `vol_samples connector 900 "$@"`},
			{name: "connector, slow disk", on: "device", of: "native, slow disk", do: `slowly vol_samples connector 900 "$@"`},
		},
		picture: perCall,
	},
	{
		name:  "order",
		about: "programs whose threads and processes depend on one another, replayed: results that differ, and run times",
		rows: []row{
			{name: "flock, 1", words: "flock"}, {name: "flock, 2", words: "flock"}, {name: "flock, 3", words: "flock"}, {name: "flock, 4", words: "flock"},
			{name: "sqlite3", words: "sqlite3"}, {name: "ripgrep", words: "ripgrep"}, {name: "threads", words: "threads", options: "--order total"},
		},
		home: "ext4",
		once: `
			program_of "$1"
			into "$OUT/run.out" "$PIANOLA" record -o "$OUT/trace.txt" -- sh run.sh
			compiled`,
		sides: []side{
			{name: "recorded", do: `account "$OUT/profile.json"`},
			{name: "replayed", of: "recorded", do: "replayed"},
		},
	},
	{
		name:  "suite",
		about: "the shipped workloads on storages, and three of the programs there",
		rows: []row{
			{name: "sqlite3"}, {name: "postgresql"}, {name: "git"}, {name: "lmdb"}, {name: "cc"}, {name: "hdf5"}, {name: "mariadb"}, {name: "npm"},
			{name: "python"}, {name: "qemu-img"}, {name: "redis"}, {name: "restic"}, {name: "rocksdb"}, {name: "rsync"}, {name: "tar"},
		},
		home: "ext4",
		sides: []side{
			{name: "ext4", do: "workload"},
			{name: "xfs", on: "xfs", of: "ext4", do: "workload"},
			{name: "btrfs", on: "btrfs", of: "ext4", do: "workload"},
			{name: "tmpfs", on: "tmpfs", of: "ext4", do: "workload"},
			{name: "slow", on: "suite-slow", of: "ext4", do: "workload"},
			{name: "program on ext4", do: "workload_plain"},
			{name: "program on xfs", on: "xfs", of: "program on ext4", do: "workload_plain"},
			{name: "program on btrfs", on: "btrfs", of: "program on ext4", do: "workload_plain"},
			{name: "program on tmpfs", on: "tmpfs", of: "program on ext4", do: "workload_plain"},
			{name: "program on slow", on: "suite-slow", of: "program on ext4", do: "workload_plain"},
		},
	},
	{
		name:  "cache",
		about: "a file that is in the page cache and one that is not, of 100 MB each, read by dd and by a replay",
		rows:  []row{{name: "dd"}}, home: "ext4",
		once: `for f in warm cold; do dd if=/dev/urandom of=$f bs=1M count=100 status=none; done; sync`,
		sides: []side{
			{name: "recorded", do: `
				cat warm >/dev/null
				dd if=cold iflag=nocache count=0 status=none # drops it
				"$PIANOLA" record -o trace.txt -- sh -c 'dd if=warm of=/dev/null bs=64k status=none; dd if=cold of=/dev/null bs=64k status=none'
				into compile.out "$PIANOLA" compile -o trace.bin trace.txt
				files_of trace.bin`},
			{name: "replayed", of: "recorded", follows: true, do: `
				judged "$PIANOLA" replay --root root --keep --cache recorded --strict --log replay.log trace.bin >replay.out
				files_of replay.log`},
		},
	},
	{
		name:  "prepare",
		about: "making the files of a replay, compared with cp -r of the same tree and fio laying out as much; each ends with a sync",
		rows: []row{
			{name: "20 000 files of 16 KiB on average", words: "20000 -32768 16k"},
			{name: "20 000 empty files", words: "20000 0 0"},
			{name: "a file of 4 GiB", words: "1 4294967296 4g"},
		},
		home: "here",
		once: `
			# A size below 0 is that of the longest of files of all sizes.
			awk -v n="$1" -v size="$2" 'BEGIN {
				print "# pianola intermediate 1"
				for (i = 0; i < n && i < 100; i++) printf "# file: \"d%d\" dir mode=0755 size=0 cached=-1\n", i
				for (i = 0; i < n; i++) printf "# file: \"d%d/f%d\" reg mode=0644 size=%d cached=-1\n", i % 100, i, size < 0 ? -size * rand() : size
				print "stat ( nothing ) = -1 ENOENT"
			}' >files.txt
			into compile.out "$PIANOLA" compile -o files.bin files.txt
			"$PIANOLA" replay --prepare only --cache asis --root kept files.bin >/dev/null`,
		sides: []side{
			{name: "cp -r", do: "clocks sh -c 'cp -r kept copy && sync -f .'; rm -r copy; sync -f ."},
			{name: "replay, anew", of: "cp -r", do: `clocks sh -c '"$PIANOLA" replay --prepare only --cache asis --root root files.bin && sync -f .'; rm -r root; sync -f .`},
			{name: "replay, files are there", of: "cp -r", do: `clocks "$PIANOLA" replay --prepare only --cache asis --root kept files.bin`},
			{name: "fio", of: "cp -r", do: `
				needs fio
				[ "$3" != 0 ] || left_out "fio makes no empty files"
				mkdir fio
				clocks sh -c 'fio --name=a --directory=fio --nrfiles="$0" --filesize="$1" --rw=read --bs=1m --create_only=1 --openfiles=100 && sync -f .' "$1" "$3"
				rm -r fio
				sync -f .`},
		},
	},
}

const mpiProgram = `needs mpicc; needs mpiexec; mpicc -O2 -I"$TOP/scripts/load" -o mpi "$TOP/scripts/load/mpi.c"`

// requests are rows of the same options, and others.
type requests []row

const (
	mixed  = " --rw=randrw --io_size=256m --end_fsync=1"
	cached = " --rw=randread --io_size=3200m --invalidate=0 --iodepth=32 --iodepth_batch_submit=8 --iodepth_batch_complete_min=8"
)

func requestRows(options string, ways ...string) requests { return requests(nil).and(options, ways...) }

func (rows requests) and(options string, ways ...string) requests {
	for _, way := range ways {
		rows = append(rows, row{name: strings.Fields(way)[0], words: way + options})
	}
	return rows
}

// batches returns rows of the ways, in which requests go in batches of 1 and of 16.
func batches(ways ...string) (rows []row) {
	for _, way := range ways {
		name, options, _ := strings.Cut(way, " ")
		for _, n := range []int{1, 16} {
			rows = append(rows, row{name: fmt.Sprintf("%s, batches of %d", name, n), words: fmt.Sprintf("%s %d %s", name, n, options)})
		}
	}
	return rows
}

// inGroups are the sides of programs that commit in groups.
func inGroups(on string) []side {
	return []side{
		{name: "program", on: on, do: "plainly"},
		{name: "replayed", on: on, of: "program", do: "replayed"},
		{name: "in recorded groups", on: on, of: "program", do: "replayed --commits recorded"},
		{name: "as recorded", of: "program", do: `account "$OUT/profile.json"`},
	}
}

// onDisks are the sides of a server that is recorded on the first of these storages: itself and the
// replay on each of them. Each round has a recording of its own.
func onDisks(storages ...string) (sides []side) {
	for _, on := range storages {
		sides = append(sides, side{name: on, on: on, do: "serves"})
	}
	sides = append(sides, side{name: "recorded", on: storages[0], of: storages[0], do: "recorded_serving"})
	for _, on := range storages {
		sides = append(sides, side{name: "replayed on " + on, on: on, of: on, do: "answers", follows: true})
	}
	return sides
}
