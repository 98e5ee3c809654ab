package main

import (
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
	{name: "writes-4000", system: "ext4", limits: "rbps=209715200 wbps=209715200 riops=4000 wiops=4000"},
	{name: "writes-400", system: "ext4", limits: "rbps=209715200 wbps=209715200 riops=4000 wiops=400"},
	{name: "disk-500", system: "ext4", limits: "rbps=209715200 wbps=209715200 riops=500 wiops=500"},
	{name: "disk-5000", system: "ext4", limits: "rbps=209715200 wbps=209715200 riops=5000 wiops=5000"},
	{name: "synced", system: "ext4", limits: "rbps=209715200 wbps=209715200 riops=3000 wiops=3000"}, // a sync takes about a millisecond
}

// program is one of apps.sh.
type program struct {
	name    string
	kinds   string // the studies of programs that it belongs to
	limits  string // of the storage slow, so that the program takes clearly longer there
	options string // of its replays on other storage
}

// The clients of postgres aren't recorded. They send at their times, however long the server takes.
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
	{"rocksdb4", "closed critical what-if model commits", syncing, ""},
	{"rocksdb16", "closed what-if commits", syncing, ""},
	{"postgres1", "closed critical what-if model", syncing, ""},
	{"postgres8", "closed what-if commits", syncing, ""},
	{"mariadb", "closed cost commits", "rbps=20971520 wbps=10485760 riops=1500 wiops=300", ""},
	{"redis", "closed cost what-if model commits", syncing, ""},
	{"sqlite3x3", "closed what-if commits", syncing, ""},
	{"make4", "closed", "rbps=20971520 wbps=10485760 riops=1500 wiops=60", ""},
	{"pipeline", "closed", "rbps=20971520 wbps=10485760 riops=1500 wiops=1000", ""},
	{"java", "closed", syncing, ""},
	{"derby", "commits", syncing, ""},
	{"etcd", "commits", syncing, ""},
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
	{"ingest", "plain cost paper", slow, ""},
	{"hydro", "plain cost paper", slow, ""},
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

// studies are all of them, in the order in which they are measured.
var studies = slices.Concat(recordings, predictions, traces, replays)

// cases returns a row for each case of cases.sh.
func cases(names string) (rows []row) {
	for _, name := range strings.Fields(names) {
		rows = append(rows, row{name: name})
	}
	return rows
}
