import { expect, it } from "vitest";
import { blocks, inline, referencesIn } from "./markdown";

const text = (words: string) => ({ is: "text", text: words });

it("reads emphasis, code, links and references", () => {
  expect(inline("**412** of *all* `a*b*` [1], see [the *book*](https://a.example/x_(y)).")).toEqual([
    { is: "strong", inline: [text("412")] }, text(" of "), { is: "em", inline: [text("all")] }, text(" "), { is: "code", text: "a*b*" }, text(" "),
    { is: "reference", number: 1 }, text(", see "),
    { is: "link", url: "https://a.example/x_(y)", inline: [text("the "), { is: "em", inline: [text("book")] }] }, text("."),
  ]);
});

it("leaves names, sums, escapes and markup alone", () => {
  for (const words of ["bq_query and shipped_at", "2 * 3 * 4", "a ** b", "[x] and [1](", "<b>&amp;</b>", "**half", "a_b_c"]) {
    expect(inline(words).map((part) => ("text" in part ? part.text : part.is === "reference" ? `[${part.number}]` : "?")).join(""), words).toBe(words);
  }
  expect(inline("\\*not\\* \\[1\\]")).toEqual([text("*not* [1]")]);
});

it("reads paragraphs, headings, rules, quotes and code", () => {
  expect(blocks("# A #\nb\nc\n\n---\n> q\n> - r\n\n```sql\nSELECT *\n\nFROM a\n```\nend")).toEqual([
    { is: "heading", level: 1, inline: [text("A")] },
    { is: "paragraph", inline: [text("b\nc")] },
    { is: "rule" },
    { is: "quote", blocks: [{ is: "paragraph", inline: [text("q")] }, { is: "list", isOrdered: false, from: 1, items: [{ inline: [text("r")], blocks: [] }] }] },
    { is: "code", text: "SELECT *\n\nFROM a" },
    { is: "paragraph", inline: [text("end")] },
  ]);
});

it("reads lists with what is inside them, and where they begin", () => {
  expect(blocks("3. a\n   - b\n\n4. c\n- d")).toEqual([
    { is: "list", isOrdered: true, from: 3, items: [
      { inline: [text("a")], blocks: [{ is: "list", isOrdered: false, from: 1, items: [{ inline: [text("b")], blocks: [] }] }] },
      { inline: [text("c")], blocks: [] },
    ] },
    { is: "list", isOrdered: false, from: 1, items: [{ inline: [text("d")], blocks: [] }] },
  ]);
});

it("reads tables: alignment, missing cells, bars that are no borders", () => {
  expect(blocks("Late:\n| month | late |\n|:--|--:|\n| Oct | **7** |\n| a\\|b `c|d` |\n\nend")).toEqual([
    { is: "paragraph", inline: [text("Late:")] },
    { is: "table", align: ["start", "end"], head: [[text("month")], [text("late")]], rows: [
      [[text("Oct")], [{ is: "strong", inline: [text("7")] }]],
      [[text("a|b "), { is: "code", text: "c|d" }], []],
    ] },
    { is: "paragraph", inline: [text("end")] },
  ]);
  expect(blocks("a | b\nc")).toEqual([{ is: "paragraph", inline: [text("a | b\nc")] }]);
});

it("reads every beginning of a text, and ends on hostile ones", () => {
  const whole = "# A\n- b **c**\n  - d\n\n| a | b |\n|---|---|\n| `1` | [2](https://a.example) [3] |\n> e\n```\nf\n```\n";
  for (let end = 0; end <= whole.length; end++) expect(() => blocks(whole.slice(0, end))).not.toThrow();
  for (const hostile of ["> ".repeat(500), "- ".repeat(500), "*".repeat(2_000), "[".repeat(2_000), "`".repeat(2_001), "|".repeat(2_000), "_a".repeat(2_000)]) {
    const begun = Date.now();
    blocks(hostile);
    expect(Date.now() - begun, hostile.slice(0, 4)).toBeLessThan(5_000);
  }
});

it("finds the references of a text, each once, none in code or links", () => {
  expect(referencesIn("Seven [2] of [1].\n\n- x [2] **[4]**\n\n| a |\n|---|\n| [3] |\n\n`[9]` [8](/x)")).toEqual([2, 1, 4, 3]);
});
