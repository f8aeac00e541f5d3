import { expect, it } from "vitest";
import { sentenceCount } from "./post-limits";
import { validateTags, validateText } from "./post-validation";

it("leaves the sentence count to the server", () => {
  // The server counts one sentence: it knows abbreviations and ordinals.
  const post = "Das geht z.B. am 3. Mai bzw. ca. im Juni mit Dr. Lee.";
  expect(sentenceCount(post)).toBeGreaterThan(3);
  expect(validateText(post, true)).toBeUndefined();
});

it("reports definite errors", () => {
  expect(validateText(" ", false)).toBeUndefined();
  expect(validateText(" ", true)).toBe("Enter the text of the post.");
  expect(validateText("x".repeat(501), false)).toBe("1 character too many.");
  expect(validateTags(["a", "b", "c", "d", "e", "f"])).toBe("At most 5 tags.");
  expect(validateTags(["a".repeat(21)])).toMatch(/more than 20/);
  expect(validateTags(["aks"])).toBeUndefined();
});
