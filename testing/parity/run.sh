#!/bin/sh
# Runs both sides and compares them. `PYTHON` is an interpreter with langgraph (`cargo xtask parity` creates one),
# `OURS` the command that prints our lines, without arguments.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=${PARITY_DIR:-${TMPDIR:-/tmp}/superstep-parity}
ours=${OURS:-cargo run --quiet --package superstep --example parity --}
python=${PYTHON:-python3}
mkdir -p "$work"
"$python" "$here/reference.py" "$here/cases.json" > "$work/reference.jsonl"
$ours "$here/cases.json" > "$work/ours.jsonl"
$ours "$here/cases.json" --strict > "$work/strict.jsonl"
status=0
"$python" "$here/compare.py" "$here/cases.json" "$work/reference.jsonl" "$work/ours.jsonl" || status=1
"$python" "$here/compare.py" "$here/cases.json" "$work/reference.jsonl" "$work/strict.jsonl" --strict || status=1
exit $status
