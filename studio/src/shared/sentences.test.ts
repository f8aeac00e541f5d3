import { expect, it } from "vitest";
import { sentences } from "./sentences";

it("cuts off the sentence that is still being said", () => {
  expect(sentences("It costs 2.5 euros. It works! And th", false)).toEqual(["It costs 2.5 euros.", "It works!"]);
  expect(sentences("It costs 2.5 euros. And th", true)).toEqual(["It costs 2.5 euros.", "And th"]);
});

it("does not stop at a full stop in the middle of a sentence", () => {
  expect(sentences("Cars, bikes etc. are loud. \"Really?\" Yes.", true)).toEqual(["Cars, bikes etc. are loud.", "\"Really?\"", "Yes."]);
});

it("cuts other scripts too", () => {
  expect(sentences("هل هذا صحيح؟ نعم", true)).toEqual(["هل هذا صحيح؟", "نعم"]);
});
