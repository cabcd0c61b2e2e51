# Everything one does with OpenCrab. Environments are made on demand from the locks in
# requirements/, and a stamp file in each says that it is complete.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup up test test-web test-interop screenshots soak test-deployed test-aws test-live check audit crash money scale hostile worlds mutants bench bench-learning bench-peers bench-web docs build validate deploy prices release lock format

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_NO_INPUT := 1

ARGS ?=
BIN := .venv/bin
PYTHONS := python3 python3.13 python3.12 python3.11

# The development environment holds all that running needs, so it serves for both once it is there.
RUNNABLE := $(if $(wildcard .venv/.dev),.venv/.dev,.venv/.runtime)

# Prints the first line of help of every target.
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-13s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

# Only prepares: the other targets do this themselves when they need it.
setup: .venv/.dev .venv-llama/.model .venv-sdk/.ready .venv-a2a/.ready .venv-schemathesis/.ready .venv-docs/.ready .venv-audit/.ready .node/.ready .node-mcp/.ready .node-ag-ui/.ready .venv-webhooks/.ready .venv-telegram/.ready .venv-mail/.ready ## Install everything for development

# Replaces its shell, so that signals reach OpenCrab itself.
up: $(RUNNABLE) ## Run OpenCrab here (ARGS="--port 9000 --data d")
	@exec $(BIN)/opencrab up $(ARGS)

# On every core, a file of tests at a time and in their order, since sorted by their number the few
# slow ones would come last. The peers that some tests speak to live in environments of their own:
# they pin other versions. Bytecode is kept, whatever the shell says: each worker would compile seven
# hundred modules for pytest, and each process that a test starts the package.
test soak test-deployed: export PYTHONDONTWRITEBYTECODE :=
# Files of tests lie in memory where 4 GB of it are free: they ask the disk to sync thousands of times.
# pytest reads this variable; without a value it takes the usual folder.
test soak: export PYTEST_DEBUG_TEMPROOT := $(shell df -k /dev/shm 2>/dev/null | awk 'NR == 2 && $$4 > 4000000 { print "/dev/shm" }')
test: setup ## Run the tests (ARGS="-k name"); pytest's summary is the last line
	@$(BIN)/python -m pytest -q -n auto --dist loadfile --no-loadscope-reorder $(ARGS)

# A part of `make test`, for whoever changes the page. Without Chromium and its driver it says so.
test-web: .venv/.dev .node/.ready ## Test the dashboard in Chromium
	@$(BIN)/python -m pytest -q -rs -n auto --dist loadfile tests/integration/browser tests/unit/gateways/rest/page $(ARGS)

# A part of `make test`, for whoever changes a protocol; it says which counterpart is not installed.
test-interop: setup ## Test against clients and servers that others wrote
	@$(BIN)/python -m pytest -q -rs -n auto --dist loadfile tests/interop $(ARGS)

# For README and docs/dashboard.md; from a furnished installation of its own.
screenshots: .venv/.dev ## Take the pictures of the dashboard anew (ARGS=folder)
	@$(BIN)/python -m tests.screenshots $(ARGS)

# What `make test` tries a share of, in full; tests/soak.py holds the counts. With ARGS only tests run.
soak: setup ## Run everything at length, for a night (ARGS="-k name")
	@OPENCRAB_SOAK=1 $(BIN)/python -m pytest -q -n auto --dist loadfile --no-loadscope-reorder $(ARGS)
	@[ -n "$(ARGS)" ] || $(MAKE) --no-print-directory crash
	@[ -n "$(ARGS)" ] || $(MAKE) --no-print-directory money
	@[ -n "$(ARGS)" ] || $(MAKE) --no-print-directory hostile

# Needs neither docker nor an AWS account: an emulator takes the template, AWS's runtime the functions.
# Most of the time it waits for them: one worker has the stack, the other pages that deploy their own.
test-deployed: .venv/.dev .venv-sam/.ready .venv-ministack/.ready .venv-rie/.ready ## Deploy to an emulator of AWS and test there
	@$(BIN)/python -m pytest -q -m deployed -n 2 tests/deployed tests/emulated $(ARGS)

# In an AWS account of yours, which OPENCRAB_TEST_AWS names: ten minutes, some cents, and nothing stays.
test-aws: .venv/.dev .venv-sam/.ready ## Test what only AWS itself can settle (CONTRIBUTING.md says how)
	@$(MAKE) --no-print-directory build ARGS=
	@$(BIN)/python -m tests.deployed.smoke

# Costs a few cents. OPENCRAB_LIVE_PROVIDER and OPENCRAB_LIVE_MODEL name whom to ask.
test-live: .venv/.dev ## Test a real model (CONTRIBUTING.md says which)
	@$(BIN)/python -m pytest -q -m live tests/live $(ARGS)

