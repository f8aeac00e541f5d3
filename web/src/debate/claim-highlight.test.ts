import { expect, it } from "vitest";
import { highlightClaims } from "./claim-highlight";
import type { FactCheckResult } from "./types";

const fact = (claim: string): FactCheckResult => ({ claim, verdict: "unverifiable", sources: [] });

it("finds claims despite white space, case and punctuation", () => {
  const text = "Well: the tax\n raised 40 % (net). Then it fell.";
  const segments = highlightClaims(text, [fact("Nowhere said."), fact("The tax raised 40 % (net).")]);
  expect(segments).toEqual([{ text: "Well: " }, { text: "the tax\n raised 40 % (net).", fact: 1 }, { text: " Then it fell." }]);
  expect(segments.map((segment) => segment.text).join("")).toBe(text);
});

it("marks the first and longest of overlapping claims", () => {
  const segments = highlightClaims("a b c d", [fact("b c"), fact("a b c"), fact("d")]);
  expect(segments.map(({ text, fact }) => [text, fact])).toEqual([["a b c", 1], [" ", undefined], ["d", 2]]);
});

it("ignores an empty claim", () => {
  expect(highlightClaims("a", [fact(" . ")])).toEqual([{ text: "a" }]);
});
