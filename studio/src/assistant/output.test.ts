import { expect, it } from "vitest";
import { doing, isEmptyOutput, rowsOf, sqlOf, telling, textOf } from "./output";

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

it("says what a call does in words: why it is made, else what its tool is for, never its SQL", () => {
  const sql = "SELECT count(*) FROM order_items i JOIN \"orders\" o ON i.order_id = o.id LEFT JOIN orders p ON 1 = 1 WHERE o.status = 'LATE'";
  const cases: [string, unknown, string, string][] = [
    ["bq_query", { sql }, "counts late orders", "counts late orders"],
    ["bq_query", { sql }, "", "Asks the data about order items, orders"],
    ["bq_query", { sql: "SELECT 1" }, "", "Asks the data"],
    ["search_docs", { query: "late order", limit: 8 }, "", "Looks in the documents for “late order”"],
    ["now", {}, "", "Looks at the clock"],
    ["crm_find", { name: "Miller" }, "", "crm find: Miller"],
    ["crm_find", { sql }, "", "crm find: order items, orders"],
    ["crm_find", undefined, "", "crm find"],
  ];
  for (const [tool, args, why, words] of cases) expect(doing(tool, args, why)).toBe(words);
});

it("shows what is no table as text", () => {
  expect(textOf("plain")).toBe("plain");
  expect(textOf("{\"a\":1}")).toBe("{\n  \"a\": 1\n}");
  expect(textOf(undefined)).toBe("");
});
