# `make demo` and `make test` work on a bare Debian machine: what is missing is installed first.
# The steps are in tools/; a second run with nothing changed goes straight to the demo or tests.

PYTHON  ?= python3
EXAMPLE ?= digits
# CPP=0 leaves out the C++ suites; PYTEST_ARGS goes to pytest, as in PYTEST_ARGS="-k loops -x".
CPP     := 1
PYTEST_ARGS ?=

# Modules of CPython's own tests; all that tests/cpython/run.py lists when none is named.
TESTS ?=

# Random programs with loops, from this seed on.
N    ?= 2000
SEED ?= 0

.PHONY: help build demo test fuzz-loops test-cpython test-314 test-sanitize lint format wheel clean

help:
	@echo 'make demo  [EXAMPLE=digits]     build, then run examples/demo.py'
	@echo 'make test  [PYTHON=python3.13]  build, then run the C++ suites and the Python tests'
	@echo 'make fuzz-loops [N=20000] [SEED=0]  random functions with loops, compiled against plain Python'
	@echo 'make test-cpython [TESTS=...]   CPython'"'"'s own tests, every function compiled'
	@echo 'make test-314 [TARGETS="test test-cpython"]  on CPython 3.14, in a root of Debian unstable (as root)'
	@echo 'make build | test-sanitize | lint | format | wheel | clean'

build:
	@tools/with_build.sh $(PYTHON) extension true

demo:
	@tools/with_build.sh $(PYTHON) extension python examples/demo.py $(EXAMPLE)

test:
	@CPP=$(CPP) tools/with_build.sh $(PYTHON) $(if $(filter 0,$(CPP)),extension,all) tools/test.sh $(PYTEST_ARGS)

test-cpython:
	@tools/with_build.sh $(PYTHON) extension python tests/cpython/run.py $(TESTS)

fuzz-loops:
	@PYTHONPATH=tests tools/with_build.sh $(PYTHON) extension python -m fuzz -n $(N) --seed $(SEED)

# Debian unstable has CPython 3.14 and newer compilers. Its root is kept between runs.
TARGETS ?= test
test-314:
	@ROOT=/var/tmp/numlift-sid PYTHON=python3.14 tools/fresh_machine.sh sid $(TARGETS)

test-sanitize:
	@tools/test_sanitize.sh

lint:
	@tools/with_build.sh $(PYTHON) none python -m pytest tests/lint $(PYTEST_ARGS)

format:
	@git ls-files '*.h' '*.cpp' '*.c' | xargs clang-format-19 -i

wheel:
	@tools/with_build.sh $(PYTHON) none python -m pip wheel --no-deps --no-build-isolation -w dist .

clean:
	rm -rf build dist
