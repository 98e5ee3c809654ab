# The targets are listed by `make help`. demo and test install what they need
# by Debian package name, as root, and say what they install.

GO       ?= go
export CGO_ENABLED ?= 0
CLANG    ?= clang-19
BIN      ?= bin
PREFIX   ?= /usr/local
ZSHDIR   ?= $(PREFIX)/share/zsh/site-functions
# What pianola version prints, and recordings and logs say they were made with. The go
# command can't tell without asking git, which refuses a clone of another user.
git      := git -c safe.directory='*'
VERSION  ?= $(shell $(git) describe --tags --always --dirty 2>/dev/null)
COMMIT   ?= $(shell $(git) rev-parse HEAD 2>/dev/null)
SOURCE_DATE_EPOCH ?= $(or $(shell $(git) log -1 --format=%ct 2>/dev/null),$(shell date -r go.mod +%s))
DATE     := $(shell date -u -d @$(SOURCE_DATE_EPOCH) +%Y-%m-%dT%H:%M:%SZ)
export SOURCE_DATE_EPOCH
FUZZTIME ?= 60s
# Of a package's tests: on a slow or busy machine those of the command take more
# than the 10 minutes that are usual.
TIMEOUT  ?= 60m
# The packages that have threads of their own, and the command, which has all.
RACE     ?= ./cmd/pianola ./format ./format/export ./internal/plugin ./record/... ./replay/...
SHORT    ?= -short

# All targets: none is the name of a file that it makes.
.PHONY: $(shell sed -n 's/^\([a-z0-9-]*\):.*/\1/p' $(firstword $(MAKEFILE_LIST)))

help: ## list the targets
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 12

# Without the tag the command would hold a writer of Markdown that it has no use for.
build: ## bin/pianola, a static binary, and bin/pianola-ranks, which carries messages between ranks
	$(GO) build -trimpath -buildvcs=false -tags urfave_cli_no_docs -o $(BIN)/ \
	  -ldflags '-s -w -X pianola/format/provenance.built=$(VERSION) -X pianola/format/provenance.commit=$(COMMIT) -X pianola/format/provenance.date=$(DATE)' ./cmd/pianola ./cmd/pianola-ranks

# What GOARCH says is not for a program that runs here.
man: ## bin/man, the manual pages
	mkdir -p $(BIN)/man
	GOARCH= $(GO) run ./cmd/manpages -version '$(VERSION)' -date $(SOURCE_DATE_EPOCH) $(BIN)/man

# Root often has no Go: make build man, then sudo make install.
install: $(if $(shell command -v $(GO)),build man) ## the command, manual pages, completions, workloads and docs below PREFIX=/usr/local and DESTDIR
	PREFIX=$(PREFIX) DESTDIR=$(DESTDIR) ZSHDIR=$(ZSHDIR) sh scripts/install.sh $(BIN)

package: ## deb, rpm and tar.gz for amd64 and arm64 in bin/packages
	VERSION='$(VERSION)' COMMIT='$(COMMIT)' sh scripts/package.sh bin/packages

package-check: ## builds the packages twice, from two directories, and compares the bytes
	VERSION='$(VERSION)' COMMIT='$(COMMIT)' sh scripts/package-check.sh

clean-install: package ## installs the deb in a new Debian, and runs the tutorial and the README there; root only; PAGES=where-time-goes.md for others
	sh scripts/clean-install.sh bin/packages $(PAGES)

workflows: ## checks .github/workflows with actionlint
	$(GO) -C packaging tool actionlint $(CURDIR)/.github/workflows/*.yml

demo: deps-demo build ## record, compile, replay and compare sqlite3; leaves demo/profile.svg and demo/profile.html
	sh scripts/demo.sh demo

pictures: demo ## the pictures in docs/pictures/, made from the demo
	@sh scripts/need.sh chromium=chromium gcc=gcc make=make
	sh scripts/pictures.sh demo docs/pictures

pages: ## the outputs in README, tutorial and recipes, from new runs; best on a quiet machine
	@sh scripts/need.sh sqlite3=sqlite3 python3=python3 mkfs.ext4=e2fsprogs mkfs.xfs=xfsprogs
	UPDATE_RECIPES=1 PIANOLA_REQUIRE_BPF=1 $(GO) test -count 1 -timeout $(TIMEOUT) -run TestRecipes ./cmd/pianola

hdf5-vol: deps-hdf5-vol build ## the HDF5 connector that keeps files in memory: fetches HDF5 1.14, builds and tests it; ONLY= builds only
	sh scripts/hdf5-vol.sh demo/hdf5-vol

workloads: build ## records the workloads that ship once more, best on a quiet machine; root only; ONLY=git for one
	for name in $(or $(ONLY),$(notdir $(patsubst %/record.sh,%,$(wildcard workloads/*/record.sh)))); do sh workloads/$$name/record.sh || exit; done

