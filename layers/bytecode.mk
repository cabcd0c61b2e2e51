# Compiles the Python below a layer. Included by each layer's Makefile.
#
# SAM dates every file of its zip 1980, so ordinary bytecode would look stale and every cold start
# would compile again. Unchecked-hash bytecode is taken as it is; only the runtime's own minor
# version can write it.

# What Python the functions run on: 3.13 in Lambda, LAMBDA_PYTHON where they run on this computer.
LAMBDA_PYTHON ?= python3.13
PYENV_PYTHONS = $(wildcard $(shell pyenv root 2>/dev/null)/versions/3.13*/bin/python3.13)
IS_3_13 = import sys; sys.exit(sys.version_info[:2] != (3, 13))

ifndef ARTIFACTS_DIR
$(error ARTIFACTS_DIR is not set: run `make build`, or name the folder to fill)
endif

# $(call compile,FOLDER): tracebacks name files as they lie in Lambda, below /opt.
define compile
	@set -eu; \
	for python in $(LAMBDA_PYTHON) python3 $(PYENV_PYTHONS); do \
	  if [ "$$python" = "$(HOST_PYTHON)" ] || "$$python" -c '$(IS_3_13)' >/dev/null 2>&1; then \
	    PYTHONNODEBUGRANGES=1 exec "$$python" -m compileall -q --invalidation-mode unchecked-hash \
	      -s "$(ARTIFACTS_DIR)" -p /opt "$(1)"; \
	  fi; \
	done; \
	echo "no Python 3.13 here, so no bytecode: cold starts take two to three times as long" >&2
endef
