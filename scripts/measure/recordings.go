package main

// recordings are studies of what a recording costs, and what it has.
var recordings = []study{
	{
		name:  "cost",
		about: "run times of programs as they are, while they are recorded, and in the compiled trace",
		rows:  of("cost"), home: "ext4", once: "begin",
		sides: []side{
			{name: "program", do: "plainly"},
			{name: "recorded", of: "program", do: "recorded"},
			{name: "compiled", of: "program", do: "compiled", follows: true},
			{name: "in the process", of: "program", do: "recorded --tracer in-process"},
			{name: "compiled of it", of: "program", do: "compiled", follows: true},
		},
	},
	{
		name:  "data-intensive",
		about: "a graph that is ingested and a hydrodynamics code: compute by the user's time, a recording and strace; replays with and without their memory",
		rows:  of("paper"), home: "ext4", once: "begin",
		sides: []side{
			{name: "program", do: "plainly"},
			{name: "recorded", of: "program", do: "recorded --memory; compiled"},
			{name: "replayed", of: "recorded", follows: true, do: `
				replayed --log "$OUT/replay.log"
				judged "$PIANOLA" compare --plot "$PICTURE" "$OUT/trace.bin" "$OUT/replay.log" >"$OUT/compare.out"`},
			{name: "replayed --memory", of: "replayed", follows: true, do: "replayed --memory"},
			{name: "strace", of: "recorded", do: "by_strace"},
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
		about: "the time of syncs on the critical path of a recording, and run times without syncs (eatmydata)",
		rows:  of("critical"), home: "ext4", once: "begin",
		sides: []side{
			{name: "program", do: "plainly"},
			{name: "recorded", of: "program", do: "recorded; on_path"},
			{name: "without syncs", of: "program", do: "needs eatmydata; through=eatmydata; plainly"},
		},
	},
	{
		name:  "split",
		about: "how a recording splits the time off the processor, compared with a program that knows how long it waited; a read of its disk takes 2 ms",
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
			{name: "fstat", words: "fstat"},
			{name: "open and close", words: "open"},
			{name: "dd bs=1", words: "dd"},
			{name: "call that is not recorded", words: "getppid"},
		},
		home: "here",
		sides: []side{
			{name: "nothing", do: "calls 300000"},
			{name: "record", of: "nothing", guard: true, added: true, do: `calls 300000 "$PIANOLA" record -o trace.txt --`},
			{name: "record in the process", of: "nothing", do: `calls 300000 "$PIANOLA" record --tracer in-process -o trace.txt --`},
			{name: "record with ptrace", of: "nothing", do: `calls 20000 "$PIANOLA" record --tracer ptrace -o trace.txt --`},
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
			{name: "in the process", of: "program", do: `
				clocks "$PIANOLA" record --tracer in-process -o "$OUT/trace.txt" -- sh -c "$forks" sh "$1"
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
			{name: "in the process", of: "server", do: `[ -z "$OPTIONS" ] || left_out "all is written"; within "$@"`},
			{name: "window", of: "server", do: `[ -n "$OPTIONS" ] || left_out "all is written, not a window"; attached; window 30 "$@"; detached`},
		},
	},
	{
		name:  "coverage",
		about: "how much of a program's I/O a recording has, compared with the counters of the kernel and the bytes that the program moves",
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
			"recorded while two busy loops run; and dd that takes 5 % longer, in six pairs; and how often they fail that must not",
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
		name:  "layers",
		about: "nanoseconds a call of fputc, in a process whose layer stdio is recorded, next to such a process, and with ltrace",
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
}
