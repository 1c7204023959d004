#!/bin/sh
# Writes constraints.txt: the exact versions that `make setup` installs.
# It installs the package with its tools into a fresh environment and freezes that. Pins in the present
# constraints.txt are kept where they still fit; with --upgrade all but pyspark are chosen anew.
set -eu
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if [ "${1:-}" = --upgrade ]; then
    grep '^pyspark==' constraints.txt >"$work/pins.txt"
else
    cp constraints.txt "$work/pins.txt"
fi
"${PYTHON:-python3}" -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check -c "$work/pins.txt" -e '.[dev,bench]'
{
    echo "# The versions that Penstock is developed and tested with. Written by scripts/lock.sh; do not edit."
    "$work/venv/bin/pip" freeze --exclude-editable
} >"$work/constraints.txt"
cp "$work/constraints.txt" constraints.txt
