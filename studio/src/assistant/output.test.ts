import { expect, it } from "vitest";
import { isEmptyOutput, rowsOf, sqlOf, telling, textOf } from "./output";

it("reads a table from an object, from text and from a message", () => {
  const table = { columns: ["month", "n"], rows: [["Oct", 7], ["Nov", null]], count: 40, truncated: true };
  const read = { columns: ["month", "n"], rows: [["Oct", "7"], ["Nov", ""]], count: 40, isCut: true };
  for (const output of [table, JSON.stringify(table), { content: JSON.stringify(table), tool_call_id: "1" }]) expect(rowsOf(output)).toEqual(read);
  expect(rowsOf({ columns: [{ name: "n" }], rows: [{ n: 7 }] })).toEqual({ columns: ["n"], rows: [["7"]], count: 1, isCut: false });
  for (const output of ["text", { rows: [] }, null, "[1"]) expect(rowsOf(output)).toBeUndefined();
});

it("knows nothing when it sees it", () => {
  for (const output of [null, undefined, "", [], "[]", { rows: [], columns: ["n"] }, "{\"passages\":[]}", { content: "{\"facts\":[]}" }]) expect(isEmptyOutput(output), JSON.stringify(output)).toBe(true);
  for (const output of ["0", { result: "0" }, { rows: [[0]], columns: ["n"] }, { columns: [{ name: "a" }], table: "t" }]) expect(isEmptyOutput(output), JSON.stringify(output)).toBe(false);
});

it("finds the query behind a number: what ran before what was asked for", () => {
  expect(sqlOf({ sql: "a" }, { sql: "b", rows: [] })).toBe("b");
  expect(sqlOf({ sql: " a " }, "x")).toBe("a");
  expect(sqlOf({ query: "a" })).toBeUndefined();
});

it("tells a call by its telling part, in short", () => {
  const cases: [unknown, string][] = [
    [{ sql: "SELECT count(*) FROM orders\nWHERE status = 'LATE'\nORDER BY 1 LIMIT 5" }, "status = 'LATE'"],
    [{ sql: "SELECT 1" }, "SELECT 1"],
    [{ query: "late order" }, "late order"],
    [{ expression: "1+1" }, "1+1"],
    [{ n: 3 }, "tool"],
    [undefined, "tool"],
  ];
  for (const [args, words] of cases) expect(telling("tool", args)).toBe(words);
  expect(telling("tool", { query: "word ".repeat(60) }).length).toBeLessThanOrEqual(90);
});

it("shows what is no table as text", () => {
  expect(textOf("plain")).toBe("plain");
  expect(textOf("{\"a\":1}")).toBe("{\n  \"a\": 1\n}");
  expect(textOf(undefined)).toBe("");
});
