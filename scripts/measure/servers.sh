# servers.sh: servers under load, to be sourced by sides.sh. A server has one processor, its
# clients have another one. It is three functions: data_X makes what it starts from in src,
# serve_X starts it in work, and sets pid, and load_X SECONDS lets eight clients ask for so
# long, each as soon as it has the reply before, and prints how many requests a second they
# made.
by_server="taskset -c 0" # a variable, so that $! is the server
room= # a command that gives a replay the memory that the files of the server had
by_clients() { taskset -c 1 "$@"; }

# The clients of pgbench send 7 messages for a transaction, with --select-only one.
data_pgbench() {
	scale=10
	[ $app = pgbench ] || scale=30
	seed_postgres
	sed -i '/_size = 32MB/d; /^autovacuum_naptime/d' src/postgresql.conf
	[ $app != pgbench ] || sed -i '/^shared_buffers/d' src/postgresql.conf
}
serve_pgbench() {
	$by_server setpriv --reuid postgres --regid postgres --init-groups -- "$server/pg_ctl" -D work -o "-k $(pwd)" -l server.out -w start >start.out
	pid=$(head -n 1 work/postmaster.pid)
}
load_pgbench() {
	messages=7 select=
	[ $app = pgbench ] || messages=1 select=--select-only
	by_clients "$server/pgbench" -h "$(pwd)" -U postgres -n -c 8 $select -T "$1" postgres 2>/dev/null | awk -v n=$messages '/^tps/ { print n * $3 }'
}

data_mariadbd() { mariadb-install-db --no-defaults --user=root --auth-root-authentication-method=normal --datadir="$(pwd)/src" >install.out 2>&1; }
serve_mariadbd() {
	$by_server mariadbd --no-defaults --user=root --skip-grant-tables --skip-networking --datadir="$(pwd)/work" --socket="$(pwd)/socket" >server.out 2>&1 &
	pid=$!
	await test -S socket
	by_clients mariadb --no-defaults --socket="$(pwd)/socket" --execute='create table test.t (i int auto_increment primary key, v varchar(100))'
}
load_mariadbd() {
	rate "mariadb --no-defaults --socket=$(pwd)/socket -Ne 'select variable_value from information_schema.global_status where variable_name = \"COM_INSERT\"'" "$1" \
		mariadb-slap --no-defaults --socket="$(pwd)/socket" --create-schema=test --no-drop --query="insert into t (v) values ('$(printf %090d 0)')" --concurrency=8 --number-of-queries=100000000
}

data_redis() { mkdir src; }
serve_redis() {
	$by_server redis-server --port 0 --unixsocket "$(pwd)/socket" --dir "$(pwd)/work" --save '' --appendonly yes --appendfsync "${app#redis_}" >server.out 2>&1 &
	pid=$!
	await test -S socket
}
load_redis() {
	rate "redis-cli -s $(pwd)/socket info stats | sed -n 's/^total_commands_processed:\([0-9]*\).*/\1/p'" "$1" redis-benchmark -s "$(pwd)/socket" -t set -n 100000000 -c 8 -q
}

# The two of files answer with 16 KiB.
data_nginx() {
	mkdir src
	head -c 16384 /dev/urandom >src/data
	echo "daemon off; pid pid; error_log stderr; master_process off; events {} user root;
		http { access_log log; server { listen 127.0.0.1:$port; keepalive_requests 1000000000; root .; } }" >src/conf
}
serve_nginx() {
	$by_server nginx -p "$(pwd)/work" -c conf >server.out 2>&1 &
	pid=$!
	await curl -sfo /dev/null "http://127.0.0.1:$port/data"
}
data_tomcat() {
	mkdir -p src/conf src/webapps/ROOT src/logs src/temp src/work
	head -c 16384 /dev/urandom >src/webapps/ROOT/data
	cp /etc/tomcat*/web.xml src/conf
	echo "<Server port='-1'><Service name='s'><Connector port='$port' address='127.0.0.1' maxKeepAliveRequests='-1'/><Engine name='e' defaultHost='localhost'>
		<Host name='localhost' appBase='webapps'/></Engine></Service></Server>" >src/conf/server.xml
}
serve_tomcat() {
	library=$(dirname /usr/share/tomcat*/bin/bootstrap.jar)
	$by_server java -Xshare:auto -XX:+UseSerialGC -Xmx256m -Dcatalina.home="$library/.." -Dcatalina.base="$(pwd)/work" -cp "$library/bootstrap.jar:$library/tomcat-juli.jar" \
		org.apache.catalina.startup.Bootstrap start >server.out 2>&1 &
	pid=$!
	await curl -sfo /dev/null "http://127.0.0.1:$port/data"
}
load_nginx() { by_clients ab -q -k -c 8 -t "$1" -n 100000000 "http://127.0.0.1:$port/data" 2>ab.err | awk '/^Requests per second/ { print $4 }'; }
load_tomcat() { load_nginx "$1"; }

# await COMMAND…: waits until the command succeeds, while the server runs.
await() {
	until "$@"; do
		kill -0 $pid || { cat server.out >&2; return 1; }
		sleep 0.02
	done
}

