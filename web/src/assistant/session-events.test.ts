import { expect, it } from "vitest";
import { sessionEventSource, sessionUrl } from "./session-events";

it("includes the user in every URL", () => {
  expect(sessionUrl("a/b", "ana & co")).toBe("/api/assistant/a%2Fb?userId=ana+%26+co");
  expect(sessionUrl("s", "ana", "/answer")).toBe("/api/assistant/s/answer?userId=ana");
  expect(sessionEventSource("s", "ana").url(0)).toBe("/api/assistant/s/stream?userId=ana");
  expect(sessionEventSource("s", "ana").url(7)).toBe("/api/assistant/s/stream?userId=ana&after=7");
});