# The quickest first: whatever needs no test to be seen. CI says TESTS_FOLLOW=1, as all tests do.
check: .venv/.dev .node/.ready ## Check format, lint, types and architecture
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy
	@[ -n "$(TESTS_FOLLOW)" ] || $(BIN)/python -m tests.page_types
	@$(BIN)/lint-imports
	@[ -n "$(TESTS_FOLLOW)" ] || $(BIN)/python -m pytest -q tests/architecture

# Needs no network: advisories come from infra/audit/advisories.json, which ARGS=--refresh renews.
# `make test` runs it too, in tests/infra/audit.
audit: .venv/.dev .venv-audit/.ready ## Look for vulnerable packages, secrets, licences; write the SBOM
	@.venv-audit/bin/python -m infra.audit $(ARGS)

# Stops a turn at every point where it could stop, and looks at what is left.
crash: .venv/.dev ## Explore every crash point of a turn
	@$(BIN)/python -m tests.crash.explore $(ARGS)

# A million steps take some minutes; ARGS="--conflicts 70" lets most writes fail.
money: .venv/.dev ## Look for a cent beyond the budget
	@$(BIN)/python -m tests.money.simulate $(ARGS)

# Turns by the thousand on a table in memory, in time of its own; some minutes.
scale: .venv/.dev ## Simulate turns that meet at one budget, and what waits for the sweep
	@$(BIN)/python -m tests.scale.run $(ARGS)

# Any action, any arguments, any order. 50,000 steps and the seeded bugs take some minutes.
hostile: .venv/.dev ## Let a hostile model do what it likes
	@$(BIN)/python -m tests.hostile.run $(ARGS)

# Four minutes, more with ARGS="--hour 60 --kills 40"; the suite lives a quarter of a day.
worlds: .venv/.dev ## Live a day in the demo world, with kills
	@$(BIN)/python -m tests.integration.local.world_day $(ARGS)

# Half an hour on two cores; ARGS="--only ID" seeds one. What reaches a mutant is kept in
# tests/mutants/reach.json; ARGS="--map" finds it anew, in as long as all tests take.
mutants: .venv/.dev ## Seed faults and see whether a test notices
	@$(BIN)/python -m tests.mutants.run $(ARGS)

# The generated pages first, then the site in English and Japanese, with every warning an error.
docs: .venv/.dev .venv-docs/.ready ## Write the reference and build the site (site/)
	@$(BIN)/python -m tests.docs.glossary
	@$(BIN)/python -m tests.docs.reference.pages
	@NO_MKDOCS_2_WARNING=1 .venv-docs/bin/mkdocs build --quiet --strict $(ARGS)

# Ours beside textbook learners in made-up worlds; ARGS="--family own --seeds 1-3 --jobs 2
# --results FILE". Lives go to FILE as they end, and a run goes on where the last one stopped.
bench-learning: .venv/.dev ## Measure learning beside textbook learners
	@$(BIN)/python -m tests.bench.worlds $(ARGS)

# Runs alone, so that nothing else disturbs the clock.
bench: .venv/.dev ## Measure speed against the budgets
	@$(BIN)/python -m tests.bench.run $(ARGS)

# Makes an environment for each of them, a gigabyte in all; ARGS=--write puts the table into
# docs/benchmarks.md. One that does not install or run is left out with the reason.
bench-peers: .venv/.dev ## Measure other agents' turn beside ours
	@$(BIN)/python -m tests.bench.peers.run $(ARGS)

# Needs Chromium; ARGS=--write puts the table into docs/benchmarks.md. Some minutes.
bench-web: .venv/.dev ## Measure the dashboard in Chromium
	@$(BIN)/python -m tests.bench.dashboard $(ARGS)

