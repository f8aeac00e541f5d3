/** Follows one debate until its run ends: comes back by itself after a cut, missing nothing. */
import { ask, Problem } from "../shared/api";
import { read } from "../shared/sse";
import type { Told } from "./state";
import type { DebateEvent } from "./types";

/** The server sends a comment every 15 seconds; twice that without a byte is a dead line. */
const SILENCE_MS = 35_000;
const PAUSES_MS = [500, 1_000, 2_000, 4_000, 8_000];
const ENDS = new Set(["debate_complete", "approval_required", "stopped", "error"]);

export interface Listener {
  tell(told: Told): void;
  /** 0: heard again; n: the n-th try to come back. */
  trying(attempt: number): void;
  /** The server refuses for good, e.g. there is no such debate. */
  refused(problem: Problem): void;
  /** The stream is over; says whether the debate itself still runs (then it is asked again). */
  ended(): Promise<boolean>;
}

/** Waits that long, or less when there is reason to hope. */
export type Wait = (milliseconds: number, signal: AbortSignal) => Promise<void>;

export async function follow(id: string, after: number, listener: Listener, signal: AbortSignal, wait: Wait = pause): Promise<void> {
  let last = after;
  let attempt = 0;
  while (!signal.aborted) {
    let isOver = false;
    try {
      const query = last > 0 ? `&after=${last}` : "";
      const response = await ask(`/api/debate/${encodeURIComponent(id)}/stream?format=debate${query}`, {
        headers: { Accept: "text/event-stream" },
        signal,
      });
      if (attempt > 0) listener.trying(0);
      await read(response, SILENCE_MS, ({ id: number, event, data }) => {
        // Only what is heard makes the next pause short again: a server may answer and hang up at once.
        attempt = 0;
        const told = toldOf(number, event, data);
        if (!told) return;
        last = told.number ?? last;
        // What a later run goes on to tell takes an earlier end back.
        isOver = ENDS.has(told.event.type);
        listener.tell(told);
      });
      if (!(await listener.ended()) || isOver) return;
    } catch (problem) {
      if (signal.aborted) return;
      if (problem instanceof Problem && isFinal(problem)) return listener.refused(problem);
      // The end was told; that the line broke afterwards does not matter.
      if (isOver && !(await listener.ended().catch(() => false))) return;
    }
    listener.trying(++attempt);
    await wait(PAUSES_MS[Math.min(attempt, PAUSES_MS.length) - 1] ?? 0, signal);
  }
}

function toldOf(id: string | undefined, type: string, data: string): Told | undefined {
  const number = id === undefined || id === "" ? undefined : Number(id);
  try {
    const event = { ...JSON.parse(data), type } as DebateEvent;
    return { number: Number.isFinite(number) ? number : undefined, event };
  } catch {
    return undefined;
  }
}

/** Nobody there, too many, or a server in trouble: worth another try. The rest is an answer. */
export function isFinal({ status }: Problem): boolean {
  return status >= 400 && status < 500 && status !== 408 && status !== 429;
}

/** A network that comes back, or a reader who does, ends the pause. */
export function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(handle);
      window.removeEventListener("online", done);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const handle = setTimeout(done, milliseconds);
    window.addEventListener("online", done);
    signal.addEventListener("abort", done);
  });
}
