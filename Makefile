# `make demo` and `make test` set up what they need, once, in .venv.
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin
KERNEL_TESTS := $(RUN)/python -m pytest -n 2 -m kernels
QUICK_TESTS := tests/test_house.py tests/data tests/encoding tests/coloring tests/graph
CHECKED := NUMBA_BOUNDSCHECK=1

MINUTES ?= 10

.PHONY: demo test check lint unit bytecode benchmark fuzz soak audit lock clean clean-kernels

demo: bytecode
	$(RUN)/chromatic demo

# Commands start in two thirds of the time. Python itself writes none where PYTHONDONTWRITEBYTECODE is set.
bytecode: $(VENV)/.ready
	$(RUN)/python -m compileall -q src

test: $(VENV)/.ready-to-test lint unit
	@echo "make test: all passed"

# The inner loop, under a minute once kernels and types are cached: linters, rules of the house, kernels and their twins.
check: lint
	HYPOTHESIS_PROFILE=quick $(RUN)/python -m pytest -n 2 -m 'kernels or house' $(QUICK_TESTS)
	@echo "make check: all passed; make test runs the rest"

lint: $(VENV)/.ready-to-test
	$(RUN)/ruff check .
	$(RUN)/ruff format --check .
	$(RUN)/mypy
	$(RUN)/lint-imports --no-cache

# Two processes of tests fill two cores: threads of libraries beside them would wait for each other, busily.
unit: export OMP_NUM_THREADS = 1
unit: export OPENBLAS_NUM_THREADS = 1

# The kernels' tests run three times: compiled, compiled with checked bounds, and as plain Python.
unit: $(VENV)/.ready-to-test $(VENV)/.browser $(VENV)/.java bytecode
	$(RUN)/chromatic warmup # once, and not by each of the two that test
	$(RUN)/python -m pytest -n 2 --dist loadgroup
	$(CHECKED) HYPOTHESIS_PROFILE=short $(KERNEL_TESTS)
	NUMBA_DISABLE_JIT=1 HYPOTHESIS_PROFILE=short $(KERNEL_TESTS)

benchmark: $(VENV)/.ready-to-test
	$(RUN)/chromatic benchmark table
	$(RUN)/chromatic benchmark
	$(RUN)/chromatic benchmark growth --rows 400000
	$(RUN)/chromatic benchmark spark

# Damaged input by the million (docs/reliability.md); what fails tells the seed that runs it alone.
fuzz: $(VENV)/.ready-to-test
	HYPOTHESIS_PROFILE=long $(RUN)/python -m pytest -n 2 -m kernels
	$(RUN)/python fuzz/run.py text --minutes $(MINUTES)
	$(CHECKED) $(RUN)/python fuzz/run.py text --minutes $(MINUTES)
	$(CHECKED) $(RUN)/python fuzz/run.py models --minutes $(MINUTES)
	$(RUN)/python fuzz/run.py tables --minutes $(MINUTES)

# Two hundred processes killed at random moments; eight threads that encode for MINUTES.
soak: $(VENV)/.ready-to-test
	KILLS=200 $(RUN)/python -m pytest tests/cli/test_faults.py
	$(RUN)/python fuzz/soak.py --minutes $(MINUTES)

# Known weaknesses of what the tests run on; it needs the internet.
audit: $(VENV)/.ready-to-test
	$(RUN)/python -m pip install --quiet pip-audit
	$(RUN)/pip-audit -r requirements.lock --disable-pip --require-hashes

# Each package of the tests with the SHA-256 of its files. uv does not read pip's settings, so they are handed on.
lock: $(VENV)/.ready-to-test
	env UV_FIND_LINKS="$$PIP_FIND_LINKS" $${PIP_CERT:+SSL_CERT_FILE="$$PIP_CERT"} \
		UV_CUSTOM_COMPILE_COMMAND="make lock" $(RUN)/uv pip compile pyproject.toml --extra all --extra dev -c constraints.txt \
		--generate-hashes --no-annotate --python $(RUN)/python --quiet -o requirements.lock
	sed -i 's/+cpu / /' requirements.lock # an index may call the same file by its plain version

clean-kernels:
	find src -name '*.kernel' -delete

clean: clean-kernels
	rm -rf $(VENV)

# Without pip in it a virtual environment needs nothing but python3; pip then comes by the outer pip.
$(RUN)/python:
	$(PYTHON) -m venv --without-pip $(VENV)
	$(PYTHON) -m pip --python $(RUN)/python install --quiet pip

$(VENV)/.ready: pyproject.toml constraints.txt | $(RUN)/python
	$(RUN)/python -m pip install --quiet -c constraints.txt -e '.[report]'
	touch $@

# By the lock, with the hash of every file, where it was made for this system; the rest as the constraints have it.
$(VENV)/.ready-to-test: pyproject.toml constraints.txt requirements.lock | $(RUN)/python
	$(RUN)/python -m pip install --quiet --require-hashes -r requirements.lock || \
		echo "requirements.lock is not for this system: constraints.txt alone holds"
	$(RUN)/python -m pip install --quiet -c constraints.txt -e '.[all,dev]'
	touch $@ $(VENV)/.ready

# Spark is tested on a cluster of its own. Where there is no Java, root installs Debian's; else its tests are skipped.
$(VENV)/.java: | $(RUN)/python
	@command -v java >/dev/null || [ "$$(id -u)" != 0 ] || { export DEBIAN_FRONTEND=noninteractive; \
		apt-get -qq update && apt-get -qq install -y --no-install-recommends default-jre-headless; \
		} >/dev/null 2>&1 || true
	@touch $@

# Reports are tested in a browser. Where there is none, root installs Debian's; else these tests are skipped.
$(VENV)/.browser: | $(RUN)/python
	@command -v chromium >/dev/null || [ "$$(id -u)" != 0 ] || { export DEBIAN_FRONTEND=noninteractive; \
		apt-get -qq update && apt-get -qq install -y --no-install-recommends chromium; } >/dev/null 2>&1 || true
	@touch $@
