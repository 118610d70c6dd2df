# What people type here. `make run` and `make test` bring in what they need (Scripts/setup).
# ENGINE=postgres   flight-log on a PostgreSQL server of its own (run)
# DATA=dir      the folder with airlines, airports, planes, weather and flights as .csv or .csv.gz (run, bench CARD=graph)
# SIZES="1k …"  numbers of rows for the benchmarks
# ARGUMENTS=…   further arguments of flight-log, benchmarks or swift test
# MINUTES=n     how long `make torture` goes on, with ONLY= its kinds and SEED= its first seed
# DECODER=…     the decoders that `make fuzz` feeds, SECONDS=n each
# TAKE=card     whose newest results `make performance` takes over, in place of those in Benchmarks/Results; ADD=card: behind them
# STRICT=1      test the strict build that `make check` made instead of making another one

# The strict build is the one that `make test STRICT=1` runs: see Scripts/test.
check: export STRATA_OPTIMIZED ?= 1

strict := --scratch-path .build/strict -Xswiftc -warnings-as-errors

.PHONY: help setup setup-tests run test check-nsmanaged check-dependents race asan torture fuzz check docs format bench bench-gate performance

help:
	@echo "make run [DATA=dir]  import real flight data into a store, query it, edit it, reopen it, check it"
	@echo "make run ENGINE=postgres  the same on a PostgreSQL server that is started for it"
	@echo "make test            build and run all tests"
	@echo "make check-nsmanaged the sample of @NSManaged in a release build"
	@echo "make check-dependents a package of its own that uses Strata and StrataModels by a version tag"
	@echo "make race            run the tests under the thread sanitizer"
	@echo "make asan            run the tests under the address sanitizer"
	@echo "make torture [MINUTES=60] [ONLY=kinds] [SEED=n]  the long mode of the torture tests; prints totals"
	@echo "make fuzz [DECODER=row] [SECONDS=60]  libFuzzer on one decoder, or on all of them by turns"
	@echo "make check           formatting, floor order, file lengths, cited rules, links of the documents, what functions throw, what needs swift-syntax, build with warnings as errors, code of the documents, the figures of Docs/Performance.md"
	@echo "make bench           compare with GRDB and raw LMDB (release build); its results become tables of Docs/Performance.md and the chart beside it"
	@echo "make bench CARD=stacks  contexts above contexts; CARD=graph [DATA=dir]: relationships, against GRDB"
	@echo "make bench CARD=queries [DATA=dir]  predicates, sorts, counts, ANY and SUBQUERY, against the same SQL"
	@echo "make bench CARD=owner   one owner with a million members: append, remove, count, cascade"
	@echo "make bench CARD=batches batch insert, update and delete, against GRDB; and what memory they take"
	@echo "make bench CARD=saves   small saves by 1 to 32 threads, durable and not, against GRDB (ARGUMENTS=--quick)"
	@echo "make bench CARD=compaction  what saves wait for while a file gets shorter"
	@echo "make bench CARD=fetched fetched results: opening a list, one change, a thousand changes"
	@echo "make bench CARD=accessors  @NSManaged properties against hand-written accessors (not on Apple's systems)"
	@echo "make bench CARD=swiftdata  models of import SwiftData against native objects and GRDB's records (not on Apple's systems)"
	@echo "make performance [TAKE=card] [ADD=card]  make the tables of Docs/Performance.md, and Docs/performance.svg, from Benchmarks/Results"
	@echo "make bench-gate         instructions and allocations of common operations against the baseline in Benchmarks/Baseline"
	@echo "make docs            the API reference and the pages of Docs as a DocC archive, in .build/docs"
	@echo "make format          format all Swift sources in place"

setup:
	@Scripts/setup

# Building everything and the tests take libpq and a PostgreSQL server.
setup-tests:
	@Scripts/setup tests

# On a server the programs of PostgreSQL are needed, and libpq.
ifeq ($(ENGINE),postgres)
run: setup-tests
	@DATA="$(DATA)" Scripts/run-postgres $(ARGUMENTS)
else ifneq ($(filter-out lmdb,$(ENGINE)),)
run:
	@echo "ENGINE is postgres or lmdb, which is meant without it; “$(ENGINE)” is neither." >&2; exit 2
else
run: setup
	@swift run -c release flight-log $(if $(DATA),--data "$(DATA)") $(ARGUMENTS)
endif

test: setup-tests
	@Scripts/test $(if $(STRICT),$(strict)) $(ARGUMENTS)

check-nsmanaged: setup
	@Scripts/check-nsmanaged $(ARGUMENTS)

check-dependents: setup
	@Scripts/check-dependents $(ARGUMENTS)

race: setup-tests
	@Scripts/sanitize thread $(ARGUMENTS)

asan: setup-tests
	@Scripts/sanitize address $(ARGUMENTS)

torture: setup
	swift run -c release Torture --minutes $(or $(MINUTES),60) $(if $(ONLY),--only $(ONLY)) $(if $(SEED),--seed $(SEED)) $(ARGUMENTS)

fuzz: setup
	@for decoder in $(or $(DECODER),row key uri model metadata predicate format xcode history log); do \
	  Tests/Fuzz/run $$decoder $(or $(SECONDS),60) || exit 1; done

check: setup-tests
	@Scripts/swift-files | xargs swift format lint --strict --parallel
	@Scripts/check-lengths
	@Scripts/check-rooms
	@Scripts/check-rules
	@Scripts/check-links
	@Scripts/check-throws
	@Scripts/check-layers
	@Scripts/check-products
	STRATA_TESTS=ModelMacroTests,SwiftDataMacroTests Scripts/once-more swift build --build-tests $(strict)
	Scripts/once-more swift build --build-tests $(strict)
	@Scripts/check-blocks --build .build/strict/debug
	@.build/strict/debug/PerformancePage --check
	@Scripts/docs $(strict)

docs: setup-tests
	@Scripts/docs $(if $(STRICT),$(strict)) $(ARGUMENTS)

format:
	@Scripts/swift-files | xargs swift format --in-place --parallel

bench:
	@Scripts/setup-bench
	swift run -c release --package-path Benchmarks $(if $(filter swiftdata,$(CARD)),swiftdata-bench,strata-bench) $(CARD) $(if $(filter graph queries,$(CARD)),$(if $(DATA),--data "$(DATA)")) $(if $(SIZES),--sizes $(SIZES)) $(ARGUMENTS)
	$(if $(or $(CARD),$(SIZES),$(ARGUMENTS),$(STRATA_BENCH_LOG)),,@$(MAKE) --no-print-directory performance TAKE=compare)

performance: setup
	@swift run --quiet PerformancePage $(if $(TAKE),--take $(TAKE)) $(if $(ADD),--add $(ADD)) $(ARGUMENTS)

bench-gate: setup
	@Scripts/bench-gate $(ARGUMENTS)
