#!/bin/sh
# Runs both sides and compares them. `OURS` is the command that prints our lines, without arguments of its own.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=${PARITY_DIR:-${TMPDIR:-/tmp}/superstep-parity}
ours=${OURS:-cargo run --quiet --package superstep --example parity --}
mkdir -p "$work"
if [ ! -x "$work/venv/bin/python" ]; then
    python3 -m venv "$work/venv"
fi
"$work/venv/bin/pip" install --quiet --disable-pip-version-check langgraph==1.2.20
"$work/venv/bin/python" "$here/reference.py" "$here/cases.json" > "$work/reference.jsonl"
$ours "$here/cases.json" > "$work/ours.jsonl"
$ours "$here/cases.json" --strict > "$work/strict.jsonl"
status=0
python3 "$here/compare.py" "$here/cases.json" "$work/reference.jsonl" "$work/ours.jsonl" || status=1
python3 "$here/compare.py" "$here/cases.json" "$work/reference.jsonl" "$work/strict.jsonl" --strict || status=1
exit $status
