# Fixie's commands. `make run` and `make test` need nothing but Python 3.11+ and make.
PYTHON ?= python3
PORT ?= 8000
VAR ?= var
BIN := .venv/bin
export PORT VAR

.DEFAULT_GOAL := help
.PHONY: help run test interop lint format schema messages bench requirements clean

help: ## What there is
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: .venv/installed ## Start Fixie on this machine (PORT=8000 VAR=var)
	@$(BIN)/python manage.py up

test: .venv/installed-dev ## Run all tests
	@sh tests/system-packages
	@sh tests/environment fixieai
	@sh tests/environment swift
	$(BIN)/pytest -n 2 --dist loadfile

interop: .venv/installed-dev ## Ask agents of the published agentscope-runtime, and be asked by it (half a gigabyte)
	@CI=1 sh tests/environment agentscope
	$(BIN)/pytest tests/interop

lint: .venv/installed-dev ## Format, rules, types, layers, migrations
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	FIXIE_ENV=local DATABASE_URL=postgresql:///unused $(BIN)/mypy .
	$(BIN)/lint-imports
	$(BIN)/python manage.py makemigrations --check --dry-run

format: .venv/installed-dev ## Format the code and fix what can be fixed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

schema: .venv/installed-dev ## Print the GraphQL schema to docs/schema.graphql
	FIXIE_ENV=local DATABASE_URL=postgresql:///unused $(BIN)/python manage.py export_schema fixie_site.graphql --path docs/schema.graphql

messages: .venv/installed-dev ## Collect the texts of pages and scripts into locale/, and compile them (needs gettext)
	for domain in django djangojs; do $(BIN)/python manage.py makemessages -d $$domain -l de --no-location --no-obsolete \
		-i .venv -i .venvs -i var -i vendor -i tests -i benchmarks -i examples || exit 1; done
	$(BIN)/python manage.py compilemessages --locale de -v 0

bench: .venv/installed-dev ## Measure speed against the yardstick of the same run
	$(BIN)/python -m benchmarks

requirements: .venv/installed-dev ## Pin what requirements*.in ask for
	$(BIN)/pip-compile -q --strip-extras --no-emit-index-url --no-emit-find-links --no-header requirements.in
	$(BIN)/pip-compile -q --strip-extras --no-emit-index-url --no-emit-find-links --no-header requirements-dev.in

clean: ## Remove the virtual environments and caches (not $VAR)
	rm -rf .venv .venvs .mypy_cache .ruff_cache .pytest_cache .import_linter_cache

.venv/installed: requirements.txt requirements-model.txt
	@sh .ci/install "$(PYTHON)" requirements.txt requirements-model.txt $@

.venv/installed-dev: requirements.txt requirements-model.txt requirements-dev.txt
	@sh .ci/install "$(PYTHON)" requirements.txt requirements-model.txt requirements-dev.txt $@
