/** Event stream of a conversation. */
import type { EventSourceConfig } from "../shared/event-stream";
import { isTerminalEvent } from "./state";
import type { RunEvent } from "./types";

/** Returns a URL of a conversation. Every request names the user. */
export function sessionUrl(id: string, userId: string, path = "", parameters: Record<string, string> = {}): string {
  return `/api/assistant/${encodeURIComponent(id)}${path}?${new URLSearchParams({ userId, ...parameters })}`;
}

export function sessionEventSource(id: string, userId: string): EventSourceConfig<RunEvent> {
  return {
    url: (after) => sessionUrl(id, userId, "/stream", after > 0 ? { after: String(after) } : {}),
    isEnd: isTerminalEvent,
  };
}
