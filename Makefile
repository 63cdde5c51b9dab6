# Two commands matter: `make trial` puts the bundled broker on trial, `make test` runs every check of the project.

PYTHON  ?= python3
BIN     := .venv/bin
WORKERS ?= 4
FAST    := tests/structure/test_tree.py tests/structure/test_one_package.py tests/wire tests/histories tests/formats
FOLDERS := $(wildcard wire histories checkers faults reference_impl suites spark_analysis ci)
CHECKED := $(FOLDERS) $(wildcard tests bench campaigns release docs/site src/brokertrial/*.py)
RED     := $(BIN)/brokertrial run --target 'reference?mutant=M05' --select ordering/pipelined-sends

# Tests start hundreds of processes of ours: each would compile a thousand modules anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: trial test check lint types layers unit slow mutants differential prove prove-pairs releases track-record reference docs schema wheel release clean

trial: .venv/base
	$(BIN)/brokertrial run --target reference --profile smoke
	@echo
	@echo "To see a red one, a broker with one planted bug (exit status 1):"
	@echo "  $(RED)"

test: lint types layers unit

# Before a commit: what is cheap and finds most. `make test` is the whole.
check: lint types layers
	$(BIN)/python -P -m pytest -q -n $(WORKERS) $(FAST)

lint: .venv/dev
	$(BIN)/ruff check $(CHECKED)

types: .venv/dev
	$(BIN)/mypy src tests bench campaigns

layers: .venv/dev
	$(BIN)/lint-imports

# Four at a time on two cores (tests wait more than they work), a file as a whole: processes that a file starts serve all its tests.
# Those that take long are begun first (the marker `long`).
unit: .venv/dev
	$(BIN)/python -P -m pytest -q -n $(WORKERS) --dist loadfile --no-loadscope-reorder

slow: .venv/dev
	$(BIN)/python -P -m pytest -q -m slow

# Every planted bug must be shown by a case that names it, five times of five; the healthy broker by none.
mutants: .venv/dev
	$(BIN)/python -P -m brokertrial.suites.proving.mutation --table docs/mutants.md

# Random sequences of requests, to Apache Kafka and to the bundled broker: the same answers (needs Java and Maven).
differential: .venv/dev
	$(BIN)/brokertrial explore --target reference --against kafka:4.4.0 --minutes 30

# The proof record: on Apache Kafka the cases that are not proven or due for renewal, then the planted bugs and edited
# answers that were not seen yet (needs Java and Maven; an hour for all). Say it again to go on. One target at a time:
#   make prove ON='kafka:3.9.2'        make prove ON=reference
prove: .venv/dev
	$(BIN)/python -P -m brokertrial.suites.proving.prove $(foreach target,$(ON),'$(target)'); proven=$$?; \
	$(BIN)/python -P -m brokertrial.ci.reference_pages >/dev/null; exit $$proven

# The same of pairs of case and situation (suites/situations/pairs.json):
#   make prove-pairs     make prove-pairs ON='kafka:4.4.0?nodes=3 --situation stop,crash'
prove-pairs: .venv/dev
	$(BIN)/python -P -m brokertrial.suites.proving.prove_pairs $(ON)

# Every case on every release of Apache Kafka since 3.3, and which do not pass where (needs Java and Maven; hours the first
# time). Verdicts are kept in runs/kafka-releases: say it again to go on. Some releases, or wire cases alone (minutes each):
#   make releases ON='3.6.2 4.0.1'     make releases ON=--wire
releases: .venv/dev
	$(BIN)/python -P -m brokertrial.suites.proving.releases $(ON)

# Bugs that released brokers had: which cases find them (needs Java and Maven, and Go for kfake; hours the first time).
# Verdicts are kept in runs/track-record: say it again to go on. Some bugs of the list alone:
#   make track-record ON='name-never-free pattern-given-up'
track-record: .venv/dev
	$(BIN)/python -P -m brokertrial.suites.proving.track_record.score $(ON)

# The pages of docs/reference/, from the code.
reference: .venv/dev
	$(BIN)/python -P -m brokertrial.ci.reference_pages

# The site for users, in build/site: it opens from the disk; a broken link is an error.
docs: .venv/docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "build/site/index.html"

# Follows a release of Kafka: its message definitions and error codes become our schema text (needs Maven and a JDK).
schema: .venv/dev
	$(BIN)/python -m brokertrial.wire.schema_from_kafka $$($(BIN)/python -m brokertrial.suites.targets.apache $(KAFKA))

# Not with a proof that is due for renewal: what was changed last has not been seen to pass on Apache Kafka.
wheel: .venv/dev
	@$(BIN)/python -P -m brokertrial.suites.proving.prove --marked
	$(BIN)/python -m build

# A release in this checkout: version, changelog, packages in dist/, tag. It says how to publish it. make release VERSION=0.2.0
release: .venv/dev
	$(BIN)/python -P release/__main__.py $(VERSION)

clean:
	rm -rf .venv dist build

# The environment, in two sizes; made again when what it is made from changes.
.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit("brokertrial needs Python 3.11 or newer; $(PYTHON) is " + sys.version.split()[0] + ". Try: make PYTHON=python3.12 ..." if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv .venv

.venv/base: pyproject.toml constraints.txt | .venv/bin/python
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable .
	@touch $@

.venv/docs: pyproject.toml constraints.txt | .venv/bin/python
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[docs]'
	@touch $@

.venv/dev: pyproject.toml constraints.txt | .venv/bin/python
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $@ .venv/base .venv/docs
