/** Follows a run: loads its snapshot, then its event stream until the run ends. */
import { useCallback, useEffect, useRef, useState } from "react";
import { Problem, requestJson } from "./api";
import { createRenderBatch } from "./render-batch";
import { type EventSourceConfig, followEventStream, isPermanentError, type NumberedEvent, type StreamListener, waitForRetry } from "./event-stream";
import type { Status } from "./status";

/** Interval at which a waiting tab checks whether another client answered. */
const POLL_INTERVAL_MS = 5_000;
/** Time for which the page shows that it has reconnected. */
const RECONNECTED_NOTICE_MS = 2_000;

export type ConnectionState = { status: "connected" } | { status: "reconnecting"; attempt: number } | { status: "reconnected" };

interface RunStreamOptions<Snapshot, Event> {
  /** URL of the snapshot. */
  url: string;
  source: EventSourceConfig<Event>;
  /** Status according to the page. */
  status: Status;
  /** Id of the last event received. */
  lastEventId: number;
  /** Returns whether the snapshot of a run with this status needs no events. */
  isSnapshotComplete?(status: Status): boolean;
  onSnapshot(snapshot: Snapshot, isLast: boolean): void;
  onEvents(events: NumberedEvent<Event>[]): void;
}

export interface RunStream {
  isLoaded: boolean;
  connection: ConnectionState;
  error?: Problem;
  /** Reloads the snapshot and the stream after an action. */
  reconnect(): void;
}

export function useRunStream<Snapshot extends { status: Status }, Event>(options: RunStreamOptions<Snapshot, Event>): RunStream {
  const [isLoaded, setLoaded] = useState(false);
  const [connection, setConnection] = useState<ConnectionState>({ status: "connected" });
  const [error, setError] = useState<Problem>();
  const [generation, setGeneration] = useState(0);
  const latest = useRef(options);
  latest.current = options;
  const { url } = options;

  useEffect(() => {
    const controller = new AbortController();
    const batch = createRenderBatch<NumberedEvent<Event>>((events) => latest.current.onEvents(events));
    const loadSnapshot = async (isLast: boolean) => {
      const snapshot = await requestJson<Snapshot>(url, { signal: controller.signal });
      batch.flush();
      latest.current.onSnapshot(snapshot, isLast);
      setLoaded(true);
      return snapshot.status;
    };
    const reportRetry = (attempt: number) => setConnection(attempt > 0 ? { status: "reconnecting", attempt } : { status: "reconnected" });
    const listener = { onEvent: batch.add, onRetry: reportRetry, onError: setError, onEnd: async () => (await loadSnapshot(true)) === "running" };
    void (async () => {
      const status = await loadWithRetry(() => loadSnapshot(false), listener, controller.signal);
      if (status === undefined || latest.current.isSnapshotComplete?.(status)) return;
      await followEventStream(latest.current.source, latest.current.lastEventId, listener, controller.signal);
      batch.flush();
      setConnection((current) => (current.status === "reconnecting" ? { status: "connected" } : current));
    })();
    return () => {
      controller.abort();
      batch.close();
    };
  }, [url, generation]);

  useEffect(() => {
    if (connection.status !== "reconnected") return;
    const timer = setTimeout(() => setConnection({ status: "connected" }), RECONNECTED_NOTICE_MS);
    return () => clearTimeout(timer);
  }, [connection]);

  const reconnect = useCallback(() => setGeneration((number) => number + 1), []);

  useEffect(() => {
    if (options.status !== "waiting") return;
    const timer = setInterval(async () => {
      if (document.hidden) return;
      const status = await requestJson<Snapshot>(url).then((snapshot) => snapshot.status, () => "waiting");
      if (status !== "waiting") reconnect();
    }, POLL_INTERVAL_MS);
    return () => clearInterval(timer);
  }, [options.status]);

  return { isLoaded, connection, error, reconnect };
}

/** Loads the snapshot and retries until the server responds. */
async function loadWithRetry(loadSnapshot: () => Promise<Status>, listener: Pick<StreamListener<never>, "onRetry" | "onError">, signal: AbortSignal): Promise<Status | undefined> {
  for (let attempt = 0; !signal.aborted; ) {
    try {
      const status = await loadSnapshot();
      if (attempt > 0) listener.onRetry(0);
      return status;
    } catch (cause) {
      if (signal.aborted) return undefined;
      if (cause instanceof Problem && isPermanentError(cause)) {
        listener.onError(cause);
        return undefined;
      }
      listener.onRetry(++attempt);
      await waitForRetry(Math.min(500 * attempt, 5_000), signal);
    }
  }
  return undefined;
}
