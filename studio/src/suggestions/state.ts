/** What is looked up for a post, as the page knows it: a pure fold over what the server tells. */
import type { Query, RunEvent, SourceName, Suggested } from "./types";

/** One search, from the moment it is asked. */
export interface Tried {
  key: string;
  tool: string;
  query: string;
  state: "running" | Query["status"];
  found?: number;
}

export interface Search {
  status: "searching" | "done" | "stopped";
  tried: Tried[];
  /** What is being done beside searching. */
  phase: "planning" | "searching" | "hint";
  suggested?: Suggested;
}

export type Action = { type: "told"; events: RunEvent[] } | { type: "again" } | { type: "stopped" } | { type: "answered"; suggested: Suggested };

const SOURCE_OF: Record<string, SourceName> = { search_m365: "m365", search_docs: "docs", search_issues: "issues", search_posts: "posts" };
const HINT = "generate_action_hint";

export const fresh: Search = { status: "searching", tried: [], phase: "planning" };

/** Which source a tool searches; none for tools that do something else. */
export function sourceOf(tool: string): SourceName | undefined {
  return SOURCE_OF[tool];
}

export function reduce(search: Search, action: Action): Search {
  switch (action.type) {
    case "told":
      return action.events.reduce(after, search);
    case "answered":
      return ended(search, action.suggested);
    case "stopped":
      return search.status === "searching" ? { ...search, status: "stopped" } : search;
    case "again":
      return fresh;
  }
}

function after(search: Search, event: RunEvent): Search {
  const key = event.run_id ?? "";
  switch (event.type) {
    case "on_chat_model_start":
      return { ...search, phase: "planning" };
    case "on_tool_start":
      return started(search, key, event);
    case "on_tool_end": {
      const found = countOf(event.data?.output);
      // What is no list is nothing that was found: the server says so too.
      return settled(search, key, found === undefined ? { state: "error" } : { state: found > 0 ? "ok" : "empty", found });
    }
    case "on_tool_error":
      return event.data?.will_retry ? search : settled(search, key, { state: "error" });
    case "suggestions":
      return ended(search, event as unknown as Suggested);
    default:
      return search;
  }
}

function started(search: Search, key: string, event: RunEvent): Search {
  const tool = event.name ?? "";
  if (tool === HINT) return { ...search, phase: "hint" };
  if (!sourceOf(tool) || search.tried.some((one) => one.key === key)) return search;
  const input = event.data?.input;
  const query = typeof input === "object" && input !== null && "query" in input ? String(input.query) : "";
  return { ...search, phase: "searching", tried: [...search.tried, { key, tool, query, state: "running" }] };
}

function settled(search: Search, key: string, with_: Pick<Tried, "state" | "found">): Search {
  return { ...search, tried: search.tried.map((one) => (one.key === key ? { ...one, ...with_ } : one)) };
}

/** The final list counts; without one, what was seen happening stays. */
function ended(search: Search, suggested: Suggested): Search {
  const queries = suggested.queries?.filter(({ tool }) => sourceOf(tool));
  const tried = queries
    ? queries.map(({ tool, query, found, status }, index): Tried => ({ key: `q${index}`, tool, query, found, state: status }))
    : search.tried;
  return { status: "done", phase: search.phase, tried, suggested };
}

/** How many hits a search gave: its output is a list, as text, as it is, or inside a message. */
export function countOf(output: unknown): number | undefined {
  if (Array.isArray(output)) {
    const parts = output.filter((part) => typeof part?.text === "string" && part.type === "text");
    return parts.length > 0 && parts.length === output.length ? countOf(parts.map((part) => part.text).join("")) : output.length;
  }
  if (typeof output === "string") {
    try {
      const value: unknown = JSON.parse(output);
      return Array.isArray(value) ? value.length : undefined;
    } catch {
      return undefined;
    }
  }
  if (typeof output === "object" && output !== null && "content" in output) return countOf(output.content);
  return undefined;
}
