# make run   sets up .venv and does the main job        make test   sets up, lints, tests
# make check lints and runs what a change needs most, in three minutes; ROOMS="io graph" names its rooms
# make bench measures against other libraries           make docs   builds the documentation into site/
# make test-gpu runs tests and times on the GPUs of this machine, and writes build/gpu-report.json
# make mutants puts small faults into the compiler, the exchange and the validators, and sees whether tests notice
# make test-lowest runs the tests of the core with the oldest packages that pyproject.toml allows
# make chaos kills, stops, limits and damages what runs, for half an hour or so; other moments with SEED=2
# make fuzz  compares thousands of random programs with an oracle: PROGRAMS=3000 SEED=1 MINUTES=60 (CONTRIBUTING.md)
# make test-networkx runs all of NetworkX's own tests through the backend, with and without NetworkX to fall back on
# make test-mpich runs the tests of ranks with MPICH, whose wheel does not fit into one environment with Open MPI's
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
OUT    ?= build
# Tests in so many processes at once; most of them use one core, and none minds company.
JOBS   ?= 2
PYTEST := $(BIN)/python -m pytest --numprocesses $(JOBS) --dist worksteal

# The folder with the binaries of the GAP Benchmark Suite, if make bench-gap should run them too.
GAP    ?=

# How many random programs make fuzz checks, from which seed on (another each time without it), and the most minutes
# (of make mutants, too).
PROGRAMS ?= 3000
SEED     ?=
MINUTES  ?= 60

.PHONY: run test check chaos fuzz mutants test-gpu test-lowest test-mpich test-networkx lint style format bench bench-load bench-gap bench-abstraction bench-dialects bench-partition bench-bfs-grid bench-papers bench-lux bench-planner bench-rebalance bench-hive bench-jobs docs clean bench-networkx bench-plug bench-spark packager bench-library

run: $(VENV)/.installed
	@mkdir -p $(OUT)
	$(BIN)/arcflux generate kron:18 $(OUT)/kron-18.arcflux
	@echo
	$(BIN)/arcflux run pagerank $(OUT)/kron-18.arcflux --repeat 3 --validate --top 10 --out $(OUT)/ranks.csv
	@echo
	$(BIN)/arcflux run bfs $(OUT)/kron-18.arcflux --source 101327 --repeat 3 --validate --out $(OUT)/levels.csv

# Numba has its simulator of GPUs when it is imported, or never: its tests are a process of their own.
# mypy takes one core for a minute or more: the tests begin beside it.
test: style
	$(BIN)/mypy & types=$$!; $(PYTEST) --ignore=tests/gpu; tests=$$?; wait $$types && exit $$tests
	NUMBA_ENABLE_CUDASIM=1 $(PYTEST) tests/gpu
	$(PYTEST) tests/gpu

ROOMS ?=
check: lint
	$(BIN)/python tests/check.py $(ROOMS)

test-gpu: $(VENV)/.installed-dev $(VENV)/.installed-cuda
	$(BIN)/python benchmarks/gpu_report.py --out $(OUT)/gpu-report.json

MUTANTS ?= 60
mutants: $(VENV)/.installed-mutation
	$(BIN)/python tests/mutation/run.py --count $(MUTANTS) --seed $(or $(SEED),1) --minutes $(MINUTES) --out $(OUT)/mutation

# Each >= of the project's own dependencies taken for ==.
test-lowest:
	$(PYTHON) -m venv $(VENV)-lowest
	$(VENV)-lowest/bin/python -m pip install --quiet --disable-pip-version-check --editable . \
		$$(sed -n '/^dependencies/{s/>=/==/g;s/^dependencies = \[//;s/, "tomli.*//;s/[",]//g;p}' pyproject.toml) \
		pytest pytest-xdist hypothesis networkx igraph pandas polars zstandard matplotlib pymetis
	$(VENV)-lowest/bin/python -m pytest --numprocesses $(JOBS) --dist worksteal tests/unit tests/conformance/test_back_ends.py \
		$(foreach room,benchmarks plan transports traversal,--ignore=tests/unit/$(room)) --ignore=tests/unit/test_docs.py

# One at a time: each test waits for processes, and stops some of them.
chaos: $(VENV)/.installed-dev
	ARCFLUX_TEST_SEED=$(or $(SEED),1) $(BIN)/python -m pytest -m chaos --ignore=tests/gpu tests

