/** What the page asks of the server; what it refuses comes back with every place, and with what stands in the way. */
import { Problem, type FieldProblem } from "../shared/api";
import type { Answer, CalendarEvent, Conflict, Imported, Instance, Patch, Reply, Settings, Shown, Thread, Which } from "./types";

const ROOT = "/api/scheduler";

/** A refusal; `conflicts` when something stands in the way of a change. */
export class Refusal extends Problem {
  constructor(status: number, message: string, hint: string | undefined, errors: FieldProblem[], retryAfter: number | undefined, readonly conflicts: Conflict[]) {
    super(status, message, hint, errors, retryAfter);
  }
}

/** Whatever went wrong, as a problem. */
export function problemOf(cause: unknown): Problem {
  return cause instanceof Problem ? cause : new Problem(0, String(cause));
}

async function ask<T>(path: string, options: RequestInit = {}): Promise<T> {
  let response: Response;
  try {
    response = await fetch(ROOT + path, { ...options, headers: { Accept: "application/json", ...options.headers } });
  } catch (cause) {
    if (options.signal?.aborted) throw cause;
    throw new Problem(0, "");
  }
  const text = await response.text();
  if (!response.ok) throw refusalOf(response, text);
  return JSON.parse(text) as T;
}

function refusalOf(response: Response, text: string): Refusal {
  const retryAfter = Number(response.headers.get("Retry-After")) || undefined;
  try {
    const body = JSON.parse(text);
    const places = body.problems ?? body.errors ?? [];
    const hint = body.hint ?? places.find((place: { help?: string; hint?: string }) => place.help ?? place.hint)?.help ?? undefined;
    return new Refusal(response.status, body.detail ?? body.title ?? "", hint, places, retryAfter, body.conflicts ?? []);
  } catch {
    return new Refusal(response.status, text.slice(0, 200) || response.statusText, undefined, [], retryAfter, []);
  }
}

function send<T>(method: "POST" | "PATCH", path: string, body: unknown): Promise<T> {
  return ask(path, { method, headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
}

const query = (parameters: Record<string, string | undefined>) =>
  new URLSearchParams(Object.entries(parameters).filter((pair): pair is [string, string] => pair[1] !== undefined && pair[1] !== "")).toString();

export const api = {
  settings: (user_id: string, signal?: AbortSignal) => ask<Settings>(`/settings?${query({ user_id })}`, { signal }),
  events: (user_id: string, from: string, to: string, signal?: AbortSignal) => ask<Shown>(`/events?${query({ user_id, from, to })}`, { signal }),
  tell: (user_id: string, text: string, conversation_id?: string) => send<Answer>("POST", "/events", { text, user_id, conversation_id }),
  reply: (user_id: string, thread: string, question_id: string, answer: Reply) => send<Answer>("POST", `/threads/${encodeURIComponent(thread)}/answer`, { user_id, question_id, answer }),
  thread: (user_id: string, thread: string, signal?: AbortSignal) => ask<Answer>(`/threads/${encodeURIComponent(thread)}?${query({ user_id })}`, { signal }),
  threads: (user_id: string, signal?: AbortSignal) => ask<{ threads: Thread[] }>(`/threads?${query({ user_id })}`, { signal }),
  change: (user_id: string, id: string, patch: Patch) => send<{ event: CalendarEvent | Instance; conflicts: Conflict[] }>("PATCH", `/events/${encodeURIComponent(id)}`, { user_id, ...patch }),
  remove: (user_id: string, id: string, which?: Which, occurrence?: string) =>
    ask<{ removed: number }>(`/events/${encodeURIComponent(id)}?${query({ user_id, which, occurrence })}`, { method: "DELETE" }),
  undo: (user_id: string) => send<{ undone: string; events: string[] }>("POST", "/undo", { user_id }),
  bring: (user_id: string, calendar: string | undefined, file: Blob) =>
    ask<Imported>(`/import?${query({ user_id, calendar })}`, { method: "POST", headers: { "Content-Type": "text/calendar" }, body: file }),
  /** Where the calendar of a member can be taken away as a file. */
  fileOf: (user_id: string) => `${ROOT}/calendar.ics?${query({ user_id })}`,
};
