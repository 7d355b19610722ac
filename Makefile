# Every target sets up what it needs: a virtual environment in .venv with the Rust core built into it.
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin
RUST_TESTS := --package anabranch-bpf --package anabranch-core
TOOLS := $(VENV)/tools
# Exactly the packages of a file in requirements/, which make lock writes. What builds packages is in build.txt: pip must not choose it.
PIP := -m pip install --quiet --disable-pip-version-check --no-build-isolation
INSTALL := $(PIP) --use-pep517 --require-hashes --requirement
SOURCES := $(shell find crates -name '*.rs' -o -name '*.json' -o -name 'Cargo.toml') Cargo.toml Cargo.lock pyproject.toml

.DEFAULT_GOAL := help
.PHONY: help demo core programs wheel ready test lint docs lock audit validate spraying testbed kernel fuzz kills mutants bench papers guard drill clean

help: ## this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

$(VENV)/installed: $(SOURCES) requirements/build.txt requirements/dev.txt
	@PYTHON=$(PYTHON) tools/check-prerequisites
	@echo 'Installing into $(VENV): the first time takes some minutes.'
	@test -x $(RUN)/python || $(PYTHON) -m venv $(VENV)
	$(RUN)/python $(INSTALL) requirements/build.txt
	$(RUN)/python $(INSTALL) requirements/dev.txt
	PATH="$(abspath $(RUN)):$$PATH" $(RUN)/python $(PIP) --no-deps --editable .
	@touch $@

$(TOOLS)/installed: requirements/tools.txt
	@test -x $(TOOLS)/bin/python || $(PYTHON) -m venv $(TOOLS)
	$(TOOLS)/bin/python $(INSTALL) requirements/tools.txt
	@touch $@

demo: $(VENV)/installed ## the main job: what packet spraying does to TCP, from Seattle to Atlanta
	$(RUN)/anabranch run scenarios/abilene.toml --out runs/abilene

core: ## compile a changed core within seconds into the package of .venv, without optimisation (Linux); make test compiles it for speed
	@test -e $(VENV)/installed || $(MAKE) $(VENV)/installed
	PYO3_PYTHON=$(abspath $(RUN)/python) cargo build --locked --quiet --package anabranch-python
	cp $(or $(CARGO_TARGET_DIR),target)/debug/lib_core.so python/anabranch/_core.abi3.so

programs: ## compile the congestion controls of bpf/ into the package (apt-get install clang llvm libbpf-dev)
	$(MAKE) --directory bpf

