# Two commands do everything on a fresh machine: make prove, and make test.

VENV := .venv/bin
SHELL := /bin/sh

# The project's own binaries; those with a fault, in binaries/faults, are for the tests.
BINARIES ?= $(sort $(filter-out binaries/faults/%,$(wildcard binaries/*/*.so)))
KERNELS ?= kernels
PYTEST_ARGS ?=
# More files whose instructions validation-record compares, kernels for example.
VALIDATE ?=

.PHONY: help setup setup-qemu prove test test-every-fault test-long lint format bench docs readme binaries lock \
	validation-record cost fetch-kernels prove-kernels clean

help: ## Print this list
	@printf 'make TARGET [PYTHON=/path/to/python3.12]\n\n'
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-15s %s\n", $$1, $$2 }' Makefile

prove: setup ## Prove every property of the binaries that come with the project
	$(VENV)/vdso-verify prove $(BINARIES)

test: setup setup-qemu ## Run the tests
	$(VENV)/python -m pytest --numprocesses auto --dist worksteal $(PYTEST_ARGS)

test-every-fault: setup setup-qemu ## Run the tests of the faulty binaries that test leaves out
	$(VENV)/python -m pytest -m every_fault --numprocesses auto --dist worksteal $(PYTEST_ARGS)

test-long: setup setup-qemu ## Run the campaigns that take minutes
	$(VENV)/python -m pytest -m long $(PYTEST_ARGS)

lint: setup ## Check style and types
	$(VENV)/ruff check
	$(VENV)/ruff format --check
	$(VENV)/mypy

format: setup ## Rewrite the sources in the project's style
	$(VENV)/ruff check --fix
	$(VENV)/ruff format

bench: setup ## Measure the prover and write the table into README.md
	$(VENV)/python -m scripts.bench

docs: setup setup-qemu ## Write what commands print, and their help, into README.md and docs
	$(VENV)/python -m scripts.commands
	$(VENV)/python -m scripts.transcripts
	$(VENV)/python -m scripts.ci_samples

readme: setup ## Write the table of the kernels proved last into README.md
	$(VENV)/python -m scripts.kernels_table $(KERNELS)/verdicts.json

binaries: setup ## Rebuild the project's own binaries
	$(VENV)/python -m binaries.build

fetch-kernels: setup ## Download the kernels that Debian ships now into kernels
	$(VENV)/vdso-verify fetch debian --arch loong64 --arch ppc64el -o $(KERNELS)

prove-kernels: setup ## Prove what fetch-kernels downloaded
	$(VENV)/vdso-verify prove --json $(KERNELS)/verdicts.json $(KERNELS)/*.deb

validation-record: setup setup-qemu ## Compare instruction forms with QEMU and write the record
	$(VENV)/vdso-verify validate-lifter --record --trials 0 --contract chacha20 --contract getrandom \
		$(foreach file,$(BINARIES) $(or $(wildcard $(VALIDATE)),$(VALIDATE)),--binary $(file))

cost: setup setup-qemu ## Count the instructions of getrandom and write the tables of docs/cost.md
	mkdir -p $(KERNELS)
	$(VENV)/vdso-verify cost --json $(KERNELS)/cost.json $(filter %/getrandom.so %/getrandom_64k.so,$(BINARIES)) \
		$(wildcard $(KERNELS)/*.deb) || [ $$? -eq 3 ]
	$(VENV)/python -m scripts.cost_table $(KERNELS)/cost.json

lock: setup ## Resolve the dependencies anew into requirements.lock
	scripts/lock --upgrade

clean: ## Remove what the other targets made, except .venv and downloaded kernels
	rm -rf build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache
	rm -rf *.egg-info
	find binaries specs tests verify -name __pycache__ -type d -prune -exec rm -rf {} +

setup: ## Make .venv from requirements.lock
	@scripts/setup

setup-qemu:
	@scripts/setup-qemu
