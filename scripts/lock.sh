#!/bin/sh
# Writes constraints.txt with the exact versions that `make setup` installs.
# Installs the package with its tools into a new environment and freezes it. Pins in the current
# constraints.txt are kept if they are still valid. With --upgrade, all except pyspark are resolved again.
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
