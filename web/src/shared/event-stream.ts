/** Follows an event stream until the run ends. Reconnects with the last event id, so no event is lost. */
import { Problem, request } from "./api";
import { readSse, type SseMessage } from "./sse";

/** The server sends a comment every 15 seconds, so twice that means a dead connection. */
export const STREAM_TIMEOUT_MS = 35_000;
const RETRY_DELAYS_MS = [500, 1_000, 2_000, 4_000, 8_000];

/** An event with its id, if it has one. */
export interface NumberedEvent<Event> {
  number?: number;
  event: Event;
}

/** URL of an event stream and its terminal events. */
export interface EventSourceConfig<Event> {
  /** `after`: id of the last received event, 0 for none. */
  url(after: number): string;
  isEnd(event: Event): boolean;
}

export interface StreamListener<Event> {
  onEvent(item: NumberedEvent<Event>): void;
  /** 0 when connected again, n for the n-th retry. */
  onRetry(attempt: number): void;
  /** Called for permanent errors such as 404. */
  onError(problem: Problem): void;
  /** Called at the end of the stream. Resolves to whether the run is still in progress; if so, the stream is requested again. */
  onEnd(): Promise<boolean>;
}

/** Waits before a retry. */
export type WaitFn = (milliseconds: number, signal: AbortSignal) => Promise<void>;

export async function followEventStream<Event>(source: EventSourceConfig<Event>, after: number, listener: StreamListener<Event>, signal: AbortSignal, wait: WaitFn = waitForRetry): Promise<void> {
  let lastEventId = after;
  let attempt = 0;
  while (!signal.aborted) {
    let isEnded = false;
    try {
      const response = await request(source.url(lastEventId), { headers: { Accept: "text/event-stream" }, signal });
      if (attempt > 0) listener.onRetry(0);
      await readSse(response, STREAM_TIMEOUT_MS, (message) => {
        // Only a received event resets the backoff: a server may accept and close at once.
        attempt = 0;
        const item = parseEvent<Event>(message);
        if (!item) return;
        lastEventId = item.number ?? lastEventId;
        // Events of a later run revoke an earlier end.
        isEnded = source.isEnd(item.event);
        listener.onEvent(item);
      });
      if (!(await listener.onEnd()) || isEnded) return;
    } catch (problem) {
      if (signal.aborted) return;
      if (problem instanceof Problem && isPermanentError(problem)) return listener.onError(problem);
      // The terminal event was received, so a later connection error does not matter.
      if (isEnded && !(await listener.onEnd().catch(() => false))) return;
    }
    listener.onRetry(++attempt);
    await wait(RETRY_DELAYS_MS[Math.min(attempt, RETRY_DELAYS_MS.length) - 1] ?? 0, signal);
  }
}

/** Parses an event. The SSE event name becomes `type`; invalid JSON is skipped. */
export function parseEvent<Event>({ id, event: type, data }: SseMessage): NumberedEvent<Event> | undefined {
  const number = id === undefined || id === "" ? undefined : Number(id);
  try {
    const body = JSON.parse(data);
    // Unnamed SSE events can carry their name in the body.
    const event = { ...body, type: type === "message" && typeof body.event === "string" ? body.event : type } as Event;
    return { number: Number.isFinite(number) ? number : undefined, event };
  } catch {
    return undefined;
  }
}

/** Returns whether a retry is useless. Timeouts, rate limits and server errors are retried. */
export function isPermanentError({ status }: Problem): boolean {
  return status >= 400 && status < 500 && status !== 408 && status !== 429;
}

/** Waits before a retry. An `online` event ends the wait. */
export function waitForRetry(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const finish = () => {
      clearTimeout(handle);
      window.removeEventListener("online", finish);
      signal.removeEventListener("abort", finish);
      resolve();
    };
    const handle = setTimeout(finish, milliseconds);
    window.addEventListener("online", finish);
    signal.addEventListener("abort", finish);
  });
}
