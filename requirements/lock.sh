#!/usr/bin/env bash
# Resolve all dependencies once, and write a file of exact versions with hashes for each set that is installed.
# The files hold no addresses: each machine's own package index serves them.
set -euo pipefail
cd "$(dirname "$0")/.."
compile=(uv pip compile pyproject.toml --universal --fork-strategy fewest --python-version 3.11 --generate-hashes --no-header --no-annotate
  --no-emit-index-url --quiet "$@")
"${compile[@]}" --all-extras --constraint requirements/one-version.in --output-file requirements/all.txt
# The smaller sets take their versions from the whole one.
"${compile[@]}" --extra demo --extra studio --constraint requirements/all.txt --output-file requirements/demo.txt
"${compile[@]}" --extra dev --constraint requirements/all.txt --output-file requirements/dev.txt
"${compile[@]}" --extra dev --extra speech --extra vision --extra text requirements/models.in --constraint requirements/all.txt \
  --output-file requirements/models.txt
