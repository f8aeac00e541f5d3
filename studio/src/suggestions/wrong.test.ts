import { expect, it } from "vitest";
import { sentenceCount } from "./count";
import { wrongTags, wrongText } from "./wrong";

it("lets the server decide what a sentence is", () => {
  // One sentence for the server, which knows abbreviations and ordinals.
  const post = "Das geht z.B. am 3. Mai bzw. ca. im Juni mit Dr. Lee.";
  expect(sentenceCount(post)).toBeGreaterThan(3);
  expect(wrongText(post, true)).toBeUndefined();
});

it("says what is wrong for sure", () => {
  expect(wrongText(" ", false)).toBeUndefined();
  expect(wrongText(" ", true)).toBe("Write a sentence first.");
  expect(wrongText("x".repeat(501), false)).toBe("1 character too many.");
  expect(wrongTags(["a", "b", "c", "d", "e", "f"])).toBe("At most 5 tags.");
  expect(wrongTags(["a".repeat(21)])).toMatch(/more than 20/);
  expect(wrongTags(["aks"])).toBeUndefined();
});