# rate COUNTER SECONDS COMMAND…: lets clients work for so long, and prints how much the
# number that COUNTER prints grew in a second.
rate() {
	counter=$1 seconds=$2
	shift 2
	from=$(by_clients sh -c "$counter") at=$(date +%s%N)
	by_clients timeout "$seconds" "$@" >load.out 2>&1 || :
	echo "$from $(by_clients sh -c "$counter") $at $(date +%s%N)" | awk '{ print ($2 - $1) / ($4 - $3) * 1e9 }'
}

# begin_server: what the server starts from.
begin_server() {
	case $app in
	pgbench*) here postgres >&2 ;;
	mariadbd) here mariadb >&2 ;;
	redis_*) here redis >&2 ;;
	nginx) has nginx && has ab ;;
	tomcat) has java && has ab && [ -d /usr/share/tomcat10 ] ;;
	esac || left_out "$app is not here"
	[ "$(nproc)" -ge 2 ] || left_out "the server and its clients need a processor each"
	data_${app%%_*}
	kept
}

# The working set of pgbench_select is larger than the memory that the server has, and its
# replay.
memory=/sys/fs/cgroup/memory/pianola-measure
bounded() { sh -c 'echo 0 >"$0/cgroup.procs"; exec "$@"' $memory "$@"; }
bound() {
	[ $app = pgbench_select ] || return 0
	[ -d "${memory%/*}" ] || left_out "the machine has no cgroup of version 1 for memory"
	mkdir -p $memory
	echo 0 >$memory/memory.force_empty # files of the side before would keep their room
	echo 200M >$memory/memory.limit_in_bytes
	by_server="bounded taskset -c 0" room=as_in_cache
}

# in_cache: how many bytes of files are in its memory; what the server shares is none.
in_cache() { awk '{ of[$1] = $2 } END { printf "%.0f\n", of["total_cache"] - of["total_shmem"] }' $memory/memory.stat; }

# as_in_cache COMMAND…: runs it with room for as many bytes of files as the server had. Its own memory,
# and that of the kernel for it, comes on top.
as_in_cache() {
	files=$(cat "$OUT/in_cache")
	"$@" &
	while kill -0 $! 2>/dev/null; do
		awk -v files="$files" 'NF == 1 || $1 == "total_rss" { own += $NF } END { printf "%.0f\n", own + files }' \
			$memory/memory.stat $memory/memory.kmem.usage_in_bytes >$memory/memory.limit_in_bytes || :
		sleep 0.1
	done
	wait $!
}

# starts: lays out what the server starts from.
starts() {
	# Servers that wait for the disk in each request make a replay on a slow one take minutes. The middle of the
	# load is recorded: servers become faster or slower with time.
	case $app in redis_always | mariadbd) seconds=1 ;; pgbench_select) seconds=2 ;; *) seconds=7 ;; esac
	loaded=$((seconds + 3))
	bound
	[ -e settings ] || cp -a "$START/." .
	. ./settings
	rm -f socket
	[ ! -e work ] || mv work "left.$(date +%s%N)"
	cp -a src work
	sync -f .
	# The server with little memory reads its own pages, not those that the copy left in the cache.
	[ $app != pgbench_select ] || "$MEASURE" cold .
}
# runs: starts the server and fills its caches, which takes as many requests on a slow disk as on
# a fast one.
runs() {
	[ -z "$LIMITS" ] || enter
	serve_${app%%_*}
	warm=4
	[ $app != tomcat ] || warm=20 # Java compiles what runs often
	load_${app%%_*} $warm >warm.out
}
ends() {
	case $app in
	pgbench*) kill -INT "$pid" ;; # which does not wait for clients
	*) kill "$pid" ;;
	esac
	while kill -0 "$pid" 2>/dev/null; do sleep 0.05; done
}

# serves: notes how many requests a second the server answers.
serves() {
	starts
	runs
	slowly serves_there
}
serves_there() {
	note "$(load_${app%%_*} $loaded) requests/s"
	ends
}

# recorded_serving: records it meanwhile, and compiles the recording.
recorded_serving() {
	starts
	runs
	slowly serves_recorded
	"$PIANOLA" compile -o "$OUT/trace.bin" "$OUT/trace.txt" 2>"$OUT/compile.out"
	request_rate "$OUT/trace.txt"
}
serves_recorded() {
	load_${app%%_*} $loaded >load.rate &
	clients=$!
	sleep 1
	rm -f "$OUT/trace.txt"
	by_clients "$PIANOLA" record -q --pid "$pid" --duration ${seconds}s -o "$OUT/trace.txt"
	[ $app != pgbench_select ] || in_cache >"$OUT/in_cache"
	wait $clients
	ends
}
request_rate() { note "$("$PIANOLA" profile --json "$1" | awk -F'[:,]' '/"per_second"/ { print $2 + 0; exit }') requests/s"; }

# answers: replays the trace on the processor of the server, and notes how many requests a
# second that makes.
answers() {
	bound
	root=root.$(date +%s%N)
	$by_server "$PIANOLA" replay --prepare only --root "$root" "$OUT/trace.bin" >/dev/null
	sync -f .
	slowly answers_there
	request_rate "$OUT/replay.log"
}
answers_there() {
	judged $room $by_server "$PIANOLA" replay $OPTIONS --prepare never --root "$root" --keep --log "$OUT/replay.log" "$OUT/trace.bin" >"$OUT/replay.out"
	! grep '^incomplete' "$OUT/replay.out" >&2
}
