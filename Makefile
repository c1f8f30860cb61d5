# Each target is one command that works in a fresh clone.
GO ?= go
LINT = $(GO) tool -modfile=tools/go.mod golangci-lint
# A mark for each test that has ended, and at last each failure whole, and each skip with its reason. The linter vets.
GOTESTSUM = $(GO) tool -modfile=tools/go.mod gotestsum --format dots --format-hide-empty-pkg
# The packages $(1), with the flags $(2) of go test and $(3) of gotestsum. Tests collect garbage a fourth as often as by
# default, which is up to half of their work: their heaps are small. What failed runs once more, alone, and is printed.
TEST = export GOGC=400; $(GOTESTSUM) $(3) --jsonfile bin/tests.json -- -vet=off $(2) $(1) || .ci/rerun bin/tests.json -vet=off $(2)
# SQLite is C in the words of Go. Its memory is not Go's, so the race detector sees nothing of it, at five times the cost.
RACE = -race -gcflags=modernc.org/...lib...=-race=false
# Compiles the packages of others, and names each: SQLite first, as nothing takes longer and much waits for it.
COMPILE = $(GO) list -deps -test -f '{{with .Module}}{{if not .Main}}{{$$.ImportPath}}{{end}}{{end}}' ./... | \
	xargs $(GO) build -v $(1) modernc.org/sqlite
# The service's packages. Those that wait longest are first, so that nothing is left to wait for at the end.
PACKAGES = ./internal/lockmode ./internal/stock ./internal/http ./internal/cli ./internal/locker ./internal/job ./internal/servertest \
	./client/... ./cmd/... ./db/... ./internal/...
# Those whose goroutines share most.
RACED = ./internal/lockmode ./internal/http/conns ./internal/http/gate ./internal/http/packed ./internal/group ./internal/live ./internal/job ./internal/publish
# The slow tests; those of them that do not wait for a release, and the packages that have these.
SLOW = ^($(shell sed -n 's/^[^ \#]* \([^ ]*\).*/\1/p' .ci/slow | paste -sd '|' -))$$
REST = ^($(shell sed -n 's/^[^ \#]* \([^ ]*\)$$/\1/p' .ci/slow | paste -sd '|' -))$$
RESTIN = $(shell sed -n 's/^\([^ \#]*\) [^ ]*$$/\1/p' .ci/slow | uniq)
# The tests that bound memory or time so closely that the race detector breaks the bound.
BOUNDS = ^(TestHostileServerIsBounded|TestStepFilesKilled|TestUILargeAgenda|TestCodesTakeLittleMemory)$$
# gin without MessagePack, which nobody speaks here: a tenth of a build from nothing. A compiler ends soon: it collects
# garbage only where memory is short, which saves a tenth to a third of its work, the linter's and k6's builds included.
# What it makes is the same, and found in the same cache.
export GOFLAGS := $(strip $(GOFLAGS) -tags=nomsgpack '-toolexec=env GOGC=off GOMEMLIMIT=1500MiB')

.PHONY: build
build: ## The binary, in bin/
	$(GO) build -trimpath -ldflags '-s -w' -o bin/drawsvc ./cmd/drawsvc

.PHONY: test
test: ## Installs the servers that the tests need, and runs the service's tests, all but the slow ones
	.ci/packages
	@echo "the packages of others, named as they are compiled: two minutes on a new machine"
	@$(call COMPILE)
	@echo "a choice of mode and lock × database × promise: make test-all runs all"
	@echo "without the tests of .ci/slow, and those of the load tools: make test-rest runs them"
	@echo "without TiDB, whose server takes a quarter of an hour to build: make tidb runs the tests on it"
	$(call TEST,$(PACKAGES) ./loadtest/faults/history,-timeout 25m -p 3 -skip '$(SLOW)')

.PHONY: test-rest
test-rest: ## The tests that make test leaves out: the slow ones, which .ci/slow names, and those of the load tools
	.ci/packages
	@echo "a choice of ways to PostgreSQL × contract, points to kill a migration, upgrades, long agendas, doubles: make test-all runs all"
	@echo "without the tests that .ci/slow keeps for a release: make test-all runs them"
	$(call TEST,$(RESTIN),-timeout 25m -p 3 -run '$(REST)')
	$(call TEST,./loadtest/...,-timeout 25m -p 3)

