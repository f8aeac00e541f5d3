#!/usr/bin/env bash
# Builds every peer, runs all of them in turn for some rounds, and prints a table.
#
#     bench/peers/run.sh                 three rounds, all peers
#     bench/peers/run.sh 5               five rounds
#     PEERS="superstep juncture" bench/peers/run.sh
#
# Writes the results to bench/peers/results.jsonl. A peer that does not build is reported and left out.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

rounds="${1:-3}"
peers="${PEERS:-superstep graph-flow tinyagents juncture adk-graph langgraph}"
target="${CARGO_TARGET_DIR:-$PWD/target}"

built=()
for peer in $peers; do
    if cargo build --quiet --release --locked --jobs "${JOBS:-1}" --package "peer-$peer"; then
        built+=("$peer")
    else
        echo "NOT BUILT, left out: $peer" >&2
    fi
done
cargo build --quiet --release --locked --jobs "${JOBS:-1}" --package measure

: > results.jsonl
before="$(cut -d' ' -f1-3 /proc/loadavg)"
for ((round = 1; round <= rounds; round++)); do
    for peer in "${built[@]}"; do
        # If a peer fails, its earlier lines stay in the results.
        "$target/release/peer-$peer" >> results.jsonl || echo "FAILED in round $round: $peer" >&2
    done
done

echo
echo "CPU microseconds for each node execution: median of $rounds rounds (minimum–maximum)."
echo "$(date -u +%F), $(nproc) cores, load before $before, after $(cut -d' ' -f1-3 /proc/loadavg), $(rustc --version)"
echo
"$target/release/table" results.jsonl
