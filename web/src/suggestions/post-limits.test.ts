import { expect, it } from "vitest";
import { characterCount, parseTags, sentenceCount } from "./post-limits";

it("estimates the number of sentences", () => {
  const cases: [string, number][] = [
    ["", 0],
    ["   ", 0],
    ["…", 0],
    ["How do I roll back", 1],
    ["How do I roll back?", 1],
    ["It failed. What now? Help!", 3],
    ["It failed. What now", 2],
    ["Really?! Yes.", 2],
    ["He said \"stop.\" Then he left.", 2],
    ["See https://example.org/a.b?c=d.e for more.", 1],
    ["See https://example.org/a.html. It is short.", 2],
    ["www.example.org. Next.", 2],
    ["Version 2.5 of quote-web.yaml is broken.", 1],
    ["Well... it broke. Twice…", 2],
    ["هل هذا صحيح؟ نعم", 2],
  ];
  for (const [text, count] of cases) expect(sentenceCount(text), text).toBe(count);
});

it("counts trimmed characters", () => {
  expect(characterCount(" ab ")).toBe(2);
  expect(characterCount("🚲🚲")).toBe(2);
});

it("splits tags and removes `#` and duplicates", () => {
  expect(parseTags(" #AKS, helm  aks;rollback,, ")).toEqual(["aks", "helm", "rollback"]);
  expect(parseTags(" , ")).toEqual([]);
});