conformance: deps-conformance build ## test suites of others, replayed on posix and memory, and the trees they leave; SUITE=DIR adds test programs, TESTS="dbench xfs_io" for some
	SUITE=$(SUITE) sh scripts/conformance.sh demo/conformance $(TESTS)

matrix: ## Pianola and its tests on other kernels, in virtual machines; KERNELS="6.1 5.10" for some, ARM64=1 for arm64 too, CHECKS="doctor sqlite" for some checks
	@sh scripts/need.sh qemu-system-x86_64=qemu-system-x86 $(if $(ARM64)$(filter arm64%,$(KERNELS)),qemu-system-aarch64=qemu-system-arm) cpio=cpio depmod=kmod xz=xz-utils mkfs.ext4=e2fsprogs
	ARM64=$(ARM64) CHECKS="$(CHECKS)" sh scripts/matrix.sh demo/matrix $(KERNELS)

# Lint has had go vet look at all packages, so go test needn't.
test: deps-test build lint ## all tests
	PIANOLA_REQUIRE_BPF=$${PIANOLA_REQUIRE_BPF-$$(sh scripts/can-bpf.sh)} \
	  PIANOLA_REQUIRE_BROWSER=$${PIANOLA_REQUIRE_BROWSER-$$(command -v chromium >/dev/null && echo 1)} $(GO) test -vet off -timeout $(TIMEOUT) ./...
	@if command -v gcc >/dev/null; then PIANOLA_REQUIRE_BPF= $(MAKE) --no-print-directory race; else echo "no gcc: -race is left out"; fi

check: lint ## lint and short tests, in two minutes
	$(GO) test -vet off -short -timeout $(TIMEOUT) ./...

# Otherwise each program that is built so sleeps for a second when it ends, to see
# whether its threads race then.
race: ## short tests of packages with threads, under the race detector; RACE=./... SHORT= for all tests
	GORACE=atexit_sleep_ms=0 CGO_ENABLED=1 $(GO) test -vet off -race $(SHORT) -timeout $(TIMEOUT) $(RACE)

bench: ## benchmarks for benchstat
	$(GO) test -run '^$$' -bench . -benchmem ./...

measure: deps-storage deps-closed deps-sql ## the figures of the documents, in docs/measured; measures what is missing; on a quiet machine, as root; ONLY="cost storage/redis" for some, SINCE=REV to renew older rows, OUT=DIR, ROUNDS=7, IMAGES=/dev/shm, FORCE=1
	@sh scripts/need.sh strace=strace zstd=zstd bpftrace=bpftrace ltrace=ltrace eatmydata=eatmydata mdb_load=lmdb-utils rg=ripgrep h5cc=libhdf5-dev h5repack=hdf5-tools mpicc.mpich=libmpich-dev mpiexec.mpich=mpich nginx=nginx ab=apache2-utils qemu-img=qemu-utils restic=restic borg=borgbackup rsync=rsync curl=curl
	$(GO) run ./scripts/measure figures -only '$(ONLY)' -since '$(SINCE)' -out $(or $(OUT),docs/measured) -rounds $(or $(ROUNDS),7) $(if $(FORCE),-force)

guard: deps-demo ## builds BASE=REV and this tree, measures both in turn, and names what has become worse; best on a quiet machine, as root; ONLY="compile calls/pread" for some, ROUNDS=9
	@sh scripts/need.sh fio=fio gcc=gcc git=git
	$(GO) run ./scripts/measure guard -base '$(or $(BASE),HEAD)' -rounds $(or $(ROUNDS),9) -only '$(ONLY)'

