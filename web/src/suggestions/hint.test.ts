import { expect, it } from "vitest";
import { hintParts, suggestionsToMarkdown } from "./hint";
import type { Post, Suggestion, SuggestionsResponse } from "./types";

const doc = (title: string, url: string): Suggestion => ({ title, url, description: "How to\nundo.", sourceType: "doc", status: "available" });
const response = (...docs: Suggestion[]) => ({ docs, issues: [], m365: [] });

it("links the longest matching title", () => {
  const hint = "Read “Rollback on AKS”, section Undo.";
  const parts = hintParts(hint, response(doc("rollback", "https://a.example/1"), doc("Rollback on AKS", "https://a.example/2")));
  expect(parts).toEqual([{ text: "Read “" }, { text: "Rollback on AKS", url: "https://a.example/2" }, { text: "”, section Undo." }]);
  expect(parts.map((part) => part.text).join("")).toBe(hint);
});

it("does not link unknown titles or unsafe URLs", () => {
  expect(hintParts("Read Rollback.", response(doc("Other", "https://a.example")))).toEqual([{ text: "Read Rollback." }]);
  expect(hintParts("Read Rollback.", response(doc("Rollback", "javascript:alert(1)"), doc("", "https://a.example")))).toEqual([{ text: "Read Rollback." }]);
});

it("exports hint, sources, reasons, queries and model as Markdown", () => {
  const post = { id: "p", text: "How\nnow?", tags: [] } as unknown as Post;
  const response: SuggestionsResponse = {
    docs: [doc("A [draft]", "https://a.example/(1)"), doc("B", "aks/b.md#undo")], issues: [], m365: [], posts: [{ ...post, text: "Earlier" }],
    actionHint: "Read A.", unavailableSources: ["m365"], reasons: { m365: "not configured" }, warnings: ["the query\nwas cut"], model: { name: "r", kind: "rules", label: "keyword planner, no language model" },
  };
  const markdown = suggestionsToMarkdown(post, response, [{ key: "1", tool: "search_docs", query: "a", state: "ok", count: 2 }, { key: "2", tool: "search_m365", query: "a", state: "error" }]);
  expect(markdown).toBe([
    "# How now?", "", "**Next step:** Read A.", "",
    "## Documentation", "", "- [A \\[draft\\]](https://a.example/%281%29): How to undo.", "- B (aks/b.md#undo): How to undo.", "",
    "## Issues", "", "No results.", "", "## Microsoft 365", "", "unavailable: not configured", "",
    "## Earlier posts", "", "- Earlier", "", "## Warnings", "", "- the query was cut", "", "## Queries", "", "- Documentation: “a”, 2 found", "- Microsoft 365: “a”, failed", "",
    "_keyword planner, no language model_", "",
  ].join("\n"));
});
