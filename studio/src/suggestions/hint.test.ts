import { expect, it } from "vitest";
import { hintParts, markdownOf } from "./hint";
import type { Post, Suggested, Suggestion } from "./types";

const doc = (title: string, url: string): Suggestion => ({ title, url, description: "How to\nundo.", sourceType: "doc", status: "available" });
const found = (...docs: Suggestion[]) => ({ docs, issues: [], m365: [] });

it("makes the named document the link, the longest of those that fit", () => {
  const hint = "Read “Rollback on AKS”, section Undo.";
  const parts = hintParts(hint, found(doc("rollback", "https://a.example/1"), doc("Rollback on AKS", "https://a.example/2")));
  expect(parts).toEqual([{ text: "Read “" }, { text: "Rollback on AKS", url: "https://a.example/2" }, { text: "”, section Undo." }]);
  expect(parts.map((part) => part.text).join("")).toBe(hint);
});

it("links nothing that is not among the results or cannot be followed", () => {
  expect(hintParts("Read Rollback.", found(doc("Other", "https://a.example")))).toEqual([{ text: "Read Rollback." }]);
  expect(hintParts("Read Rollback.", found(doc("Rollback", "javascript:alert(1)"), doc("", "https://a.example")))).toEqual([{ text: "Read Rollback." }]);
});

it("writes the page as Markdown: hint, every source, reasons, queries, label", () => {
  const post = { id: "p", text: "How\nnow?", tags: [] } as unknown as Post;
  const suggested: Suggested = {
    docs: [doc("A [draft]", "https://a.example/(1)"), doc("B", "aks/b.md#undo")], issues: [], m365: [], posts: [{ ...post, text: "Earlier" }],
    actionHint: "Read A.", unavailableSources: ["m365"], reasons: { m365: "not configured" }, warnings: ["the query\nwas cut"], model: { name: "r", kind: "rules", label: "keyword planner, no language model" },
  };
  const written = markdownOf(post, suggested, [{ key: "1", tool: "search_docs", query: "a", state: "ok", found: 2 }, { key: "2", tool: "search_m365", query: "a", state: "error" }]);
  expect(written).toBe([
    "# How now?", "", "**Next step:** Read A.", "",
    "## Documentation", "", "- [A \\[draft\\]](https://a.example/%281%29): How to undo.", "- B (aks/b.md#undo): How to undo.", "",
    "## Issues", "", "Nothing found here.", "", "## Microsoft 365", "", "not searched: not configured", "",
    "## Earlier posts", "", "- Earlier", "", "## Warnings", "", "- the query was cut", "", "## Queries tried", "", "- Documentation: “a”, 2 found", "- Microsoft 365: “a”, failed", "",
    "_keyword planner, no language model_", "",
  ].join("\n"));
});
