# The front door: one command each. CMakePresets.json has the flags, tools/ has the work.

PREFIX ?= /usr/local
JOBS   ?= $(shell nproc)
PRESET ?= release
.DEFAULT_GOAL := help

# What one checkout has compiled serves the next: paths are relative in the compiler's cache.
export CCACHE_BASEDIR ?= $(CURDIR)
export CCACHE_NOHASHDIR ?= 1

.PHONY: help
help:  ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# Where `make run` serves the embedded engine to redis-cli; off: nowhere.
REDIS_PORT ?= 6390

.PHONY: run
run: build  ## Build, start live push on the embedded engine, and print its URL
	build/release/holdfast serve --redis-port $(REDIS_PORT)

.PHONY: build
build:  ## Build the release binary, build/release/holdfast, and what is installed with it
	@tools/setup build library
	@cmake --preset release >/dev/null
	@cmake --build build/release --parallel $(JOBS) --target holdfast_app holdfast_pages

.PHONY: build-time
build-time:  ## Say where the time of the last build went, of PRESET (release)
	@tools/build_time $(PRESET)

.PHONY: test
test:  ## Build and run every test, sanitizer and check
	@tools/setup
	@JOBS=$(JOBS) tools/test

.PHONY: bench
bench:  ## Build and run the benchmarks
	@tools/setup build library tests
	@JOBS=$(JOBS) tools/bench

.PHONY: faultlab
faultlab:  ## Contenders on real servers under real faults, SECONDS (60) a cell; writes build/faultlab
	@tools/setup
	@cmake --preset dev >/dev/null
	@cmake --build build/dev --parallel $(JOBS) --target faultlab_worker faultlab_history \
	  holdfast_shifted_clock
	python3 -B test/faultlab/lab.py --worker build/dev/test/faultlab/faultlab_worker \
	  --history build/dev/test/faultlab/faultlab_history \
	  --clock build/dev/test/support/libholdfast_shifted_clock.so \
	  --seconds $(SECONDS) --jobs 4 --json build/faultlab.json --report build/faultlab

.PHONY: asan
asan:  ## Only the tests under the address and undefined behaviour sanitizers
	@tools/setup
	@JOBS=$(JOBS) tools/test asan

.PHONY: tsan
tsan:  ## Only the tests under the thread sanitizer
	@tools/setup
	@JOBS=$(JOBS) tools/test tsan

SECONDS ?= 60

.PHONY: fuzz
fuzz:  ## Search for SECONDS (60) each for input that a reader of input cannot take
	@tools/setup
	@cmake --preset fuzz >/dev/null
	@cmake --build build/fuzz --parallel $(JOBS) --target fuzzers
	tools/fuzz --seconds $(SECONDS)

.PHONY: sim
sim:  ## Simulate faults for SECONDS (60), or so many SEEDS, from seeds drawn at random
	@tools/setup build library
	@cmake --preset release >/dev/null
	@cmake --build build/release --parallel $(JOBS) --target holdfast_sim
	build/release/holdfast-sim --any --jobs $(JOBS) \
	  $(if $(SEEDS),--seeds $(SEEDS),--seconds $(SECONDS))

.PHONY: mutants
mutants:  ## Build in each bug on purpose, and see that the simulation finds it
	@tools/setup build library
	@cmake --preset mutants >/dev/null
	@cmake --build build/mutants --parallel $(JOBS) --target holdfast_sim
	tools/mutants --program build/mutants/holdfast-sim --jobs $(JOBS)

OPERATIONS ?= 1000000

.PHONY: models
models:  ## A million random operations of each limiter against its model, embedded and on Redis
	@tools/setup
	@cmake --preset dev >/dev/null
	@cmake --build build/dev --parallel $(JOBS) --target limiter_model_test permit_model_test \
	  limiter_redis_model_test
	HOLDFAST_MODEL_OPERATIONS=$(OPERATIONS) build/dev/test/traffic/limiter_model_test
	HOLDFAST_MODEL_OPERATIONS=$(OPERATIONS) build/dev/test/traffic/permit_model_test
	HOLDFAST_MODEL_OPERATIONS=$(OPERATIONS) build/dev/test/traffic/limiter_redis_model_test

.PHONY: tidy
tidy:  ## clang-tidy over the library and the command line
	@tools/setup
	@JOBS=$(JOBS) tools/test tidy

.PHONY: style
style:  ## The fast style check (also part of make test)
	@tools/tidy

.PHONY: format
format:  ## Rewrite the C++ sources with clang-format
	@tools/setup checks
	@tools/format

.PHONY: format-check
format-check:  ## Say which C++ sources clang-format would rewrite
	@tools/setup checks
	@tools/format --check

.PHONY: install
install: build  ## Install the library and the command line below PREFIX (/usr/local)
	cmake --install build/release --prefix $(PREFIX)

.PHONY: clean
clean:  ## Remove everything that was built
	rm -rf build
