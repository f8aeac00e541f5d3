/** Event stream of a debate. */
import type { EventSourceConfig } from "../shared/event-stream";
import type { DebateEvent } from "./types";

const ENDS = new Set(["debate_complete", "approval_required", "stopped", "error"]);

export function debateEventSource(id: string): EventSourceConfig<DebateEvent> {
  return {
    url: (after) => `/api/debate/${encodeURIComponent(id)}/stream?format=debate${after > 0 ? `&after=${after}` : ""}`,
    isEnd: ({ type }) => ENDS.has(type),
  };
}
