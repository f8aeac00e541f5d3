/** Where a conversation is told, and which of its events end a run. */
import type { Source } from "../shared/follow";
import { isEnd } from "./state";
import type { RunEvent } from "./types";

/** An address of a conversation; whoever asks says who they are. */
export function sessionAddress(id: string, userId: string, what = "", more: Record<string, string> = {}): string {
  return `/api/assistant/${encodeURIComponent(id)}${what}?${new URLSearchParams({ userId, ...more })}`;
}

export function sessionSource(id: string, userId: string): Source<RunEvent> {
  return {
    address: (after) => sessionAddress(id, userId, "/stream", after > 0 ? { after: String(after) } : {}),
    isEnd,
  };
}
