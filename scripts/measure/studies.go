package main

import (
	"fmt"
	"slices"
	"strings"
)

// storages are where files can be. All but here are in new images in IMAGES.
var storages = []storage{
	{name: "here"}, // the directory in which measure works
	{name: "ext4", system: "ext4"},
	{name: "xfs", system: "xfs"},
	{name: "btrfs", system: "btrfs"},
	{name: "tmpfs", system: "tmpfs"},
	{name: "slow", system: "ext4", limits: byRow},
	{name: "device", system: "ext4", limits: "rbps=20971520 wbps=10485760 riops=1500 wiops=400"},
	{name: "log-slow", system: "ext4", limits: "rbps=209715200 wbps=209715200 riops=1000 wiops=1000"},
	{name: "log-fast", system: "ext4", limits: "rbps=209715200 wbps=209715200 riops=3000 wiops=3000"},
	{name: "slow-reads", system: "ext4", limits: "rbps=max wbps=max riops=500 wiops=max"}, // 2 ms each
	{name: "suite-slow", system: "ext4", limits: "rbps=41943040 wbps=20971520 riops=1500 wiops=400"},
	{name: "synced", system: "ext4", limits: "rbps=209715200 wbps=209715200 riops=3000 wiops=3000"}, // a sync takes about a millisecond
}

// program is one of apps.sh.
type program struct {
	name    string
	kinds   string // the studies of programs that it belongs to
	limits  string // of the storage slow, so that the program takes clearly longer there
	options string // of its replays on other storage
}

// The clients of postgres send at their times, however long the server takes. Those of
// postgres8out aren't recorded.
var programs = []program{
	{"sqlite3", "plain cost critical what-if model", "rbps=104857600 wbps=104857600 riops=5000 wiops=5000", ""},
	{"git", "plain cost", slow, ""},
	{"tar", "plain cost", slow, ""},
	{"gcc", "plain cost", "rbps=20971520 wbps=10485760 riops=10 wiops=1500", ""},      // it reads little
	{"python3", "plain cost", "rbps=20971520 wbps=1048576 riops=1500 wiops=1500", ""}, // it syncs once
	{"fio", "plain cost model", slow, ""},
	{"postgres", "plain cost", slow, "--timing schedule"},
	{"osync", "plain cost model", slow, ""},
	{"rocksdb", "cost", slow, ""},
	{"rocksdb1", "closed critical what-if", syncing, ""},
	{"rocksdb4", "closed critical what-if model", syncing, ""},
	{"rocksdb16", "closed what-if", syncing, ""},
	{"postgres1", "closed critical what-if model", syncing, ""},
	{"postgres8", "closed what-if", syncing, ""},
	{"postgres8out", "closed", syncing, "--outside closed"},
	{"mariadb", "closed cost", "rbps=20971520 wbps=10485760 riops=1500 wiops=300", ""},
	{"redis", "closed cost what-if model", syncing, ""},
	{"sqlite3x3", "closed what-if", syncing, ""},
	{"make4", "closed", "rbps=20971520 wbps=10485760 riops=1500 wiops=60", ""},
	{"pipeline", "closed", "rbps=20971520 wbps=10485760 riops=1500 wiops=1000", ""},
	{"java", "closed", syncing, ""},
	{"uring", "requests", slow, ""},
	{"libaio", "requests", slow, ""},
	{"lmdb", "mapped", slow, ""},
	{"mapread", "mapped", slow, ""},
	{"sqlite3map", "mapped", slow, ""},
	{"ripgrep", "mapped", slow, ""},
	{"rocksmap", "mapped", slow, ""},
	{"lucene", "mapped", slow, ""},
	{"sqlite3wal", "model", slow, ""},
	{"beside", "critical", "", ""},
}

const (
	slow    = "rbps=20971520 wbps=10485760 riops=1500 wiops=1500"
	syncing = "rbps=20971520 wbps=10485760 riops=1500 wiops=400"
)

