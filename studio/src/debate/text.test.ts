import { expect, it } from "vitest";
import { pieces } from "./text";
import type { Fact } from "./types";

const fact = (claim: string): Fact => ({ claim, verdict: "unverifiable", sources: [] });

it("marks a claim whatever its white space, case and end, and loses no letter", () => {
  const text = "Well: the tax\n raised 40 % (net). Then it fell.";
  const cut = pieces(text, [fact("Nowhere said."), fact("The tax raised 40 % (net).")]);
  expect(cut).toEqual([{ text: "Well: " }, { text: "the tax\n raised 40 % (net).", fact: 1 }, { text: " Then it fell." }]);
  expect(cut.map((piece) => piece.text).join("")).toBe(text);
});

it("of claims that overlap the first and longest is marked", () => {
  const cut = pieces("a b c d", [fact("b c"), fact("a b c"), fact("d")]);
  expect(cut.map(({ text, fact }) => [text, fact])).toEqual([["a b c", 1], [" ", undefined], ["d", 2]]);
});

it("an empty claim marks nothing", () => {
  expect(pieces("a", [fact(" . ")])).toEqual([{ text: "a" }]);
});
