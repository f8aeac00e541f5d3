/** Where a conversation is told, and which of its events end a run. */
import type { Source } from "../shared/follow";
import { isEnd } from "./state";
import type { RunEvent } from "./types";

export function sessionSource(id: string): Source<RunEvent> {
  return {
    address: (after) => `/api/assistant/${encodeURIComponent(id)}/stream${after > 0 ? `?after=${after}` : ""}`,
    isEnd,
  };
}
