import { expect, it } from "vitest";
import { callSummary, isEmptyOutput, outputText, sqlFromCall, stepDescription, tableFromOutput } from "./tool-output";

it("parses a table from an object, text or a message", () => {
  const table = { columns: ["month", "n"], rows: [["Oct", 7], ["Nov", null]], count: 40, truncated: true };
  const parsed = { columns: ["month", "n"], rows: [["Oct", "7"], ["Nov", ""]], count: 40, isTruncated: true };
  for (const output of [table, JSON.stringify(table), { content: JSON.stringify(table), tool_call_id: "1" }]) expect(tableFromOutput(output)).toEqual(parsed);
  expect(tableFromOutput({ columns: [{ name: "n" }], rows: [{ n: 7 }] })).toEqual({ columns: ["n"], rows: [["7"]], count: 1, isTruncated: false });
  for (const output of ["text", { rows: [] }, null, "[1"]) expect(tableFromOutput(output)).toBeUndefined();
});

it("recognizes empty outputs", () => {
  for (const output of [null, undefined, "", [], "[]", { rows: [], columns: ["n"] }, "{\"passages\":[]}", { content: "{\"facts\":[]}" }]) expect(isEmptyOutput(output), JSON.stringify(output)).toBe(true);
  for (const output of ["0", { result: "0" }, { rows: [[0]], columns: ["n"] }, { columns: [{ name: "a" }], table: "t" }]) expect(isEmptyOutput(output), JSON.stringify(output)).toBe(false);
});

it("prefers the SQL that ran over the requested SQL", () => {
  expect(sqlFromCall({ sql: "a" }, { sql: "b", rows: [] })).toBe("b");
  expect(sqlFromCall({ sql: " a " }, "x")).toBe("a");
  expect(sqlFromCall({ query: "a" })).toBeUndefined();
});

it("summarizes a call", () => {
  const cases: [unknown, string][] = [
    [{ sql: "SELECT count(*) FROM orders\nWHERE status = 'LATE'\nORDER BY 1 LIMIT 5" }, "status = 'LATE'"],
    [{ sql: "SELECT 1" }, "SELECT 1"],
    [{ query: "late order" }, "late order"],
    [{ expression: "1+1" }, "1+1"],
    [{ n: 3 }, "tool"],
    [undefined, "tool"],
  ];
  for (const [args, expected] of cases) expect(callSummary("tool", args)).toBe(expected);
  expect(callSummary("tool", { query: "word ".repeat(60) }).length).toBeLessThanOrEqual(90);
});

it("describes a step without SQL", () => {
  const sql = "SELECT count(*) FROM order_items i JOIN \"orders\" o ON i.order_id = o.id LEFT JOIN orders p ON 1 = 1 WHERE o.status = 'LATE'";
  const cases: [string, unknown, string, string][] = [
    ["bq_query", { sql }, "counts late orders", "counts late orders"],
    ["bq_query", { sql }, "", "Query data about order items, orders"],
    ["bq_query", { sql: "SELECT 1" }, "", "Query data"],
    ["search_docs", { query: "late order", limit: 8 }, "", "Search the documents for “late order”"],
    ["now", {}, "", "Get the current time"],
    ["crm_find", { name: "Miller" }, "", "crm find: Miller"],
    ["crm_find", { sql }, "", "crm find: order items, orders"],
    ["crm_find", undefined, "", "crm find"],
  ];
  for (const [tool, args, why, expected] of cases) expect(stepDescription(tool, args, why)).toBe(expected);
});

it("formats other outputs as text", () => {
  expect(outputText("plain")).toBe("plain");
  expect(outputText("{\"a\":1}")).toBe("{\n  \"a\": 1\n}");
  expect(outputText(undefined)).toBe("");
});
