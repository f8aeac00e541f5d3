/** Where a debate is told, and which of its events end a run. */
import type { Source } from "../shared/follow";
import type { DebateEvent } from "./types";

const ENDS = new Set(["debate_complete", "approval_required", "stopped", "error"]);

export function debateSource(id: string): Source<DebateEvent> {
  return {
    address: (after) => `/api/debate/${encodeURIComponent(id)}/stream?format=debate${after > 0 ? `&after=${after}` : ""}`,
    isEnd: ({ type }) => ENDS.has(type),
  };
}