.PHONY: test-all
test-all: ## Before a release: every test with the race detector, and every combination of what it ranges over
	.ci/packages
	@echo "the packages of others, named as they are compiled: two or three minutes on a new machine"
	@$(call COMPILE,$(RACE))
	@echo "without TiDB: make tidb runs the tests on it"
	@echo "one package at a time: each fills the machine"
	export DRAWSVC_TEST_EVERY=true; $(call TEST,$(PACKAGES) ./...,$(RACE) -timeout 60m -p 1 -skip '$(BOUNDS)')
	@echo "without the race detector, which takes several times as much memory and time: tests of bounds on both"
	export DRAWSVC_TEST_EVERY=true; $(call TEST,./internal/cli ./internal/stock/codes,-timeout 25m -run '$(BOUNDS)')

.PHONY: tidb
tidb: bin/tidb-server ## The tests of MySQL on TiDB, and TiDB's own: contract, modes and locks, kills, upgrade; its server takes a quarter of an hour to build
	$(call TEST,./internal/stock,$(TIDB) -timeout 60m -run '^(TestTiDB.*|TestContract|TestSchemaRefuses|TestReadsAreLinear|TestMigrateAtOnce)$$/^(mysql.*)?$$')
	$(call TEST,./internal/lockmode,$(TIDB) -timeout 60m -run '^TestMatrix$$/^(for-update|optimistic|external_(table|redis|zookeeper|etcd|nobody))_on_mysql$$')
	$(call TEST,./internal/locker,$(TIDB) -timeout 30m -run '^(TestLocks|TestFaults)$$/^table:_on_mysql$$')
	$(call TEST,./internal/cli,$(TIDB) -timeout 30m -run '^(TestTiDB.*|TestUpgrade)$$/^(mysql)?$$')

# With the tag, the throwaway server of MySQL is TiDB.
TIDB = -tags=nomsgpack,tidb -p 1

# The server is built from the module that tools/tidb pins; a second build comes from Go's cache.
bin/tidb-server: tools/tidb/go.mod tools/tidb/go.sum
	$(GO) build -C tools/tidb -p 2 -trimpath -ldflags '-s -w' -o $(CURDIR)/$@ github.com/pingcap/tidb/cmd/tidb-server

.PHONY: matrix
matrix: ## The load proof's cells and controls on a server of TiDB that runs: DATABASE=mysql://USER:PASS@HOST/DB
	DRAWSVC_TEST_TIDB='$(DATABASE)' $(GO) run ./loadtest/matrix --only 'broken|TiDB'

.PHONY: race
race: ## The packages whose goroutines share most, with the race detector; on SQLite, as make test has the servers
	export CI=false; $(call TEST,$(RACED),$(RACE) -short -timeout 15m,--hide-summary=skipped)

.PHONY: check
check: ## The packages' tests that need no server, on SQLite where they need a database, but for the slow ones: in half a minute
	$(call TEST,$(filter-out ./cmd/%,$(PACKAGES)),-short -skip '$(SLOW)' -p 6,--hide-summary=skipped)

.PHONY: lint
lint: ## The house rules
	$(LINT) run ./...

.PHONY: packages
packages: ## The Debian package and the RPM, in bin/
	deploy/packages/build

.PHONY: release
release: ## The files of the release VERSION, in bin/release: packages, programs, chart, checksums signed with SIGNING_KEY
	VERSION=$(VERSION) SIGNING_KEY=$(SIGNING_KEY) deploy/packages/release

.PHONY: image
image: ## The container image, without a daemon, pushed to KO_DOCKER_REPO (registry and name) with the tag TAG (default latest)
	deploy/packages/notices cmd/drawsvc/kodata
	$(GO) tool -modfile=tools/package/go.mod ko build --bare --tags=$(or $(TAG),latest) ./cmd/drawsvc

.PHONY: package-test
package-test: ## What the service is shipped as: packages, unit, image, compose file, chart; tools in a module of their own
	.ci/packages
	$(GO) -C tools/package build tool
	$(GO) -C tools/package vet ./...
	$(GO) -C tools/package test -v -timeout 60m ./...

