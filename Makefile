# Everything runs in a local virtual environment, so that a fresh machine needs only Python 3.11+, git and make.
VENV ?= .venv
PY := $(VENV)/bin/python
CORE := $(VENV)/.core
STAMP := $(VENV)/.installed
DEMO := $(VENV)/.demo
SITE := $(VENV)/.site
WHEEL := $(VENV)/.wheel
LOWEST := .venv-lowest
# The MovingAI maps, if they lie beside the project.
export TIMEBOUND_MAPS ?= $(abspath $(wildcard ../shared/movingai))

.PHONY: demo test browser lint types kernels-1 kernels-2 compiled compiled-1 compiled-2 interpreted quick coverage doctest docs site wheel bench deadlines fuzz lowest lowest-smoke clean help

help:  ## What can be made
	@grep -E '^[a-z-]+:.*##' Makefile | sed 's/:.*## /\t/' | expand -t 14

$(PY):
	python3 -c 'import sys; sys.exit(sys.version_info < (3, 11) and "timebound needs Python 3.11 or newer")'
	python3 -m venv $(VENV)

# What kernels are compiled with, and its versions: while they are compiled, the tools for the tests are installed.
$(CORE): pyproject.toml | $(PY)
	$(PY) -m pip install --quiet --no-compile -e .
	$(PY) -m pip freeze | sed -n -E '/^(llvmlite|numba|numpy)==/p' > $(CORE)

$(STAMP): $(CORE)
	$(PY) -m pip install --quiet --no-compile --constraint $(CORE) -e '.[dev]'
	touch $(STAMP) $(DEMO)

# The demo needs little, and is a first look: it should not wait for test tools.
$(DEMO): pyproject.toml | $(PY)
	$(PY) -m pip install --quiet --no-compile -e '.[images]'
	touch $(DEMO)

demo: $(DEMO)  ## Race the searches on a generated map and draw their paths
	$(PY) -m timebound.cli demo -o out

# Two at a time (three take longer on two cores): first two processes compile the kernels, each those of other kinds of
# worlds; the second begins when all is installed. The tests without the JIT need none and begin when one of the two is
# done, those with it when both are; of these, the second part begins when a core is free again. Each tells what it has
# to say at its end.
PARTS := kernels-1 $(STAMP) kernels-2 lint types browser coverage
test: $(CORE)  ## All tests, style and types
	$(MAKE) --no-print-directory -j2 --output-sync=target AHEAD='kernels-1 kernels-2' $(PARTS)

browser: $(STAMP)  ## A browser for the viewer's tests: found, or installed where that can be done
	@$(PY) tests/browsers.py

lint: $(STAMP)  ## Style
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/lint-imports --no-logo --no-cache

types: $(STAMP)  ## Types
	$(VENV)/bin/mypy

# Terrains have most kernels in common: compiled by one process, they are compiled once.
KERNELS := $(PY) -c 'import sys; from timebound.warmup import warm; warm(kinds=sys.argv[1:])'
kernels-1: $(CORE)
	$(KERNELS) terrain 'steep terrain' puzzle

# Of agents that are watched, those that the tests and examples watch; all others only with the JIT off.
kernels-2: $(CORE)
	$(KERNELS) grid graph
	$(PY) -c 'from timebound.warmup import WATCHED, warm; warm(kinds=[WATCHED], algorithms=["a*", "lrta*", "k-lrta*"])'

# Each run of the tests leaves the lines that it saw in a file of its own: marks in the code, for a tracer takes long.
PYTEST_MARKED := PYTHONPATH=$(CURDIR)/tests $(PY) -m pytest -p line_marks
PYTEST_COMPILED := $(PYTEST_MARKED) --doctest-modules --doctest-glob='*.md' -m 'not once'
# In two parts, so that no core is left alone with all of them.
FIRST_PART := $(wildcard tests/test_[a-p]*.py tests/test_rea*.py)
compiled: compiled-1 compiled-2  ## All examples, and the tests but for those in which no kernel plays a part

compiled-1: $(STAMP) $(AHEAD)
	COVERAGE_FILE=.coverage.compiled-1 $(PYTEST_COMPILED) src/timebound docs $(FIRST_PART)

