import { expect, it } from "vitest";
import { parseBlocks, parseInline, referencesIn } from "./markdown";

const text = (words: string) => ({ type: "text", text: words });

it("parses emphasis, code, links and references", () => {
  expect(parseInline("**412** of *all* `a*b*` [1], see [the *book*](https://a.example/x_(y)).")).toEqual([
    { type: "strong", inline: [text("412")] }, text(" of "), { type: "em", inline: [text("all")] }, text(" "), { type: "code", text: "a*b*" }, text(" "),
    { type: "reference", number: 1 }, text(", see "),
    { type: "link", url: "https://a.example/x_(y)", inline: [text("the "), { type: "em", inline: [text("book")] }] }, text("."),
  ]);
});

it("keeps names, arithmetic, escapes and HTML as text", () => {
  for (const words of ["bq_query and shipped_at", "2 * 3 * 4", "a ** b", "[x] and [1](", "<b>&amp;</b>", "**half", "a_b_c"]) {
    expect(parseInline(words).map((part) => ("text" in part ? part.text : part.type === "reference" ? `[${part.number}]` : "?")).join(""), words).toBe(words);
  }
  expect(parseInline("\\*not\\* \\[1\\]")).toEqual([text("*not* [1]")]);
});

it("parses paragraphs, headings, rules, quotes and code", () => {
  expect(parseBlocks("# A #\nb\nc\n\n---\n> q\n> - r\n\n```sql\nSELECT *\n\nFROM a\n```\nend")).toEqual([
    { type: "heading", level: 1, inline: [text("A")] },
    { type: "paragraph", inline: [text("b\nc")] },
    { type: "rule" },
    { type: "quote", blocks: [{ type: "paragraph", inline: [text("q")] }, { type: "list", isOrdered: false, start: 1, items: [{ inline: [text("r")], blocks: [] }] }] },
    { type: "code", text: "SELECT *\n\nFROM a" },
    { type: "paragraph", inline: [text("end")] },
  ]);
});

it("parses lists with nested blocks and start numbers", () => {
  expect(parseBlocks("3. a\n   - b\n\n4. c\n- d")).toEqual([
    { type: "list", isOrdered: true, start: 3, items: [
      { inline: [text("a")], blocks: [{ type: "list", isOrdered: false, start: 1, items: [{ inline: [text("b")], blocks: [] }] }] },
      { inline: [text("c")], blocks: [] },
    ] },
    { type: "list", isOrdered: false, start: 1, items: [{ inline: [text("d")], blocks: [] }] },
  ]);
});

it("parses tables: alignment, missing cells, bars inside cells", () => {
  expect(parseBlocks("Late:\n| month | late |\n|:--|--:|\n| Oct | **7** |\n| a\\|b `c|d` |\n\nend")).toEqual([
    { type: "paragraph", inline: [text("Late:")] },
    { type: "table", align: ["start", "end"], head: [[text("month")], [text("late")]], rows: [
      [[text("Oct")], [{ type: "strong", inline: [text("7")] }]],
      [[text("a|b "), { type: "code", text: "c|d" }], []],
    ] },
    { type: "paragraph", inline: [text("end")] },
  ]);
  expect(parseBlocks("a | b\nc")).toEqual([{ type: "paragraph", inline: [text("a | b\nc")] }]);
});

it("parses every prefix of a text and terminates on hostile input", () => {
  const whole = "# A\n- b **c**\n  - d\n\n| a | b |\n|---|---|\n| `1` | [2](https://a.example) [3] |\n> e\n```\nf\n```\n";
  for (let end = 0; end <= whole.length; end++) expect(() => parseBlocks(whole.slice(0, end))).not.toThrow();
  for (const hostile of ["> ".repeat(500), "- ".repeat(500), "*".repeat(2_000), "[".repeat(2_000), "`".repeat(2_001), "|".repeat(2_000), "_a".repeat(2_000)]) {
    const startedAt = Date.now();
    parseBlocks(hostile);
    expect(Date.now() - startedAt, hostile.slice(0, 4)).toBeLessThan(5_000);
  }
});

it("lists references once and ignores code and links", () => {
  expect(referencesIn("Seven [2] of [1].\n\n- x [2] **[4]**\n\n| a |\n|---|\n| [3] |\n\n`[9]` [8](/x)")).toEqual([2, 1, 4, 3]);
});
