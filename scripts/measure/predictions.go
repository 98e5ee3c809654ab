package main

// seeks is the row of Feign's first experiment: a twentieth of its length on a disk with its seeks.
const seeks = "512 MiB, 10 ms a seek"

// predictions are studies of what the profile and lab say of a change, beside the program with that change.
var predictions = []study{
	{
		name:  "prefetch",
		about: "a program that announces its reads, compared with the prediction of lab; on this disk, and on one with 15 ms for a read; and the engine without I/O and compute",
		rows:  []row{{name: "this disk", words: "200 0"}, {name: "15 ms a read", words: "200 15"}, {name: seeks, words: "524 0.1 seek=10:15 rate=200"}},
		home:  "here",
		once: `
			loads stride slowdisk
			./stride make file "$1"
			./stride cold file
			into "$OUT/run.out" "$PIANOLA" record -o "$OUT/trace.txt" -- ./stride run file "$1" 10 0
			[ "$2" = 0 ] || { put_up_disk slow "$2" 0 $(($1 * 3 + 64))M ${3-} ${4-}; ./stride make slow/file "$1"; }`,
		end: "take_down_disk slow",
		sides: []side{
			{name: "as it is", do: `at_disk strides 0 "$1"`},
			{name: "1 announced", of: "as it is", do: `at_disk strides 1 "$1"`},
			{name: "2 announced", of: "as it is", do: `at_disk strides 2 "$1"`},
			{name: "prefetch=2", of: "1 announced", do: "at_disk predicted prefetch=2"},
			{name: "prefetch=4", of: "2 announced", do: "at_disk predicted prefetch=4"},
			{name: "engine alone", of: "as it is", do: "engine_alone"},
		},
		picture: runTime,
	},
	{
		name:  "coalesce",
		about: "a program that writes checkpoints as HDF5 does, through buffers, compared with the prediction of lab",
		rows:  []row{{name: "checkpoints", words: "40"}},
		home:  "ext4",
		once: `
			loads checkpoint
			mkdir app
			into "$OUT/run.out" "$PIANOLA" record -o "$OUT/trace.txt" -- ./checkpoint app/file 0 "$1"`,
		sides: buffers("4096", "16384", "65536", "262144", "1048576", "4194304"),
	},
	{
		name:  "flash",
		about: "one of eight processes that write checkpoints through HDF5, and the prediction of lab for buffers",
		rows:  []row{{name: "checkpoints", words: "10"}},
		home:  "ext4",
		once: `
			needs h5cc
			h5cc -shlib -O2 -I"$TOP/scripts/load" -o flash "$TOP/scripts/load/flash.c"
			into "$OUT/run.out" "$PIANOLA" record -o "$OUT/trace.txt" -- ./flash file "$1"
			process_of file.0`,
		sides: []side{
			{name: "as it is", do: `judged "$PIANOLA" replay --json one.bin >"$OUT/replay.json"; answered`},
			{name: "buffer of 4 KiB", of: "as it is", do: "predicted coalesce=4KiB one.bin"},
			{name: "buffer of 64 KiB", of: "as it is", do: "predicted coalesce=64KiB one.bin"},
			{name: "buffer of 512 KiB", of: "as it is", do: "predicted coalesce=512KiB one.bin"},
			{name: "buffer of 4 MiB", of: "as it is", do: "predicted coalesce=4MiB one.bin"},
		},
		picture: "write, s",
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
		about: "the findings of the profile, the rest of the run without them, and the program after a change that follows them, or after lab",
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
		about: "changes that lab finds worth doing for the programs of the study diagnosis",
		rows:  cases(diagnosedCases),
		home:  "here", once: "begin_case diagnosed; case_runs diagnosed; record_case",
		sides: []side{{name: "lab", do: "advised"}},
	},
	{
		name:  "what-if",
		about: "predictions of lab for a run without syncs and in memory, compared with the program without syncs and on tmpfs",
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
		about: "predictions of lab for a database whose log moves to a faster device, compared with the database with its log there",
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
		about: "run times on a slow device by a model of it, which is fitted to measurements of fio there, compared with replay and program there",
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
}

const diagnosedCases = "sqlite3-journal sqlite3-wal sqlite3-cache sqlite3-cold redis rocksdb postgres lmdb fio-osync fio-random fio-direct " +
	"dd-small gcc-path tar git make python3 ripgrep mariadb"

// buffers returns the sides of a program that writes as it is, and through buffers of each
// size, with what lab predicts of them.
func buffers(sizes ...string) []side {
	sides := []side{{name: "as it is", do: `checkpoints 0 "$1"`}}
	for _, size := range sizes {
		sides = append(sides,
			side{name: "buffer of " + size, of: "as it is", do: "checkpoints " + size + ` "$1"`},
			side{name: "coalesce=" + size, of: "buffer of " + size, do: "no_checkpoints; predicted coalesce=" + size})
	}
	return sides
}
