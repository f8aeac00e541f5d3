import { expect, it } from "vitest";
import { sessionAddress, sessionSource } from "./follow";

it("says who asks in every address of a conversation", () => {
  expect(sessionAddress("a/b", "ana & co")).toBe("/api/assistant/a%2Fb?userId=ana+%26+co");
  expect(sessionAddress("s", "ana", "/answer")).toBe("/api/assistant/s/answer?userId=ana");
  expect(sessionSource("s", "ana").address(0)).toBe("/api/assistant/s/stream?userId=ana");
  expect(sessionSource("s", "ana").address(7)).toBe("/api/assistant/s/stream?userId=ana&after=7");
});