wheel: $(VENV)/installed ## a wheel for any Linux with glibc 2.28 (2018) in dist/, tried in an empty environment with the README's main job
	$(RUN)/python $(INSTALL) requirements/wheel.txt
	rm -rf dist
	$(RUN)/python -m distribution.build
	$(RUN)/python -m distribution.try_wheel dist/*.whl

ready: ## what the tests need: the package with its core, and the compiled tests
	@PYTHON=$(PYTHON) tools/check-prerequisites
	@# One processor links the core for speed while another compiles its tests.
	@cargo test --locked --quiet --no-run $(RUST_TESTS) & tests=$$!; \
	$(MAKE) --no-print-directory $(VENV)/installed && wait $$tests || { kill $$tests 2>/dev/null; exit 1; }

test: ready ## all tests, of Rust and Python
	cargo test --locked --quiet $(RUST_TESTS)
	cargo test --locked --quiet --profile dev --package anabranch-emulator
	$(RUN)/python -m pytest --numprocesses auto --dist worksteal

lint: $(VENV)/installed ## formatting, lints and types
	cargo fmt --check
	cargo clippy --locked --quiet --workspace --all-targets -- -D warnings
	$(RUN)/ruff check .
	$(RUN)/ruff format --check .
	$(RUN)/mypy

docs: $(VENV)/installed ## the documentation as a site with search, in docs/_build
	$(RUN)/python -m sphinx -q -W --keep-going -b html -c docs . docs/_build
	@echo 'Open docs/_build/index.html'

lock: $(TOOLS)/installed ## write the newest Python packages, with hashes, to requirements/; make installs these
	$(TOOLS)/bin/python -m distribution.lock

audit: $(VENV)/installed $(TOOLS)/installed ## licences, sources and known vulnerabilities of all dependencies (cargo install --locked cargo-deny)
	$(RUN)/python -m distribution.audit

validate: $(VENV)/installed ## compare with formulas, ns-2 (apt-get install ns2) real Linux (make kernel) and the simulator of Ultra Ethernet (HTSIM_UEC=htsim_uec); writes docs/validation/comparisons.md
	PROPTEST_CASES=5000 cargo test --locked --quiet --package anabranch-core
	PROPTEST_CASES=10000 cargo test --locked --release --quiet --package anabranch-core --lib packet::properties::agreement
	$(RUN)/python -m validation
	$(RUN)/python -m validation.predict judge

spraying: $(VENV)/installed ## this machine's own Linux over sprayed paths, beside the simulator, with a report (as root; ten minutes)
	$(RUN)/anabranch compare scenarios/real-linux-spraying.toml --engines kernel,packet --out runs/real-linux-spraying

testbed: $(VENV)/installed ## TCPBP's SDN testbed, live, and its tables (as root; apt-get install openvswitch-switch iperf3; forty minutes)
	$(RUN)/python -m testbed --out runs/testbed
	cp runs/testbed/testbed.md runs/testbed/testbed.csv runs/testbed/testbed-routes.json papers/tcpbp/

kernel: $(VENV)/installed ## build the Linux 6.1 that make validate compares with (apt-get install flex bison bc; some minutes)
	$(RUN)/python -m bench.peers.linux.kernel

fuzz: $(VENV)/installed ## 20,000 random scenarios, whose results must not contradict one another; 10,000 predictions of others; 7,000 broken files; 1,000,000 broken programs
	PROPTEST_CASES=500000 cargo test --locked --release --quiet --package anabranch-bpf mutations
	$(RUN)/python -m bench.fuzz

kills: $(VENV)/installed ## 1,000 kills of commands at random moments, which may lose no result; 50 of the kernel engine, which may leave nothing behind; 100 of a sweep
	$(RUN)/python -m bench.kills
	KERNEL_KILLS=50 $(RUN)/python -m pytest tests/engines/test_kernel_engine.py -k killed
	SWEEP_KILLS=100 $(RUN)/python -m pytest tests/studies/test_sweep_kills.py -k undisturbed

mutants: ## change sender, detection, link and routing in ways that tests must notice (cargo install cargo-mutants); ONLY=tcp/sender SHARD=0/8 runs a sample
	cargo mutants --package anabranch-core --output bench/.build $(if $(SHARD),--sharding round-robin --shard $(SHARD)) $(if $(ONLY),-F '$(ONLY)')

bench: $(VENV)/installed ## measure beside ns-2 and ns-3 (apt-get install ns2 libns3-dev), htsim (HTSIM=a built checkout) and graph libraries; writes docs/development/performance.md and docs/models/routing.md
	$(RUN)/python $(INSTALL) requirements/bench.txt
	$(RUN)/python -m bench.routes
	$(RUN)/python -m bench.bench
	$(RUN)/python -m bench.cases
	$(RUN)/python -m bench.scale
	$(RUN)/python -m bench.waiting

papers: $(VENV)/installed ## reproduce five papers in full (about an hour on two cores; may be interrupted and goes on); writes papers/*/README.md
	$(RUN)/anabranch paper all --out runs/papers
	for study in runs/papers/*/README.md; do \
		folder=$$(dirname $$study); target=papers/$$(basename $$folder | tr - _); rm -rf $$target/figures; cp -r $$study $$folder/figures $$target/; \
	done

guard: $(VENV)/installed ## count imported modules and the engine's instructions (apt-get install valgrind), and compare with bench/startup.toml and bench/instructions.toml
	$(RUN)/python -m bench.startup
	$(RUN)/python -m bench.instructions

drill: $(VENV)/installed ## run the scripts of a packetdrill checkout (SCRIPTS=packetdrill/gtests/net/tcp); writes docs/validation/drill.md
	$(RUN)/python -m bench.drill $(SCRIPTS) --page

clean: ## removes what make has made
	rm -rf $(VENV) target dist bench/.build docs/_build python/anabranch/bundle