compiled-2: $(STAMP) $(AHEAD)
	COVERAGE_FILE=.coverage.compiled-2 $(PYTEST_COMPILED) $(filter-out $(FIRST_PART),$(wildcard tests/test_*.py))

interpreted: $(STAMP) browser  ## The tests with the JIT off, which sees inside the kernels; but for those that only call them
	COVERAGE_FILE=.coverage.interpreted NUMBA_DISABLE_JIT=1 $(PYTEST_MARKED) -m 'not compiled' tests

coverage: interpreted compiled  ## Both runs of the tests, and which lines neither of them saw
	$(PY) -m coverage combine --quiet --keep .coverage.interpreted .coverage.compiled-1 .coverage.compiled-2
	$(PY) -m coverage report --skip-covered --fail-under=90

quick: $(STAMP)  ## All tests, compiled
	$(PY) -m pytest tests

doctest: $(STAMP)  ## The examples in the docstrings
	$(PY) -m pytest --doctest-modules src/timebound

docs: $(STAMP)  ## The examples in the documentation (the README's own is among the tests)
	$(PY) -m pytest --doctest-glob='*.md' docs

$(SITE): pyproject.toml | $(PY)
	$(PY) -m pip install --quiet -e '.[docs]'
	touch $(SITE)

# Kernels are imported for their docstrings and draw small pictures: nothing need be compiled for that.
site: $(SITE)  ## The documentation as web pages, in out/site; a warning is an error
	rm -rf out/site out/site-pages
	NUMBA_DISABLE_JIT=1 $(PY) docs/pages.py out/site-pages
	NUMBA_DISABLE_JIT=1 $(PY) -m sphinx -W --keep-going --nitpicky -q -c docs -d out/site-pages/.doctrees out/site-pages out/site
	@echo 'the site: out/site/index.html'

$(WHEEL): pyproject.toml | $(PY)
	$(PY) -m pip install --quiet --no-compile -e . hatchling
	touch $(WHEEL)

# What was compiled before an interruption is not compiled again.
wheel: $(WHEEL)  ## A wheel for this Python with compiled kernels inside, a pure one and the sources, in dist; minutes
	$(PY) .ci/wheel.py

bench: $(STAMP)  ## Speed, as ratios to other libraries within one run; some 30 minutes
	$(PY) -m pip install --quiet -e '.[bench]'
	$(PY) benchmarks/run.py
	$(PY) benchmarks/fleet.py
	$(PY) benchmarks/crowds.py
	$(PY) benchmarks/fields.py
	$(PY) benchmarks/traces.py
	$(PY) benchmarks/chase.py
	$(PY) benchmarks/viewer.py
	$(MAKE) --no-print-directory wheel
	$(PY) benchmarks/first_minute.py

deadlines: $(STAMP)  ## How long single steps take under 1 ms, and what 10,000 agents take; some 20 minutes
	$(PY) benchmarks/deadlines.py
	$(PY) benchmarks/deadlines.py --memory 10000
	$(PY) benchmarks/memory.py

fuzz: $(STAMP)  ## Damaged files, hostile databases, edits, threads: minutes of everything that can come in
	$(PY) fuzz/run.py

# An environment of its own, with kernels of its own: one Numba's are nothing to another.
$(LOWEST)/.installed: pyproject.toml .ci/lowest.py
	python3 -m venv $(LOWEST)
	$(LOWEST)/bin/python .ci/lowest.py > $(LOWEST)/lowest.txt
	$(LOWEST)/bin/python -m pip install --quiet -c $(LOWEST)/lowest.txt -e '.[all]' 'pytest>=8' 'hypothesis>=6.100'
	touch $@

lowest: $(LOWEST)/.installed  ## The tests with the lowest versions that pyproject.toml allows
	NUMBA_CACHE_DIR=$(CURDIR)/$(LOWEST)/kernels $(LOWEST)/bin/python -m pytest tests

lowest-smoke: $(LOWEST)/.installed  ## A few quick ones of them
	NUMBA_CACHE_DIR=$(CURDIR)/$(LOWEST)/kernels $(LOWEST)/bin/python -m pytest tests/test_lowest.py

clean:  ## Remove what was made
	rm -rf $(VENV) $(LOWEST) out build dist .coverage* .pytest_cache .mypy_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