# An input that is new is not made shorter for long: most take a while to play.
fuzz: ## every fuzz target for FUZZTIME; FUZZ=Traces for those with that in their names
	@set -e; tally=$$(mktemp -d); trap 'rm -rf "$$tally"' EXIT; export PIANOLA_FUZZ_TALLY="$$tally"; \
	for dir in $$($(GO) list -f '{{.Dir}}' ./...); do \
	  for target in $$(grep -ho 'func Fuzz[A-Za-z0-9]*$(FUZZ)[A-Za-z0-9]*' $$dir/*_test.go 2>/dev/null | sed 's/func //'); do \
	    echo "$$target"; (cd $$dir && $(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 20x .); \
	    find "$$tally" -type f -exec cat {} + | awk '{ inputs += $$1; passed += $$2; if ($$3 > most) most = $$3 } \
	      END { if (inputs) printf "%d of %d inputs got past all checks: %.0f %%\n", passed, inputs, 100 * passed / inputs; if (most) printf "the most memory of one: %.0f MiB\n", most / 1048576 }'; \
	    rm -f "$$tally"/*; \
	  done; done

# The status of govulncheck is 3 where it found something, and 1 where it could not look.
vuln: ## known vulnerabilities in what the programs call, by govulncheck; VULNDB=URL for a copy of its database
	@GOBIN=$(CURDIR)/bin $(GO) install golang.org/x/vuln/cmd/govulncheck@v1.9.0
	@bin/govulncheck $(if $(VULNDB),-db $(VULNDB)) ./... || { status=$$?; test $$status -ne 1 || \
	  echo "hint: govulncheck reads https://vuln.go.dev; VULNDB=file:///DIR names a copy (govulncheck -h)" >&2; exit $$status; }

lint: prose ## vet (also for arm64), gofmt, staticcheck, go mod tidy, and generated files; also the language of documents, comments and messages
	$(GO) vet ./...
	@files=$$(gofmt -l .) && test -z "$$files" || { echo "$$files"; echo "gofmt: the files above are not formatted"; exit 1; }
	$(GO) mod tidy -diff
	$(GO) tool staticcheck ./...
	GOARCH=arm64 $(GO) vet ./...
	cd format/layer/generate && $(GO) vet . && $(GO) mod tidy -diff
	@sh scripts/generated.sh $(CLANG)

# The first run builds Vale, whose parsers are in C and C++. LEVEL=warning shows more.
prose: ## the language of documents, comments and messages, checked by Vale (.vale)
	@sh scripts/need.sh g++=g++
	@if command -v g++ >/dev/null; then $(GO) run ./scripts/prose -level $(or $(LEVEL),error); \
	else echo "no g++: the language of documents and comments is not checked"; fi

generate: ## rebuild the eBPF objects with clang-19, and the descriptions of layers; changes nothing on a clean tree
	CLANG=$(CLANG) $(GO) generate ./...

clean: ## remove built files
	rm -rf bin demo

# Packages are installed only where a program is missing, and only by root.
deps-demo:
	@sh scripts/need.sh sqlite3=sqlite3

deps-hdf5-vol:
	@sh scripts/need.sh gcc=gcc

deps-truth:
	@sh scripts/need.sh sqlite3=sqlite3 git=git tar=tar gcc=gcc make=make python3=python3 fio=fio pg_createcluster=postgresql

deps-storage: deps-truth
	@sh scripts/need.sh mkfs.ext4=e2fsprogs mkfs.xfs=xfsprogs mkfs.btrfs=btrfs-progs losetup=mount

deps-closed:
	@sh scripts/need.sh db_bench=rocksdb-tools redis-server=redis-server redis-benchmark=redis-tools mariadbd=mariadb-server mariadb-slap=mariadb-client javac=default-jdk-headless etcd=etcd-server ab=apache2-utils curl=curl

deps-conformance:
	@sh scripts/need.sh stress-ng=stress-ng dbench=dbench bonnie++=bonnie++ xfs_io=xfsprogs fio=fio python3=python3

deps-test:
	@sh scripts/need.sh sqlite3=sqlite3 git=git gcc=gcc gfortran=gfortran python3=python3 tar=tar strace=strace fio=fio h5cc=libhdf5-dev h5dump=hdf5-tools mpicc=libmpich-dev mpiexec=mpich srun=slurm-wlm munged=munge chromium=chromium
	@sh scripts/duckdb.sh demo/duckdb

deps-sql:
	@sh scripts/need.sh npm=npm
	@sh scripts/duckdb.sh demo/duckdb
