# All commands of this repository. `make` alone lists them.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.penstock-setup
# The newest Spark that the package accepts: test-long runs on it too.
NEXT_SPARK ?= 4.3.0
NEXT := .venv-next
NEXT_STAMP := $(NEXT)/.penstock-setup-$(NEXT_SPARK)
# Further arguments for pytest or a benchmark: make test ARGS="-k timers -x"
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help setup java demo test test-fast test-slowest test-long test-next check format lock bench-process bench-state bench-savepoint bench-savepoints-running bench-latency bench-buffer-timeout bench-async bench-windows bench-yahoo bench-peers-process pyflink-examples pyflink-tests bench-cep clean bench-exactly-once chaos soak diagnose-situations bench-start bench-sql bench-nexmark

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-19s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(STAMP) ## create .venv and install the package with its tools

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	  || { echo "Penstock needs Python 3.11 or newer as '$(PYTHON)'. Install it, or run: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,bench]'
	@touch $@

java:
	@sh scripts/check_java.sh

demo: setup java ## run the demo job on a local Spark
	$(BIN)/penstock demo

test: setup java ## run all tests except the long ones, in random order (SEED=N repeats an order)
	$(BIN)/python scripts/run_tests.py $(if $(SEED),--seed $(SEED)) $(ARGS)

test-fast: setup ## run the tests that need no JVM and are not slow
	$(BIN)/python scripts/run_tests.py --fast $(if $(SEED),--seed $(SEED)) $(ARGS)

test-slowest: setup ## list the slowest tests of the last run
	$(BIN)/python scripts/slowest_tests.py $(ARGS)

test-long: setup java test-next pyflink-examples ## run the long tests, on the locked Spark and on the next one
	$(BIN)/pytest -m long --hypothesis-profile=random $(ARGS)
	if [ -d ../shared/conformance ]; then $(BIN)/pytest tests/conformance/test_conformance.py --cases ../shared/conformance; fi

pyflink-tests: setup java ## run PyFlink's own tests: FLINK_GIT=<git directory of a clone of apache/flink>
	@test -n "$(FLINK_GIT)" || { echo "Set FLINK_GIT to the git directory of a clone of apache/flink: make pyflink-tests FLINK_GIT=../flink/.git" >&2; exit 1; }
	$(BIN)/python -m tests.pyflink_suite.run "$(FLINK_GIT)" $(ARGS)

pyflink-examples: setup ## download the examples of PyFlink, which a long test runs
	$(BIN)/python scripts/fetch_pyflink_examples.py

test-next: $(NEXT_STAMP) java ## run the long tests and those of Spark on the next Spark
	$(NEXT)/bin/pytest -m "long or spark" $(ARGS)

$(NEXT_STAMP): pyproject.toml constraints.txt
	@test -x $(NEXT)/bin/python || $(PYTHON) -m venv $(NEXT)
	@sed 's/^pyspark==.*/pyspark==$(NEXT_SPARK)/' constraints.txt > $(NEXT)/constraints.txt
	$(NEXT)/bin/python -m pip install --quiet --disable-pip-version-check -c $(NEXT)/constraints.txt -e '.[dev,bench]'
	@touch $@

check: setup ## lint, format, types, import layers, links, diagrams and words
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python scripts/check_docs.py
	$(BIN)/python scripts/check_architecture.py
	$(BIN)/python scripts/make_layers_picture.py --check
	$(BIN)/python scripts/check_words.py

format: setup ## format the code and fix what the linter can fix
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

lock: ## write constraints.txt from a new environment
	sh scripts/lock.sh

bench-process: setup java ## keyed process function, compared with transformWithState
	$(BIN)/python bench/process.py $(ARGS)

bench-savepoint: setup java ## savepoints of 1 GB and 5 GB: write, restore, rescale
	$(BIN)/python bench/savepoint.py $(ARGS)

bench-state: setup java ## large state: up to 10 million keys
	$(BIN)/python bench/state.py $(ARGS)

bench-latency: setup java ## latency at 1,000 events/s
	$(BIN)/python bench/latency.py $(ARGS)

bench-start: setup java ## seconds to the first result, compared with plain PySpark
	$(BIN)/python bench/start.py $(ARGS)

bench-buffer-timeout: setup java ## latency and processor time by buffer timeout
	$(BIN)/python bench/buffer_timeout.py $(ARGS)

bench-savepoints-running: setup java ## ten savepoints of a job at 20,000 events/s with 1 million keys
	$(BIN)/python bench/savepoints_running.py $(ARGS)

bench-cep: setup java ## a pattern of three steps over 100,000 keys
	$(BIN)/python bench/cep.py $(ARGS)

bench-async: setup java ## 200,000 lookups of 50 ms, compared with the ideal time
	$(BIN)/python bench/async_io.py $(ARGS)

diagnose-situations: setup java ## run twelve slow or healthy jobs and check what penstock diagnose reports
	$(BIN)/python -m tests.system.diagnosis.run $(ARGS)

chaos: setup java ## Kafka to Kafka and files, exactly once, while processes and servers are killed
	$(BIN)/python -m tests.system.chaos.run $(ARGS)

soak: setup java ## three jobs for two hours: memory, threads, file handles and files stay flat
	$(BIN)/python -m tests.system.soak.run $(ARGS)

bench-exactly-once: setup java ## cost of the delivery guarantees of the Kafka sink
	$(BIN)/python bench/exactly_once.py $(ARGS)

bench-windows: setup java ## windows of named aggregates, compared with Spark
	$(BIN)/python bench/windows.py $(ARGS)

bench-yahoo: setup java ## the Yahoo streaming benchmark from Kafka, with six other systems
	$(BIN)/python bench/yahoo.py $(ARGS)

bench-sql: setup java ## Nexmark queries in SQL from Kafka, compared with Flink SQL
	$(BIN)/python bench/sql.py $(ARGS)

bench-nexmark: setup java ## all of Nexmark and four patterns from Kafka, compared with Flink SQL
	$(BIN)/python bench/nexmark_bench.py $(ARGS)

bench-peers-process: setup java ## a keyed process function from Kafka, with other systems
	$(BIN)/python bench/peers_process.py $(ARGS)

clean: ## remove .venv, caches and build output
	rm -rf $(VENV) $(NEXT) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	rm -rf spark-warehouse metastore_db derby.log
	find src tests bench scripts -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
