import { expect, it } from "vitest";
import { initialState, resultCount, searchReducer, type SearchState } from "./state";
import type { RunEvent, SuggestionsResponse } from "./types";

const applyEvents = (search: SearchState, ...events: RunEvent[]) => searchReducer(search, { type: "events", events });
const start = (run_id: string, name: string, query: string): RunEvent => ({ type: "on_tool_start", name, run_id, data: { input: { query } } });
const end = (run_id: string, output: unknown): RunEvent => ({ type: "on_tool_end", run_id, data: { output } });

it("records each query and its result", () => {
  const running = applyEvents(initialState, { type: "on_chat_model_start" }, start("1", "search_docs", "aks rollback"), start("2", "search_m365", "aks rollback"), start("3", "search_issues", "undo"));
  expect(running.queries.map(({ tool, query, state }) => [tool, query, state])).toEqual([
    ["search_docs", "aks rollback", "running"], ["search_m365", "aks rollback", "running"], ["search_issues", "undo", "running"],
  ]);
  const settled = applyEvents(running, end("1", "[{\"title\":\"a\"},{\"title\":\"b\"}]"), { type: "on_tool_error", run_id: "2", data: { error: "401" } }, end("3", "[]"));
  expect(settled.queries.map(({ state, count: found }) => [state, found])).toEqual([["ok", 2], ["error", undefined], ["empty", 0]]);
});

it("keeps a retried query running", () => {
  const retried = applyEvents(initialState, start("1", "search_docs", "a"), { type: "on_tool_error", run_id: "1", data: { will_retry: true } });
  expect(retried.queries[0]?.state).toBe("running");
});

it("ignores the hint tool and takes the final list from the response", () => {
  const hinted = applyEvents(initialState, start("1", "search_docs", "a"), { type: "on_tool_start", name: "generate_action_hint", run_id: "2", data: { input: {} } });
  expect(hinted).toMatchObject({ phase: "hint" });
  expect(hinted.queries).toHaveLength(1);
  const body: SuggestionsResponse = {
    m365: [], docs: [], issues: [], posts: [], actionHint: null, unavailableSources: [],
    queries: [{ tool: "search_docs", query: "a b", found: 3, status: "ok" }, { tool: "generate_action_hint", query: "", found: 1, status: "ok" }],
  };
  const finished = applyEvents(hinted, { ...body, type: "suggestions" } as unknown as RunEvent);
  expect(finished).toMatchObject({ status: "done", queries: [{ tool: "search_docs", query: "a b", count: 3, state: "ok" }] });
  expect(searchReducer(finished, { type: "stopped" })).toBe(finished);
});

it("keeps queries when stopped and clears them when restarted", () => {
  const stopped = searchReducer(applyEvents(initialState, start("1", "search_docs", "a")), { type: "stopped" });
  expect(stopped).toMatchObject({ status: "stopped", queries: [{ query: "a" }] });
  expect(searchReducer(stopped, { type: "restarted" })).toEqual(initialState);
});

it("counts results in every output format", () => {
  expect(resultCount([1, 2])).toBe(2);
  expect(resultCount("[1]")).toBe(1);
  expect(resultCount({ content: "[1,2,3]" })).toBe(3);
  expect(resultCount([{ type: "text", text: "[]" }])).toBe(0);
  for (const output of ["no list", "{}", null, 7, undefined]) expect(resultCount(output)).toBeUndefined();
});