# Needs neither docker nor an AWS account. layers/dependencies/Makefile says what it fetches.
# ACTIONS is a folder of custom actions, which goes into the layer (docs/how-to/write-an-action.md).
build: .venv-sam/.ready ## Build the functions and layers for AWS (ACTIONS=folder)
	@actions="$(ACTIONS)"; case "$$actions" in ""|/*) ;; *) actions="$(CURDIR)/$$actions";; esac; \
	$(tell_uv_of_index); \
	SAM_CLI_TELEMETRY=0 ACTIONS="$$actions" .venv-sam/bin/sam build $(ARGS)

# Needs no network and no AWS account. docs/design/template-rules.md lists the rules.
validate: .venv/.dev .venv-template/.ready ## Check the templates, before and after the transform
	@$(BIN)/python -m tests.template.validate $(ARGS)

# Looks before it builds; asks only the first time. The owner's key stays on this computer. CONFIG=file is the
# settings file to upload; else ~/.config/opencrab/aws-STAGE.toml, or config.toml beside it.
deploy: .venv-sam/.ready $(RUNNABLE) ## Build and deploy to AWS (ARGS="--stage prod")
	@.venv-sam/bin/python -m infra.deploy --check $(ARGS)
	@$(MAKE) --no-print-directory build ARGS=
	@.venv-sam/bin/python -m infra.deploy $(ARGS)

# At build time only: the library that knows them is large, and slow to load. ARGS="--upgrade" on
# `make lock` fetches a newer one.
prices: .venv-prices/.ready ## Write config/models.json, the public prices of models
	@.venv-prices/bin/python -m infra.prices

# Sets the version, writes what it stores (tests/stored) and closes the changelog; tags and pushes nothing.
release: .venv/.dev ## Prepare a release (ARGS=0.3.0)
	@$(BIN)/python -m tests.stored --release "$(ARGS)"

# Changes the files in place, as editors and the commit hook do.
format: .venv/.dev ## Format the code and fix what can be fixed
	@$(BIN)/ruff check --quiet --fix-only .
	@$(BIN)/ruff format --quiet .

# One resolution for every supported Python and system; keeps what is locked unless told otherwise.
lock: .venv-uv/.ready ## Write the locks again (ARGS="--upgrade" for newer versions)
	@$(COMPILE) requirements/uv.in --output-file requirements/uv.txt
	@$(COMPILE) pyproject.toml --group build --output-file requirements/runtime.txt
	@$(COMPILE) pyproject.toml --extra aws --extra relay --group dev --constraint requirements/runtime.txt --output-file requirements/dev.txt
	@$(COMPILE) requirements/llama.in --output-file requirements/llama.txt
	@$(COMPILE) requirements/sdk.in --output-file requirements/sdk.txt
	@$(COMPILE) requirements/a2a.in --output-file requirements/a2a.txt
	@$(COMPILE) requirements/webhooks.in --output-file requirements/webhooks.txt
	@$(COMPILE) requirements/telegram.in --output-file requirements/telegram.txt
	@$(COMPILE) requirements/mail.in --output-file requirements/mail.txt
	@$(COMPILE) requirements/schemathesis.in --output-file requirements/schemathesis.txt
	@$(COMPILE) requirements/docs.in --output-file requirements/docs.txt
	@$(COMPILE) requirements/sam.in --output-file requirements/sam.txt
	@$(COMPILE) requirements/template.in --output-file requirements/template.txt
	@$(COMPILE) requirements/ministack.in --output-file requirements/ministack.txt
	@$(COMPILE) requirements/rie.in --output-file requirements/rie.txt
	@$(COMPILE) requirements/prices.in --output-file requirements/prices.txt
	@$(COMPILE) requirements/audit.in --output-file requirements/audit.txt
	@for peer in openai-agents pydantic-ai nanobot hermes; do \
	  $(COMPILE) requirements/peer-$$peer.in --output-file requirements/peer-$$peer.txt || exit 1; done
	@$(COMPILE_LAMBDA) requirements/lambda.in --constraint requirements/dev.txt --output-file requirements/lambda.txt

LOCKING = .venv-uv/bin/uv pip compile --quiet --python .venv-uv/bin/python \
	--generate-hashes --no-emit-index-url --custom-compile-command 'make lock' $(ARGS)
COMPILE = $(LOCKING) --universal --python-version 3.11
COMPILE_LAMBDA = $(LOCKING) --python-version 3.13 --python-platform aarch64-manylinux_2_28 --only-binary :all:

.venv/.runtime: requirements/runtime.txt pyproject.toml | .venv-uv/.ready
	$(call install,.venv,$<,--editable .)
	@touch $@

.venv/.dev: requirements/dev.txt pyproject.toml | .venv-uv/.ready
	$(call install,.venv,$<,--editable .)
	@touch $@

# Two run the functions, so they take Lambda's own Python where there is one; schemathesis parses
# sources in two threads, which Python before 3.11.8 and 3.12.2 does not bear (gh-106905).
.venv-ministack/.ready .venv-rie/.ready .venv-schemathesis/.ready: PYTHONS = python3.13 \
	$(wildcard $(shell pyenv root 2>/dev/null)/versions/3.13*/bin/python3.13) python3 python3.12 python3.11

.venv-%/.ready: requirements/%.txt | .venv-uv/.ready
	$(call install,.venv-$*,$<)
	@touch $@

