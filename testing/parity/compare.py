"""Compares the results of reference.py with ours: `compare.py cases.json reference.jsonl ours.jsonl [--strict]`.

A case with `"differs"` (or, in the strict profile, `"strict"`) must differ and end in the state `"expect"`
(`"expect_strict"`); every other case must be equal.
"""

import json
import sys


def lines(path):
    with open(path, encoding="utf-8") as file:
        return {line["id"]: line for line in map(json.loads, file)}


def differences(theirs, ours):
    """Returns the differences as (location, theirs, ours). The stream of each call is compared separately."""
    keys = ("final", "interrupts", "next", "ran")
    differing = [(key, theirs[key], ours[key]) for key in keys if theirs[key] != ours[key]]
    for index, (left, right) in enumerate(zip(theirs["calls"], ours["calls"])):
        for key in sorted((left.keys() | right.keys()) - {"parts"}):
            if left.get(key) != right.get(key):
                differing.append((f"call {index}: {key}", left.get(key), right.get(key)))
        # Parts of different modes may be interleaved differently; the order within each mode is compared.
        for mode in sorted({part[0] for part in left.get("parts", []) + right.get("parts", [])}):
            parts_of_mode = [[part[1:] for part in side.get("parts", []) if part[0] == mode] for side in (left, right)]
            if parts_of_mode[0] != parts_of_mode[1]:
                differing.append((f"call {index}: {mode}", *parts_of_mode))
    return differing


def main():
    strict = "--strict" in sys.argv
    paths = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
    with open(paths[0], encoding="utf-8") as file:
        cases = json.load(file)
    theirs, ours = lines(paths[1]), lines(paths[2])
    equal, known, wrong = 0, 0, 0
    for case in cases:
        reason = case.get("differs") or (strict and case.get("strict"))
        differing = differences(theirs[case["id"]], ours[case["id"]])
        if not differing and not reason:
            equal += 1
            continue
        expect = strict and case.get("expect_strict") or case.get("expect")
        if differing and reason and expect is not None and ours[case["id"]]["final"] != expect:
            differing, reason = [("final", expect, ours[case["id"]]["final"])], None
        result = "known" if differing and reason else "NEW" if differing else "STALE"
        known, wrong = known + (result == "known"), wrong + (result != "known")
        print(f"{result} {case['id']} ({case['spec']}) {case['name']}: {reason or ''}")
        if result == "NEW":
            for location, left, right in differing:
                print(f"    {location}\n      expected  {json.dumps(left)}\n      ours      {json.dumps(right)}")
    print(f"{len(cases)} cases: {equal} equal, {known} differ for a known reason, {wrong} wrong")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
