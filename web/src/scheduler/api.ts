/** Client of the scheduler API. Errors carry field problems and conflicts. */
import { type FieldProblem, Problem } from "../shared/api";
import type { CalendarEvent, Conflict, ConversationListItem, EventInstance, EventPatch, EventsResponse, ImportReport, ResumeValue, SeriesScope, Settings, WorkflowResponse } from "./types";

const ROOT = "/api/scheduler";

/** A problem with the conflicts that prevented a change. */
export class ConflictProblem extends Problem {
  constructor(status: number, message: string, hint: string | undefined, errors: FieldProblem[], retryAfter: number | undefined, readonly conflicts: Conflict[]) {
    super(status, message, hint, errors, retryAfter);
  }
}

/** Converts any error into a `Problem`. */
export function toProblem(cause: unknown): Problem {
  return cause instanceof Problem ? cause : new Problem(0, String(cause));
}

async function fetchJson<T>(path: string, options: RequestInit = {}): Promise<T> {
  let response: Response;
  try {
    response = await fetch(ROOT + path, { ...options, headers: { Accept: "application/json", ...options.headers } });
  } catch (cause) {
    if (options.signal?.aborted) throw cause;
    throw new Problem(0, "");
  }
  const text = await response.text();
  if (!response.ok) throw toConflictProblem(response, text);
  return JSON.parse(text) as T;
}

function toConflictProblem(response: Response, text: string): ConflictProblem {
  const retryAfter = Number(response.headers.get("Retry-After")) || undefined;
  try {
    const body = JSON.parse(text);
    const problems = body.problems ?? body.errors ?? [];
    const hint = body.hint ?? problems.find((entry: { help?: string; hint?: string }) => entry.help ?? entry.hint)?.help ?? undefined;
    return new ConflictProblem(response.status, body.detail ?? body.title ?? "", hint, problems, retryAfter, body.conflicts ?? []);
  } catch {
    return new ConflictProblem(response.status, text.slice(0, 200) || response.statusText, undefined, [], retryAfter, []);
  }
}

function sendJson<T>(method: "POST" | "PATCH", path: string, body: unknown): Promise<T> {
  return fetchJson(path, { method, headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
}

const queryString = (parameters: Record<string, string | undefined>) =>
  new URLSearchParams(Object.entries(parameters).filter((pair): pair is [string, string] => pair[1] !== undefined && pair[1] !== "")).toString();

export const api = {
  settings: (user_id: string, signal?: AbortSignal) => fetchJson<Settings>(`/settings?${queryString({ user_id })}`, { signal }),
  events: (user_id: string, from: string, to: string, signal?: AbortSignal) => fetchJson<EventsResponse>(`/events?${queryString({ user_id, from, to })}`, { signal }),
  createRequest: (user_id: string, text: string, conversation_id?: string) => sendJson<WorkflowResponse>("POST", "/events", { text, user_id, conversation_id }),
  reply: (user_id: string, thread: string, question_id: string, answer: ResumeValue) => sendJson<WorkflowResponse>("POST", `/threads/${encodeURIComponent(thread)}/answer`, { user_id, question_id, answer }),
  thread: (user_id: string, thread: string, signal?: AbortSignal) => fetchJson<WorkflowResponse>(`/threads/${encodeURIComponent(thread)}?${queryString({ user_id })}`, { signal }),
  threads: (user_id: string, signal?: AbortSignal) => fetchJson<{ threads: ConversationListItem[] }>(`/threads?${queryString({ user_id })}`, { signal }),
  change: (user_id: string, id: string, patch: EventPatch) => sendJson<{ event: CalendarEvent | EventInstance; conflicts: Conflict[] }>("PATCH", `/events/${encodeURIComponent(id)}`, { user_id, ...patch }),
  remove: (user_id: string, id: string, which?: SeriesScope, occurrence?: string) =>
    fetchJson<{ removed: number }>(`/events/${encodeURIComponent(id)}?${queryString({ user_id, which, occurrence })}`, { method: "DELETE" }),
  undo: (user_id: string) => sendJson<{ undone: string; events: string[] }>("POST", "/undo", { user_id }),
  importIcs: (user_id: string, calendar: string | undefined, file: Blob) =>
    fetchJson<ImportReport>(`/import?${queryString({ user_id, calendar })}`, { method: "POST", headers: { "Content-Type": "text/calendar" }, body: file }),
  /** URL of a member's calendar as an .ics file. */
  icsUrl: (user_id: string) => `${ROOT}/calendar.ics?${queryString({ user_id })}`,
};
