import { expect, it } from "vitest";
import { splitSentences } from "./sentences";

it("omits an incomplete last sentence", () => {
  expect(splitSentences("It costs 2.5 euros. It works! And th", false)).toEqual(["It costs 2.5 euros.", "It works!"]);
  expect(splitSentences("It costs 2.5 euros. And th", true)).toEqual(["It costs 2.5 euros.", "And th"]);
});

it("does not split at a full stop within a sentence", () => {
  expect(splitSentences("Cars, bikes etc. are loud. \"Really?\" Yes.", true)).toEqual(["Cars, bikes etc. are loud.", "\"Really?\"", "Yes."]);
});

it("splits text in other scripts", () => {
  expect(splitSentences("هل هذا صحيح؟ نعم", true)).toEqual(["هل هذا صحيح؟", "نعم"]);
});
