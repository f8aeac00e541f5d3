import { expect, it } from "vitest";
import { countOf, fresh, reduce, type Search } from "./state";
import type { RunEvent, Suggested } from "./types";

const told = (search: Search, ...events: RunEvent[]) => reduce(search, { type: "told", events });
const start = (run_id: string, name: string, query: string): RunEvent => ({ type: "on_tool_start", name, run_id, data: { input: { query } } });
const end = (run_id: string, output: unknown): RunEvent => ({ type: "on_tool_end", run_id, data: { output } });

it("shows each search as it is asked and what came of it", () => {
  const asked = told(fresh, { type: "on_chat_model_start" }, start("1", "search_docs", "aks rollback"), start("2", "search_m365", "aks rollback"), start("3", "search_issues", "undo"));
  expect(asked.tried.map(({ tool, query, state }) => [tool, query, state])).toEqual([
    ["search_docs", "aks rollback", "running"], ["search_m365", "aks rollback", "running"], ["search_issues", "undo", "running"],
  ]);
  const done = told(asked, end("1", "[{\"title\":\"a\"},{\"title\":\"b\"}]"), { type: "on_tool_error", run_id: "2", data: { error: "401" } }, end("3", "[]"));
  expect(done.tried.map(({ state, found }) => [state, found])).toEqual([["ok", 2], ["error", undefined], ["empty", 0]]);
});

it("a search that is tried again is still running", () => {
  const retried = told(fresh, start("1", "search_docs", "a"), { type: "on_tool_error", run_id: "1", data: { will_retry: true } });
  expect(retried.tried[0]?.state).toBe("running");
});

it("the hint is no search, and the end brings the final list", () => {
  const hinted = told(fresh, start("1", "search_docs", "a"), { type: "on_tool_start", name: "generate_action_hint", run_id: "2", data: { input: {} } });
  expect(hinted).toMatchObject({ phase: "hint" });
  expect(hinted.tried).toHaveLength(1);
  const body: Suggested = {
    m365: [], docs: [], issues: [], posts: [], actionHint: null, unavailableSources: [],
    queries: [{ tool: "search_docs", query: "a b", found: 3, status: "ok" }, { tool: "generate_action_hint", query: "", found: 1, status: "ok" }],
  };
  const over = told(hinted, { ...body, type: "suggestions" } as unknown as RunEvent);
  expect(over).toMatchObject({ status: "done", tried: [{ tool: "search_docs", query: "a b", found: 3, state: "ok" }] });
  expect(reduce(over, { type: "stopped" })).toBe(over);
});

it("what was seen stays when the search is stopped, and goes when it begins again", () => {
  const stopped = reduce(told(fresh, start("1", "search_docs", "a")), { type: "stopped" });
  expect(stopped).toMatchObject({ status: "stopped", tried: [{ query: "a" }] });
  expect(reduce(stopped, { type: "again" })).toEqual(fresh);
});

it("counts hits however a tool wraps them", () => {
  expect(countOf([1, 2])).toBe(2);
  expect(countOf("[1]")).toBe(1);
  expect(countOf({ content: "[1,2,3]" })).toBe(3);
  expect(countOf([{ type: "text", text: "[]" }])).toBe(0);
  for (const output of ["no list", "{}", null, 7, undefined]) expect(countOf(output)).toBeUndefined();
});
