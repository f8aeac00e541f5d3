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
    found = [(key, theirs[key], ours[key]) for key in ("final", "interrupts", "next", "ran") if theirs[key] != ours[key]]
    for index, (left, right) in enumerate(zip(theirs["calls"], ours["calls"])):
        for key in sorted((left.keys() | right.keys()) - {"parts"}):
            if left.get(key) != right.get(key):
                found.append((f"call {index}: {key}", left.get(key), right.get(key)))
        # Parts of different modes may be interleaved differently; the order within each mode is compared.
        for mode in sorted({part[0] for part in left.get("parts", []) + right.get("parts", [])}):
            shown = [[part[1:] for part in side.get("parts", []) if part[0] == mode] for side in (left, right)]
            if shown[0] != shown[1]:
                found.append((f"call {index}: {mode}", *shown))
    return found


def main():
    strict = "--strict" in sys.argv
    paths = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
    with open(paths[0], encoding="utf-8") as file:
        cases = json.load(file)
    theirs, ours = lines(paths[1]), lines(paths[2])
    equal, known, wrong = 0, 0, 0
    for case in cases:
        reason = case.get("differs") or (strict and case.get("strict"))
        found = differences(theirs[case["id"]], ours[case["id"]])
        if not found and not reason:
            equal += 1
            continue
        expect = strict and case.get("expect_strict") or case.get("expect")
        if found and reason and expect is not None and ours[case["id"]]["final"] != expect:
            found, reason = [("final", expect, ours[case["id"]]["final"])], None
        verdict = "known" if found and reason else "NEW" if found else "STALE"
        known, wrong = known + (verdict == "known"), wrong + (verdict != "known")
        print(f"{verdict} {case['id']} ({case['spec']}) {case['name']}: {reason or ''}")
        if verdict == "NEW":
            for where, left, right in found:
                print(f"    {where}\n      expected  {json.dumps(left)}\n      ours      {json.dumps(right)}")
    print(f"{len(cases)} cases: {equal} equal, {known} differ for a known reason, {wrong} wrong")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
