/** View state of a search: a pure reducer over stream events. */
import type { Query, RunEvent, SourceName, SuggestionsResponse } from "./types";

/** A query that is running or completed. */
export interface ExecutedQuery {
  key: string;
  tool: string;
  query: string;
  state: "running" | Query["status"];
  count?: number;
}

export interface SearchState {
  status: "searching" | "done" | "stopped";
  queries: ExecutedQuery[];
  /** The current phase of the run. */
  phase: "planning" | "searching" | "hint";
  response?: SuggestionsResponse;
}

export type SearchAction = { type: "events"; events: RunEvent[] } | { type: "restarted" } | { type: "stopped" } | { type: "response"; response: SuggestionsResponse };

const SOURCE_BY_TOOL: Record<string, SourceName> = { search_m365: "m365", search_docs: "docs", search_issues: "issues", search_posts: "posts" };
const HINT = "generate_action_hint";

export const initialState: SearchState = { status: "searching", queries: [], phase: "planning" };

/** Returns the source that a tool searches, if any. */
export function sourceForTool(tool: string): SourceName | undefined {
  return SOURCE_BY_TOOL[tool];
}

export function searchReducer(search: SearchState, action: SearchAction): SearchState {
  switch (action.type) {
    case "events":
      return action.events.reduce(reduceEvent, search);
    case "response":
      return applyResponse(search, action.response);
    case "stopped":
      return search.status === "searching" ? { ...search, status: "stopped" } : search;
    case "restarted":
      return initialState;
  }
}

function reduceEvent(search: SearchState, event: RunEvent): SearchState {
  const key = event.run_id ?? "";
  switch (event.type) {
    case "on_chat_model_start":
      return { ...search, phase: "planning" };
    case "on_tool_start":
      return addQuery(search, key, event);
    case "on_tool_end": {
      const count = resultCount(event.data?.output);
      // An output that is not a list is an error, as on the server.
      return settleQuery(search, key, count === undefined ? { state: "error" } : { state: count > 0 ? "ok" : "empty", count });
    }
    case "on_tool_error":
      return event.data?.will_retry ? search : settleQuery(search, key, { state: "error" });
    case "suggestions":
      return applyResponse(search, event as unknown as SuggestionsResponse);
    default:
      return search;
  }
}

function addQuery(search: SearchState, key: string, event: RunEvent): SearchState {
  const tool = event.name ?? "";
  if (tool === HINT) return { ...search, phase: "hint" };
  if (!sourceForTool(tool) || search.queries.some((item) => item.key === key)) return search;
  const input = event.data?.input;
  const query = typeof input === "object" && input !== null && "query" in input ? String(input.query) : "";
  return { ...search, phase: "searching", queries: [...search.queries, { key, tool, query, state: "running" }] };
}

function settleQuery(search: SearchState, key: string, update: Pick<ExecutedQuery, "state" | "count">): SearchState {
  return { ...search, queries: search.queries.map((item) => (item.key === key ? { ...item, ...update } : item)) };
}

/** Uses the queries of the response, or else those from the events. */
function applyResponse(search: SearchState, response: SuggestionsResponse): SearchState {
  const reported = response.queries?.filter(({ tool }) => sourceForTool(tool));
  const queries = reported
    ? reported.map(({ tool, query, found: count, status }, index): ExecutedQuery => ({ key: `q${index}`, tool, query, count, state: status }))
    : search.queries;
  return { status: "done", phase: search.phase, queries, response };
}

/** Returns the number of results in a tool output: a list, JSON text, or a message. */
export function resultCount(output: unknown): number | undefined {
  if (Array.isArray(output)) {
    const parts = output.filter((part) => typeof part?.text === "string" && part.type === "text");
    return parts.length > 0 && parts.length === output.length ? resultCount(parts.map((part) => part.text).join("")) : output.length;
  }
  if (typeof output === "string") {
    try {
      const value: unknown = JSON.parse(output);
      return Array.isArray(value) ? value.length : undefined;
    } catch {
      return undefined;
    }
  }
  if (typeof output === "object" && output !== null && "content" in output) return resultCount(output.content);
  return undefined;
}