.PHONY: vuln
vuln: ## Checks the modules against go.sum, and the code against known vulnerabilities
	.ci/vuln

.PHONY: loadtest
loadtest: ## The load proof: every mode, database and lock; results in loadtest/results
	.ci/packages
	$(GO) run ./loadtest/matrix

.PHONY: loadtest-quick
loadtest-quick: ## The same shape in under three minutes
	.ci/packages
	$(GO) run ./loadtest/matrix --quick

.PHONY: rehearsal
rehearsal: ## Plays an evening on three instances, nginx and a standby, and writes it into docs/rehearsal.md
	.ci/packages
	$(GO) run ./loadtest/rehearse --here
	$(GO) run ./loadtest/rehearse doc

.PHONY: locks
locks: ## Runs the suite of every lock, measures their speed, and writes both into docs/locks.md
	.ci/packages
	$(GO) run ./loadtest/locks

.PHONY: faults
faults: ## Breaks everything that can be broken, under load; results in loadtest/faults/results and docs/reliability.md
	.ci/packages faults
	$(GO) run ./loadtest/faults $(if $(RUNS),--runs $(RUNS))
	$(GO) run ./loadtest/faults doc

.PHONY: faults-quick
faults-quick: ## The sharpest faults, on SQLite and PostgreSQL, in under four minutes
	.ci/packages
	$(GO) run ./loadtest/faults --quick

.PHONY: soak
soak: ## Random faults for DURATION (default 1h) from SEED; its counts are added to those published
	.ci/packages
	$(GO) run ./loadtest/faults soak
	$(GO) run ./loadtest/faults doc

.PHONY: bench
bench: ## Ratios against a no-op handler and the textbook, interleaved; published in loadtest/bench/results and docs/performance.md
	.ci/packages
	$(GO) run ./loadtest/bench
	$(GO) run ./loadtest/bench publish

.PHONY: bench-after-the-win
bench-after-the-win: ## Draws with codes, claims and hooks, and the tasks after the win; with BEFORE=COMMIT, pools without them too
	.ci/packages
	$(GO) run ./loadtest/bench --after-the-win --rounds 3 $(if $(BEFORE),--before $(BEFORE))
	$(GO) run ./loadtest/bench --after-the-win publish

.PHONY: bench-latency
bench-latency: ## Latencies at 25, 50 and 75 % of the best rate beside the no-op's, in an open model; published in docs/performance.md
	.ci/packages
	$(GO) run ./loadtest/bench --latency --rounds 3
	$(GO) run ./loadtest/bench --latency publish

.PHONY: bench-quick
bench-quick: ## Few measures, short; fails where a ratio fell more than 20 % behind the published one
	.ci/packages
	$(GO) run ./loadtest/bench --quick

.PHONY: proofs
proofs: ## Both verifiers on ten million awards, every attack at a hundred places, every bit of a small pool
	$(GO) test ./internal/proof -count=1 -every
	$(GO) run ./loadtest/proofs

.PHONY: growth
growth: ## What grows with AWARDS (default a hundred million, on 92 GB of disk), killed and judged; published in docs/performance.md
	.ci/packages
	$(GO) run ./loadtest/growth $(if $(AWARDS),--awards $(AWARDS))

.PHONY: fuzz
fuzz: ## Every fuzz target for FUZZTIME (default 10s)
	.ci/fuzz $(or $(FUZZTIME),10s)

.PHONY: ui
ui: ## Has k6 sell a pool out while Chromium shows the admin page, whose numbers must be the audit's
	.ci/packages
	$(GO) build -C loadtest/k6 -o $(CURDIR)/bin/k6 go.k6.io/k6/v2
	$(GO) test ./internal/cli -run '^TestUIUnderK6$$' -count=1 -k6 $(CURDIR)/bin/k6

.PHONY: pictures
pictures: ## Takes the pictures of docs/admin-page.md anew, in Chromium
	.ci/packages
	$(GO) test ./internal/cli -run '^TestUIPictures' -pictures

.PHONY: demo
demo: ## The service on an embedded database, with a stocked pool
	$(GO) run ./cmd/drawsvc serve --demo

.PHONY: help
help: ## This list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/'
