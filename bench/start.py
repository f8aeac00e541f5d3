#!/usr/bin/env python3
"""Measures the startup time of `superstep` and the memory of an idle server.

    cargo build --profile dist -p superstep-cli
    python3 bench/start.py target/dist/superstep

Prints one line for each measurement with its goal, and exits with 1 if a goal is missed. Needs only the standard
library; the server listens on a free port of this machine and is stopped at the end.
"""

import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

ROUNDS = 20
# Time limit in seconds of a response and of the shutdown of the server.
TIMEOUT = 30


def command_line(program: str) -> float:
    """Returns the median duration of `superstep version` in milliseconds."""
    times = []
    for _ in range(ROUNDS):
        started_at = time.perf_counter()
        subprocess.run([program, "version"], check=True, stdout=subprocess.DEVNULL)
        times.append((time.perf_counter() - started_at) * 1000)
    return statistics.median(times)


def server(program: str) -> tuple[float, float]:
    """Returns the milliseconds until a new server responds, and its resident memory in MB after an idle second."""
    with tempfile.TemporaryDirectory() as folder:
        started_at = time.perf_counter()
        child = subprocess.Popen(
            [program, "serve", "--port", "0"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        try:
            url = child.stdout.readline().strip()
            with urllib.request.urlopen(f"{url}/ok", timeout=TIMEOUT) as response:
                assert response.status == 200
            ready = (time.perf_counter() - started_at) * 1000
            time.sleep(1)
            with open(f"/proc/{child.pid}/status") as status:
                resident = next(line for line in status if line.startswith("VmRSS"))
            return ready, int(resident.split()[1]) / 1024
        finally:
            child.terminate()
            try:
                child.wait(timeout=TIMEOUT)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait(timeout=TIMEOUT)


def main() -> int:
    program = str(pathlib.Path(sys.argv[1]).resolve())
    measured = [server(program) for _ in range(5)]
    measures = [
        ("command line, median", command_line(program), 50, "ms"),
        ("server ready, median", statistics.median(ready for ready, _ in measured), 200, "ms"),
        ("server idle, maximum", max(memory for _, memory in measured), 30, "MB"),
    ]
    for name, value, goal, unit in measures:
        print(f"{name:22} {value:7.1f} {unit}   (goal: under {goal} {unit})")
    return int(any(value >= goal for _, value, goal, _ in measures))


if __name__ == "__main__":
    sys.exit(main())