// of returns a row for each program of one of these kinds.
func of(kinds ...string) (rows []row) {
	for _, p := range programs {
		if slices.ContainsFunc(kinds, func(kind string) bool { return containsAny(" "+p.kinds+" ", []string{" " + kind + " "}) }) {
			rows = append(rows, row{name: p.name, limits: p.limits, options: p.options})
		}
	}
	return rows
}

// programKinds are those of replays on the same storage and on others.
var programKinds = []string{"plain", "closed", "requests", "mapped"}

var studies = []study{
	{
		name:  "cost",
		about: "run times of programs as they are, while they are recorded, and in the compiled trace",
		rows:  of("cost"), home: "ext4", once: "begin",
		sides: []side{
			{name: "program", do: "plainly"},
			{name: "recorded", of: "program", do: "recorded"},
			{name: "compiled", of: "program", do: "compiled", follows: true},
		},
	},
	{
		name:  "faults",
		about: "run times of make -j2, whose compilers map much, recorded with page faults and without",
		rows:  []row{{name: "gcc"}}, home: "ext4", once: "begin",
		sides: []side{
			{name: "program", do: "plainly"},
			{name: "recorded --no-faults", of: "program", do: "recorded --no-faults"},
			{name: "recorded", of: "program", do: "recorded"},
		},
	},
	{
		name:  "critical",
		about: "what syncs take on the critical path of a recording, and run times without syncs (eatmydata)",
		rows:  of("critical"), home: "ext4", once: "begin",
		sides: []side{
			{name: "program", do: "plainly"},
			{name: "recorded", of: "program", do: "recorded; on_path"},
			{name: "without syncs", of: "program", do: "needs eatmydata; through=eatmydata; plainly"},
		},
	},
	{
		name:  "split",
		about: "how a recording splits the time off the processor, beside a program that knows how long it waited; a read of its disk takes 2 ms",
		rows:  []row{{name: "waits"}}, home: "slow-reads",
		once: `
			gcc -O2 -pthread -o split "$TOP/scripts/load/split.c"
			dd if=/dev/urandom of=data bs=1M count=64 conv=fsync status=none`,
		sides: []side{
			{name: "known", do: `
				slowly into "$OUT/known.out" "$PIANOLA" record -o "$OUT/trace.txt" -- ./split data
				awk 'NF == 2 && $2 ~ /^[0-9.]+$/ { print $2 * 1000, $1 ", ms" }' "$OUT/known.out" >>"$FIGURES"`},
			{name: "recorded", of: "known", follows: true, do: "ways_to_wait"},
		},
	},
	{
		name:  "calls",
		about: "nanoseconds that a system call takes more while it is recorded, or watched by another program",
		rows: []row{
			{name: "pread of 4 KiB", words: "pread"},
			{name: "dd bs=1", words: "dd"},
			{name: "call that is not recorded", words: "getppid"},
		},
		home: "here",
		sides: []side{
			{name: "nothing", do: "calls 300000"},
			{name: "record", of: "nothing", guard: true, added: true, do: `calls 300000 "$PIANOLA" record -o trace.txt --`},
			{name: "record, compressed", of: "nothing", do: `calls 300000 "$PIANOLA" record -o trace.txt.zst --`},
			{name: "record of another process", of: "nothing", do: "calls 300000 another_recorded"},
			{name: "strace -f -r -T", of: "nothing", do: "needs strace; calls 20000 strace -f -r -T -o strace.out"},
			{name: "bpftrace, printing", of: "nothing", do: `needs bpftrace; calls 20000 traced 'printf("%d %d %d %d\n", tid, args->id, nsecs - @start[tid], args->ret);'`},
			{name: "bpftrace, counting", of: "nothing", do: "needs bpftrace; calls 300000 traced '@calls[args->id] = count();'"},
		},
	},
	{
		name:  "start",
		about: "run times of true, of recording it, and of the help; and the size of the program",
		rows:  []row{{name: "true"}}, home: "here",
		sides: []side{
			{name: "command", do: "clocks true"},
			{name: "record", of: "command", guard: true, do: `clocks "$PIANOLA" record -o trace.txt -- true`},
			{name: "help", guard: true, do: `clocks "$PIANOLA" --help; note "$(stat -c %s "$PIANOLA") bytes"`},
		},
	},
	{
		name:  "forks",
		about: "run times of a shell with so many children, and while it is recorded, without the start of the recorder",
		rows:  []row{{name: "500"}}, home: "here",
		sides: []side{
			{name: "program", do: `clocks sh -c "$forks" sh "$1"`},
			{name: "recorded", of: "program", guard: true, added: true, do: `
				clocks "$PIANOLA" record -o "$OUT/trace.txt" -- sh -c "$forks" sh "$1"
				recorded_time`},
		},
	},
	{
		name:  "rate",
		about: "a million events a second for ten seconds, from two threads",
		rows:  []row{{name: "million"}}, home: "here",
		sides: []side{{name: "record", do: `
			clocks "$PIANOLA" record -o trace.txt -- "$LOAD" paced 2 1000000 10
			note "$(awk '{ print $2 }' "$OUT/command.out" | head -n 1) events/s"
			note "$(grep -c pread64 trace.txt) recorded"
			note "$(awk '/^# lost:/ { lost = $3 } END { print lost + 0 }' trace.txt) lost"`}},
	},
	{
		name:  "server",
		about: "transactions a second of pgbench, which keeps all processors busy, without and with a recording of the server, and its flight recorder",
		rows: []row{
			{name: "reads", words: "-S"},
			{name: "a connection for each transaction", words: "-C", options: "--last 20s --last-memory 64MiB --ring 16MiB"},
		},
		home: "here",
		once: `
			here postgres >&2
			user=postgres
			mkdir src
			chown postgres . src
			as_postgres "$server/initdb" -D src -A trust >initdb.out
			printf "listen_addresses = ''\nshared_buffers = 256MB\nautovacuum = off\n" >>src/postgresql.conf
			as_postgres "$server/pg_ctl" -D src -o "-k $(pwd)" -l server.out -w start >>initdb.out
			"$server/pgbench" -h "$(pwd)" -U postgres -i -q -s 10 postgres 2>>initdb.out
			transactions 5 "$@"`,
		end: `[ ! -e src/postmaster.pid ] || as_postgres "$server/pg_ctl" -D src -m fast -w stop >stop.out`,
		sides: []side{
			{name: "server", do: `transactions 5 "$@"`},
			{name: "recorded", of: "server", do: `attached; transactions 5 "$@"; detached; [ -n "$OPTIONS" ] || note "$(grep -vc '^#' "$OUT/trace.txt") events"`},
			{name: "window", of: "server", do: `[ -n "$OPTIONS" ] || left_out "all is written, not a window"; attached; window 30 "$@"; detached`},
		},
	},
	{
		name:  "coverage",
		about: "how much of a program's I/O a recording has, beside what the kernel counted and what the program is known to move",
		rows: cases("true ls pipeline curl redis nginx nginx-sendfile sqlite3 sqlite3-mmap git gcc python3 tar rsync restic borg " +
			"fio-psync fio-mmap fio-mmap-write fio-huge fio-libaio fio-io_uring fio-sqpoll fio-fixed fio-batch " +
			"mariadb postgres rocksdb-fill rocksdb-mmap rocksdb-direct lmdb lmdb-writemap " +
			"qemu-img qemu-native qemu-aio qemu-io_uring java-map java-stream"),
		home: "here", cold: true, once: "begin_case covered",
		sides: []side{{name: "recorded", do: "covers"}},
	},
	{
		name:  "waits",
		about: "how much of the time in which threads are blocked a recording explains, and of how many receives it has the send",
		rows:  cases("postgres-tcp postgres-unix mariadb redis rocksdb-4 rocksdb-16 sqlite3 make pipeline go java epoll"),
		home:  "here", once: "begin_case waiting",
		sides: []side{{name: "recorded", do: "explains"}},
	},
	{
		name: "alarms",
		about: "how often checks fail that must: replays that are made slower, in 200 comparisons of six and six; programs that make one more fsync or write 1 % more bytes, " +
			"recorded beside two busy loops; and dd that takes 5 % longer, in six pairs; and how often they fail that must not",
		rows: []row{
			{name: "replays of sqlite3", words: "sqlite3 times"},
			{name: "sqlite3, one more fsync", words: "sqlite3 counts synced"}, {name: "sqlite3, 1 % more bytes", words: "sqlite3 counts more"},
			{name: "git, one more fsync", words: "git counts synced"}, {name: "git, 1 % more bytes", words: "git counts more"},
			{name: "make, one more fsync", words: "make counts synced"}, {name: "make, 1 % more bytes", words: "make counts more"},
			{name: "pairs of dd", words: "sqlite3 pairs"},
		},
		home: "here", once: "begin_case checked",
		sides: []side{{name: "comparisons", do: `alarms_$2 ${3-}`}},
	},
	{
		name:  "prefetch",
		about: "a program that announces its reads, beside what lab predicts of that; on this disk, and on one with 15 ms for a read",
		rows:  []row{{name: "this disk", words: "200 0"}, {name: "15 ms a read", words: "200 15"}},
		home:  "here",
		once: `
			loads stride slowdisk
			./stride make file "$1"
			./stride cold file
			into "$OUT/run.out" "$PIANOLA" record -o "$OUT/trace.txt" -- ./stride run file "$1" 10 0
			[ "$2" = 0 ] || { put_up_disk slow "$2" 0 $(($1 * 3 + 64))M; ./stride make slow/file "$1"; }`,
		end: "take_down_disk slow",
		sides: []side{
			{name: "as it is", do: `at_disk strides 0 "$1"`},
			{name: "1 announced", of: "as it is", do: `at_disk strides 1 "$1"`},
			{name: "2 announced", of: "as it is", do: `at_disk strides 2 "$1"`},
			{name: "prefetch=2", of: "1 announced", do: "at_disk predicted prefetch=2"},
			{name: "prefetch=4", of: "2 announced", do: "at_disk predicted prefetch=4"},
		},
	},
	{
		name:  "coalesce",
		about: "a program that writes checkpoints as HDF5 does, through buffers, beside what lab predicts of them",
		rows:  []row{{name: "checkpoints", words: "40"}},
		home:  "here",
		once: `
			loads checkpoint
			mkdir app
			into "$OUT/run.out" "$PIANOLA" record -o "$OUT/trace.txt" -- ./checkpoint app/file 0 "$1"`,
		sides: buffers("4096", "16384", "65536", "262144", "1048576", "4194304"),
	},
	{
		name:  "rank",
		about: "four processes of which one writes, replayed, and that one alone, by a filter and by a program",
		rows:  []row{{name: "processes"}}, home: "here",
		once: `
			loads ranks
			echo input >input
			into "$OUT/run.out" "$PIANOLA" record -o "$OUT/trace.txt" -- ./ranks input 4 100
			cp "$TOP/docs/plugins/rank.py" .
			"$PIANOLA" compile -q -o all.bin "$OUT/trace.txt"
			"$PIANOLA" compile -q -o filter.bin --filter "process == $(awk '/ fsync\(/ { print $1; exit }' "$OUT/trace.txt")" "$OUT/trace.txt"
			"$PIANOLA" compile -q -o alone.bin --with 'exec:python3 rank.py process=5' "$OUT/trace.txt"`,
		sides: []side{
			{name: "all", do: "ranks_of all"},
			{name: "--filter", of: "all", do: "ranks_of filter"},
			{name: "--with exec", of: "--filter", do: "ranks_of alone"},
		},
	},
	{
		name:  "diagnosis",
		about: "what the profile says to look at, what is left of the run without that, and the program when that is followed, by a change or by lab",
		rows:  cases(diagnosedCases),
		home:  "here", once: "begin_case diagnosed",
		sides: []side{
			{name: "recorded", do: "diagnoses"},
			{name: "program", of: "recorded", do: `case_runs diagnosed; followed "$command"`},
			{name: "changed", of: "program", do: `case_runs diagnosed; followed "$changed"`},
			{name: "predicted", of: "program", do: `case_runs diagnosed; [ -n "$try" ] || left_out "the program can be changed"; predicted "$try"`},
		},
	},
	{
		name:  "advice",
		about: "what lab finds worth doing for the programs of the study diagnosis",
		rows:  cases(diagnosedCases),
		home:  "here", once: "begin_case diagnosed; case_runs diagnosed; record_case",
		sides: []side{{name: "lab", do: "advised"}},
	},
	{
		name:  "fidelity",
		about: "replays on the same storage beside the program: run time, and the time in calls beside that of the recording",
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
		about: "replays on a slow device, of a recording that was made on a fast one, beside the program on the slow one",
		rows:  of(programKinds...), home: "ext4", cold: true, once: "begin; recorded; compiled",
		sides: []side{
			{name: "program", on: "slow", do: "plainly"},
			{name: "replayed", on: "slow", of: "program", do: "replayed"},
			{name: "replayed without order", on: "slow", of: "program", do: "replayed --order thread"},
			{name: "as recorded", of: "program", do: `account "$OUT/profile.json"`},
		},
	},
	{
		name:  "what-if",
		about: "what lab predicts for a run without syncs and in memory, beside the program without syncs and on tmpfs",
		rows:  of("what-if"), home: "synced", once: "begin; recorded",
		sides: []side{
			{name: "program", do: "plainly"},
			{name: "without syncs", of: "program", do: "unsynced"},
			{name: "on tmpfs", on: "tmpfs", of: "program", do: "plainly"},
			{name: "predicted without syncs", of: "without syncs", do: "predicted sync=none"},
			{name: "predicted in memory", of: "on tmpfs", do: "predicted backend=memory"},
		},
	},
	{
		name:  "log",
		about: "what lab predicts for a database whose log moves to a faster device, beside the database with its log there",
		rows:  []row{{name: "sqlite3wal", words: "sqlite3wal *-wal"}, {name: "postgres1", words: "postgres1 */pg_wal"}},
		home:  "log-slow",
		// The pace of checkpoints depends on how much of the log was written, and a replay
		// keeps the recorded pace, so that there is none before the end.
		once: `
			seed_postgres1() { seed_closed; printf 'max_wal_size = 1GB\ncheckpoint_timeout = 1h\n' >>src/postgresql.conf; }
			begin
			recorded`,
		sides: []side{
			{name: "program", do: "plainly"},
			{name: "log apart", beside: "log-fast", of: "program", do: "log_apart"},
			{name: "predicted", beside: "log-fast", of: "log apart", do: `predicted "map=$2=$BESIDE_PLACE/root.$(date +%s%N)"`},
		},
	},
	{
		name:  "model",
		about: "run times on a slow device by a model of it, which is fitted to what fio measures there, beside replay and program there",
		rows:  of("model"), home: "ext4", cold: true, once: "begin; recorded; compiled",
		sides: []side{
			{name: "program", on: "device", do: "plainly"},
			{name: "by the model", on: "device", of: "program", do: `
				[ -e "$DIR/fio.json" ] || slowly fio --output-format=json --output="$DIR/fio.json" "$TOP/docs/devices/device.fio"
				[ -e "$DIR/model.json" ] || "$PIANOLA" model fit -o "$DIR/model.json" --fio "$DIR/fio.json" >"$OUT/model.out"
				judged "$PIANOLA" replay --backend memory --model "$DIR/model.json" --json "$OUT/trace.bin" >"$OUT/replay.json"
				answered`},
			{name: "replayed", on: "device", of: "program", do: "replayed"},
			{name: "as recorded", of: "program", do: `account "$OUT/profile.json"`},
		},
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
		name:  "compile",
		about: "compile beside gzip and zstd of the same script, on one processor and on two",
		rows: []row{
			{name: "reads, 1 processor", words: "0 reads.txt", input: "reads.txt"},
			{name: "reads, 2 processors", words: "0,1 reads.txt", input: "reads.txt"},
			{name: "demo, 1 processor", words: "0 demo.txt", input: "demo.txt"},
			{name: "demo, 2 processors", words: "0,1 demo.txt", input: "demo.txt"},
			{name: "database, 1 processor", words: "0 database.txt", input: "database.txt"},
			{name: "threads, 2 processors", words: "0,1 threads.txt", input: "threads.txt"},
			{name: "requests, 2 processors", words: "0,1 requests.txt", input: "requests.txt"},
			{name: "forks, 2 processors", words: "0,1 forks.txt", input: "forks.txt"},
			{name: "races, 2 processors", words: "0,1 races.txt", input: "races.txt"},
			{name: "a long call, 2 processors", words: "0,1 long.txt", input: "long.txt"},
		},
		home: "tmpfs",
		once: `cp "$OUT/$2" script`,
		sides: []side{
			{name: "gzip -1", do: "clocks taskset -c $1 gzip -1 -k -f script; note $(stat -c %s script.gz) bytes"},
			{name: "compile", of: "gzip -1", guard: true, do: `clocks taskset -c $1 "$PIANOLA" compile -o trace.bin script; note $(stat -c %s trace.bin) bytes`},
			{name: "gzip", of: "gzip -1", do: "clocks taskset -c $1 gzip -k -f script; note $(stat -c %s script.gz) bytes"},
			{name: "zstd -3", of: "gzip -1", do: "needs zstd; clocks taskset -c $1 zstd -3 -q -f --single-thread -o script.zst script; note $(stat -c %s script.zst) bytes"},
		},
	},
	{
		name:  "formats",
		about: "a recording as a trace and in each other format, and its profile: nanoseconds, bytes and memory an event",
		rows:  []row{{name: "demo", words: "0,1 demo.txt", input: "demo.txt"}, {name: "database", words: "0,1 database.txt", input: "database.txt"}},
		home:  "tmpfs", once: eventsOf,
		sides: append([]side{
			{name: "trace", do: compiles},
			{name: "profile of the recording", guard: true, do: `each_event "$PIANOLA" profile script`},
			{name: "profile of the trace", guard: true, do: `each_event "$PIANOLA" profile trace.bin`},
			{name: "page", guard: true, do: `each_event "$PIANOLA" profile --html out script`},
		}, formats()...),
	},
	{
		name:  "scale",
		about: "ten million events: profile, compile and a dataset, with one processor and two, and questions about it in DuckDB",
		rows:  []row{{name: "1 processor", words: "0 scale.txt", input: "scale.txt"}, {name: "2 processors", words: "0,1 scale.txt", input: "scale.txt"}},
		home:  "here", once: eventsOf + `; "$PIANOLA" convert -q --format parquet -o dataset script`,
		sides: []side{
			{name: "trace", do: compiles},
			{name: "profile of the recording", do: `each_event "$PIANOLA" profile script`},
			{name: "profile of the trace", do: `each_event "$PIANOLA" profile trace.bin`},
			{name: "dataset", do: `each_event "$PIANOLA" convert -q --format parquet -o out script`},
			{name: "where-time-goes in DuckDB", do: "asked where-time-goes"},
			{name: "slowest-files in DuckDB", do: "asked slowest-files"},
			{name: "latency in DuckDB", do: "asked latency"},
		},
	},
	{
		name:  "codecs",
		about: "Go benchmarks that read and write a hundred thousand events",
		rows: []row{
			{name: "script, read", words: "format/script ^BenchmarkRead$"},
			{name: "script, write", words: "format/script ^BenchmarkWrite$"},
			{name: "trace, read", words: "format/bin ^BenchmarkEvents$/^mixed$"},
			{name: "trace, write", words: "format/bin ^BenchmarkEncode$/^mixed$"},
		},
		home:  "here",
		sides: []side{{name: "benchmark", guard: true, do: `benchmark "$1" "$2" 300ms; note "$(awk '/ns\/event/ { for (i = 2; i <= NF; i++) if ($i == "ns/event") print $(i - 1) }' "$OUT/bench.out") an event, ns"`}},
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
		about: "what a replay by several ranks costs: how long a rank takes to hear of another one's event, clocks, start and memory",
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
		name:  "layers",
		about: "nanoseconds a call of fputc, in a process whose layer stdio is recorded, beside one, and with ltrace",
		rows:  []row{{name: "fputc"}}, home: "here",
		sides: []side{
			{name: "nothing", do: `note "$("$CALLS" 2000) a call, ns"`},
			{name: "record --layer stdio", of: "nothing", guard: true, added: true, do: `note "$("$PIANOLA" record -o trace.txt --layer stdio -- "$CALLS" 2000) a call, ns"`},
			{name: "record of another process", of: "nothing", do: `layers=stdio; into calls.out another_recorded "$CALLS" 2000; note "$(tail -n 1 calls.out) a call, ns"`},
			{name: "ltrace", of: "nothing", do: `needs ltrace; note "$(ltrace -o ltrace.out -e fputc "$CALLS" 20) a call, ns"`},
		},
	},
	{
		name:  "libraries",
		about: "programs whose calls of libraries are recorded: spans, and where the time in the library went",
		rows: []row{
			{name: "datasets", words: "hdf5 ./datasets app.h5 100 50"},
			{name: "h5repack", words: "hdf5 h5repack first.h5 second.h5"},
			{name: "h5dump", words: "hdf5,stdio h5dump first.h5"},
			{name: "mpifile", words: "mpi mpiexec.mpich -n 4 ./mpifile mpi.dat 4"},
			{name: "sqlite3", words: "sqlite3 sh sqlite3.sh"},
			{name: "sort", words: "stdio sort lines"},
		},
		home: "ext4",
		once: `
			case $1 in
			hdf5*) needs h5cc; h5cc -shlib -O2 -o datasets "$TOP/testdata/hdf5/datasets.c"; ./datasets first.h5 100 50 ;;
			mpi) needs mpicc.mpich; mpicc.mpich -O2 -o mpifile "$TOP/scripts/load/mpifile.c" ;;
			esac
			echo "rm -f app.db; sqlite3 app.db \".read '$TOP/scripts/demo.sql'\"" >sqlite3.sh
			seq 20000 | sort -R >lines`,
		sides: []side{{name: "recorded", do: `needs "$2"; rm -f app.h5 second.h5; library "$@"`}},
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
		about: "making the files of a replay, beside cp -r of the same tree and fio laying out as much; each ends with a sync",
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

// eventsOf begins a row of formats: the recording, how many events it has, and its trace.
const eventsOf = `ln "$OUT/$2" script 2>/dev/null || cp "$OUT/$2" script; events_of script; "$PIANOLA" compile -o trace.bin script 2>compile.err`

const compiles = `each_event "$PIANOLA" compile -q -o out script`

// formats returns a side for each format of convert.
func formats() (sides []side) {
	for _, format := range strings.Fields("script fio fio2 fiofiles strace json csv parquet perfetto") {
		sides = append(sides, side{name: format, of: "trace", guard: true, do: `each_event "$PIANOLA" convert -q --format ` + format + ` -o out trace.bin`})
	}
	return sides
}

const mpiProgram = `needs mpicc; needs mpiexec; mpicc -O2 -I"$TOP/scripts/load" -o mpi "$TOP/scripts/load/mpi.c"`

const diagnosedCases = "sqlite3-journal sqlite3-wal sqlite3-cache sqlite3-cold redis rocksdb postgres lmdb fio-osync fio-random fio-direct " +
	"dd-small gcc-path tar git make python3 ripgrep mariadb"

// cases returns a row for each case of cases.sh.
func cases(names string) (rows []row) {
	for _, name := range strings.Fields(names) {
		rows = append(rows, row{name: name})
	}
	return rows
}

// buffers returns the sides of a program that writes as it is, and through buffers of each
// size, with what lab predicts of them.
func buffers(sizes ...string) []side {
	sides := []side{{name: "as it is", do: `checkpoints 0 "$1"`}}
	for _, size := range sizes {
		sides = append(sides,
			side{name: "buffer of " + size, of: "as it is", do: "checkpoints " + size + ` "$1"`},
			side{name: "coalesce=" + size, of: "buffer of " + size, do: "rm -f app/*; predicted coalesce=" + size})
	}
	return sides
}

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
