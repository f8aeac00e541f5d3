/** What runs on the server, in a component: its snapshot first, then its stream, for as long as it goes on. */
import { useCallback, useEffect, useRef, useState } from "react";
import { json, Problem } from "./api";
import { batch } from "./batch";
import { follow, isFinal, pause, type Listener, type Source, type Told } from "./follow";
import type { Status } from "./status";

/** How often a tab that waits looks whether another one has answered. */
const LOOK_EVERY_MS = 5_000;
/** How long the page says that it is back. */
const BACK_MS = 2_000;

export type LineIs = { is: "fine" } | { is: "trying"; attempt: number } | { is: "back" };

interface Heard<Snapshot, Event> {
  /** Where the snapshot is. */
  address: string;
  source: Source<Event>;
  /** Where the page thinks it stands. */
  status: Status;
  /** Number of the last event that was told. */
  last: number;
  /** Of what ended like this the snapshot says all. */
  isWhole?(status: Status): boolean;
  snapshot(snapshot: Snapshot, isLast: boolean): void;
  told(events: Told<Event>[]): void;
}

export interface Line {
  isLoaded: boolean;
  line: LineIs;
  refused?: Problem;
  /** Looks and listens once more, after something was done to it. */
  again(): void;
}

export function useRun<Snapshot extends { status: Status }, Event>(heard: Heard<Snapshot, Event>): Line {
  const [isLoaded, setLoaded] = useState(false);
  const [line, setLine] = useState<LineIs>({ is: "fine" });
  const [refused, setRefused] = useState<Problem>();
  const [run, setRun] = useState(0);
  const latest = useRef(heard);
  latest.current = heard;
  const { address } = heard;

  useEffect(() => {
    const ending = new AbortController();
    const words = batch<Told<Event>>((events) => latest.current.told(events));
    const look = async (isLast: boolean) => {
      const snapshot = await json<Snapshot>(address, { signal: ending.signal });
      words.flush();
      latest.current.snapshot(snapshot, isLast);
      setLoaded(true);
      return snapshot.status;
    };
    const trying = (attempt: number) => setLine(attempt > 0 ? { is: "trying", attempt } : { is: "back" });
    const listener = { tell: words.add, trying, refused: setRefused, ended: async () => (await look(true)) === "running" };
    void (async () => {
      const status = await opened(() => look(false), listener, ending.signal);
      if (status === undefined || latest.current.isWhole?.(status)) return;
      await follow(latest.current.source, latest.current.last, listener, ending.signal);
      words.flush();
      setLine((now) => (now.is === "trying" ? { is: "fine" } : now));
    })();
    return () => {
      ending.abort();
      words.close();
    };
  }, [address, run]);

  useEffect(() => {
    if (line.is !== "back") return;
    const timer = setTimeout(() => setLine({ is: "fine" }), BACK_MS);
    return () => clearTimeout(timer);
  }, [line]);

  const again = useCallback(() => setRun((number) => number + 1), []);

  useEffect(() => {
    if (heard.status !== "waiting") return;
    const timer = setInterval(async () => {
      if (document.hidden) return;
      const status = await json<Snapshot>(address).then((snapshot) => snapshot.status, () => "waiting");
      if (status !== "waiting") again();
    }, LOOK_EVERY_MS);
    return () => clearInterval(timer);
  }, [heard.status]);

  return { isLoaded, line, refused, again };
}

/** The snapshot first, so that a page that is opened late shows all at once; tried until someone answers. */
async function opened(look: () => Promise<Status>, listener: Pick<Listener<never>, "trying" | "refused">, signal: AbortSignal): Promise<Status | undefined> {
  for (let attempt = 0; !signal.aborted; ) {
    try {
      const status = await look();
      if (attempt > 0) listener.trying(0);
      return status;
    } catch (cause) {
      if (signal.aborted) return undefined;
      if (cause instanceof Problem && isFinal(cause)) {
        listener.refused(cause);
        return undefined;
      }
      listener.trying(++attempt);
      await pause(Math.min(500 * attempt, 5_000), signal);
    }
  }
  return undefined;
}