test-mpich: $(VENV)/.installed-dev
	$(PYTHON) -m venv $(VENV)-mpich
	$(VENV)-mpich/bin/python -m pip install --quiet --disable-pip-version-check --editable . mpi4py mpich
	ARCFLUX_TEST_MPICH=$(abspath $(VENV)-mpich/bin) $(BIN)/python -m pytest -k mpich tests/unit/transports

test-networkx: $(VENV)/.installed-dev
	ARCFLUX_NETWORKX_SUITE=whole $(BIN)/python -m pytest tests/unit/integrations

fuzz: $(VENV)/.installed-dev
	PYTHONPATH=tests/fuzz $(BIN)/python -m program_fuzzer --programs $(PROGRAMS) --minutes $(MINUTES) $(if $(SEED),--seed $(SEED)) --folder $(OUT)/fuzz

lint: style
	$(BIN)/mypy

style: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

format: $(VENV)/.installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# One after another, even with make -j: each wants the machine for itself.
bench:
	$(MAKE) bench-load
	$(MAKE) bench-gap
	$(MAKE) bench-abstraction
	$(MAKE) bench-dialects
	$(MAKE) bench-partition
	$(MAKE) bench-bfs-grid
	$(MAKE) bench-papers
	$(MAKE) bench-lux
	$(MAKE) bench-rebalance
	$(MAKE) bench-hive
	$(MAKE) bench-jobs
	$(MAKE) bench-planner
	$(MAKE) bench-networkx
	$(MAKE) bench-plug

bench-load: $(VENV)/.installed-bench
	$(BIN)/python benchmarks/load.py --folder $(OUT)

bench-gap: $(VENV)/.installed-bench
	$(BIN)/python benchmarks/gap.py --folder $(OUT)/gap $(if $(GAP),--gap $(GAP))

bench-abstraction: $(VENV)/.installed-bench
	$(BIN)/python benchmarks/abstraction.py

bench-dialects: $(VENV)/.installed-bench
	$(BIN)/python benchmarks/dialects.py

bench-partition: $(VENV)/.installed-bench
	$(BIN)/python benchmarks/partition.py

bench-bfs-grid: $(VENV)/.installed-bench
	$(BIN)/python benchmarks/bfs_grid.py

bench-papers: $(VENV)/.installed-bench
	$(BIN)/python benchmarks/papers.py

bench-lux: $(VENV)/.installed-bench
	$(BIN)/python benchmarks/lux.py
	$(BIN)/python benchmarks/lux_model.py

bench-rebalance: $(VENV)/.installed-bench
	$(BIN)/python benchmarks/rebalance.py

bench-hive: $(VENV)/.installed-bench
	$(BIN)/python benchmarks/hive.py

bench-jobs: $(VENV)/.installed-bench
	$(BIN)/python benchmarks/jobs.py pairs
	$(BIN)/python benchmarks/jobs.py ablations
	$(BIN)/python benchmarks/jobs.py devices

bench-planner: $(VENV)/.installed-bench
	$(BIN)/arcflux calibrate
	$(BIN)/python benchmarks/planner.py --folder $(OUT) --keep $(OUT)/planner-observed.json

bench-plug: $(VENV)/.installed-bench
	$(BIN)/python benchmarks/plug.py --folder $(OUT)/plug --json plug

bench-networkx: $(VENV)/.installed-bench
	$(BIN)/python benchmarks/networkx_backend.py --json networkx_backend

bench-library: $(VENV)/.installed-bench
	$(BIN)/python benchmarks/library.py

# The packager of docs/how-to/spark.md, into the cache; it is built when it is first needed anyway.
packager: $(VENV)/.installed-spark
	$(BIN)/python -m arcflux.spark.packager

bench-spark: $(VENV)/.installed-spark
	$(BIN)/python benchmarks/spark.py kron:14 kron:16 --out $(OUT)/spark.json

docs: $(VENV)/.installed-dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

clean:
	rm -rf $(VENV) $(VENV)-lowest $(VENV)-mpich $(OUT) site results

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "Arcflux needs Python 3.10 or newer; try make PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.installed-%: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$*]'
	@touch $@ $(VENV)/.installed
