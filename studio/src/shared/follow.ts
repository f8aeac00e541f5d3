/** Follows what a server tells until the run ends: comes back by itself after a cut, missing nothing. */
import { ask, Problem } from "./api";
import { read, type Line } from "./sse";

/** The server sends a comment every 15 seconds; twice that without a byte is a dead line. */
export const SILENCE_MS = 35_000;
const PAUSES_MS = [500, 1_000, 2_000, 4_000, 8_000];

/** One event, with its number when it has one. */
export interface Told<Event> {
  number?: number;
  event: Event;
}

/** Where events are told, and which of them ends a run. */
export interface Source<Event> {
  /** `after`: the number of the last event that was heard; 0 for none. */
  address(after: number): string;
  isEnd(event: Event): boolean;
}

export interface Listener<Event> {
  tell(told: Told<Event>): void;
  /** 0: heard again; n: the n-th try to come back. */
  trying(attempt: number): void;
  /** The server refuses for good, e.g. there is no such thing. */
  refused(problem: Problem): void;
  /** The stream is over; says whether the run itself still goes on (then it is asked again). */
  ended(): Promise<boolean>;
}

/** Waits that long, or less when there is reason to hope. */
export type Wait = (milliseconds: number, signal: AbortSignal) => Promise<void>;

export async function follow<Event>(source: Source<Event>, after: number, listener: Listener<Event>, signal: AbortSignal, wait: Wait = pause): Promise<void> {
  let last = after;
  let attempt = 0;
  while (!signal.aborted) {
    let isOver = false;
    try {
      const response = await ask(source.address(last), { headers: { Accept: "text/event-stream" }, signal });
      if (attempt > 0) listener.trying(0);
      await read(response, SILENCE_MS, (line) => {
        // Only what is heard makes the next pause short again: a server may answer and hang up at once.
        attempt = 0;
        const told = toldOf<Event>(line);
        if (!told) return;
        last = told.number ?? last;
        // What a later run goes on to tell takes an earlier end back.
        isOver = source.isEnd(told.event);
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

/** The name of the event is its `type`; what cannot be read is passed over. */
export function toldOf<Event>({ id, event: type, data }: Line): Told<Event> | undefined {
  const number = id === undefined || id === "" ? undefined : Number(id);
  try {
    const said = JSON.parse(data);
    // An event without a name of its own may name itself.
    const event = { ...said, type: type === "message" && typeof said.event === "string" ? said.event : type } as Event;
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