# The model is made of our own pages, in English and Japanese: which, tests/llama/model/corpus.py says.
.venv-llama/.model: .venv-llama/.ready $(wildcard tests/llama/model/*.py tests/llama/model/*.jinja)
	@echo "making a language model for the tests"
	@.venv-llama/bin/python -m tests.llama.model.build .venv-llama/model.gguf
	@touch $@

# For tests of the page in a browser, of the types of its modules and of MCP servers alone: without Node, or
# where npm fetches nothing, they are left out. npm compares each package with the hash in the lock, and runs
# no script of any.
.node/.ready: tests/integration/browser/node/package-lock.json
	$(call install_node,.node,$<,accessibility and types of the dashboard)

.node-mcp/.ready: tests/interop/node/package-lock.json
	$(call install_node,.node-mcp,$<,MCP servers)

.node-ag-ui/.ready: tests/interop/node_ag_ui/package-lock.json
	$(call install_node,.node-ag-ui,$<,AG-UI)

# uv installs everything else, in a twentieth of pip's time. What it cannot, or where it is not to be
# had, pip does: as a wheel or not at all, since to build it takes a compiler of Rust.
.venv-uv/.ready: requirements/uv.txt
	@set -eu; $(find_python); export PIP_ONLY_BINARY=:all:; \
	{ $(call install_with_pip,.venv-uv,$<); } || echo "no uv here: pip installs, and takes longer" >&2; \
	mkdir -p .venv-uv
	@touch $@

# $(call install,FOLDER,LOCK[,PROJECT]): make FOLDER unless its Python runs, and install exactly
# what LOCK names.
define install
	@set -eu; echo "installing $(2) into $(1)"; $(find_python); \
	if [ -x .venv-uv/bin/uv ] && { $(call install_with_uv,$(1),$(2),$(3)); }; then exit; fi; \
	$(call install_with_pip,$(1),$(2),$(3))
endef

define find_python
python=; \
	for candidate in $(PYTHONS); do \
	  if "$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; \
	  then python="$$candidate"; break; fi; \
	done; \
	if [ -z "$$python" ]; then \
	  echo "OpenCrab needs Python 3.11 or newer; none of $(PYTHONS) is one (make PYTHONS=/path/to/python)" >&2; \
	  exit 1; \
	fi
endef

# uv knows nothing of pip's settings, and is told of an index of one's own. Its address may hold a password
# that ends, so it is asked for each time and written nowhere.
define tell_uv_of_index
index="$${PIP_INDEX_URL:-$$( \
	for each in .venv-uv/bin/python python3; do "$$each" -m pip config list 2>/dev/null && break; done \
	| sed -n "s/.*[.]index-url='\(.*\)'$$/\1/p" | tail -n 1)}"; \
	if [ -n "$$index" ]; then export UV_DEFAULT_INDEX="$${UV_DEFAULT_INDEX:-$$index}"; fi
endef

define install_with_uv
$(tell_uv_of_index); \
	{ $(1)/bin/python -c '' >/dev/null 2>&1 || .venv-uv/bin/uv venv --quiet --clear --python "$$(command -v "$$python")" $(1); } && \
	.venv-uv/bin/uv pip install --quiet --python $(1)/bin/python --no-deps --require-hashes --requirement $(2) $(if $(3),--compile-bytecode && \
	.venv-uv/bin/uv pip install --quiet --python $(1)/bin/python --no-deps --no-build-isolation $(3))
endef

# Debian may lack ensurepip; then the pip outside installs into the folder. What uv made has none either.
define install_with_pip
if ! $(1)/bin/python -c '' >/dev/null 2>&1; then \
	  if "$$python" -c 'import ensurepip' >/dev/null 2>&1; \
	  then "$$python" -m venv --clear $(1); \
	  else "$$python" -m venv --clear --without-pip $(1); fi; \
	fi && \
	if $(1)/bin/python -c 'import pip' >/dev/null 2>&1 || $(1)/bin/python -m ensurepip >/dev/null 2>&1; \
	then pip="$(1)/bin/python -m pip"; \
	else pip="$$python -m pip --python $(1)/bin/python"; fi && \
	$$pip install -qq --no-deps --require-hashes --requirement $(2) $(if $(3),&& \
	$$pip install -qq --no-deps --no-build-isolation $(3))
endef

# $(call install_node,FOLDER,LOCK,TESTS): install exactly what LOCK names, or say which tests are left out.
define install_node
	@mkdir -p $(1) && cp $(dir $(2))package.json $(dir $(2))package-lock.json $(1)/
	@if ! command -v npm >/dev/null 2>&1; \
	then echo "no npm here: tests of $(3) are left out"; \
	else echo "installing $(2) into $(1)"; \
	  if npm ci --prefix $(1) --ignore-scripts --no-audit --no-fund --loglevel=error; \
	  then touch $(1)/.ready; else echo "npm failed: tests of $(3) are left out" >&2; fi; fi
endef
