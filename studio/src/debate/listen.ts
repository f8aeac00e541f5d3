/** One debate in a component: its snapshot, its stream, and what a person may do to it. */
import { useCallback, useEffect, useReducer, useRef, useState } from "react";
import { ask, json, post, Problem } from "../shared/api";
import { batch } from "./batch";
import { follow, isFinal, pause, type Listener } from "./follow";
import { fresh, reduce, type Debate, type Told } from "./state";
import type { Snapshot, Status } from "./types";

/** How often a tab that waits looks whether another one has answered. */
const LOOK_EVERY_MS = 5_000;
/** How long the page says that it is back. */
const BACK_MS = 2_000;

export type Line = { is: "fine" } | { is: "trying"; attempt: number } | { is: "back" };

export interface Listening {
  debate: Debate;
  isLoaded: boolean;
  line: Line;
  refused?: Problem;
  stop(): Promise<void>;
  answer(approved: boolean, note: string): Promise<void>;
  resume(): Promise<void>;
}

export function useDebate(id: string): Listening {
  const [debate, dispatch] = useReducer(reduce, id, fresh);
  const [isLoaded, setLoaded] = useState(false);
  const [line, setLine] = useState<Line>({ is: "fine" });
  const [refused, setRefused] = useState<Problem>();
  const [run, setRun] = useState(0);
  const last = useRef(0);
  last.current = debate.last;
  const address = `/api/debate/${encodeURIComponent(id)}`;

  useEffect(() => {
    const ending = new AbortController();
    const words = batch<Told>((events) => dispatch({ type: "told", events }));
    const look = async (isLast: boolean) => {
      const snapshot = await json<Snapshot>(address, { signal: ending.signal });
      words.flush();
      dispatch({ type: "snapshot", snapshot, isLast });
      setLoaded(true);
      return snapshot.status;
    };
    const trying = (attempt: number) => setLine(attempt > 0 ? { is: "trying", attempt } : { is: "back" });
    const listener = { tell: words.add, trying, refused: setRefused, ended: async () => (await look(true)) === "running" };
    void (async () => {
      const status = await opened(() => look(false), listener, ending.signal);
      // Of a debate that is complete the snapshot says all; of the others, events also tell what was cut off and why.
      if (status === undefined || status === "completed") return;
      await follow(id, last.current, listener, ending.signal);
      words.flush();
      setLine((now) => (now.is === "trying" ? { is: "fine" } : now));
    })();
    return () => {
      ending.abort();
      words.close();
    };
  }, [id, run]);

  useEffect(() => {
    if (line.is !== "back") return;
    const timer = setTimeout(() => setLine({ is: "fine" }), BACK_MS);
    return () => clearTimeout(timer);
  }, [line]);

  const again = useCallback(() => setRun((number) => number + 1), []);

  useEffect(() => {
    if (debate.status !== "waiting") return;
    const timer = setInterval(async () => {
      if (document.hidden) return;
      const status = await json<Snapshot>(address).then((snapshot) => snapshot.status, () => "waiting");
      if (status !== "waiting") again();
    }, LOOK_EVERY_MS);
    return () => clearInterval(timer);
  }, [debate.status]);

  return {
    debate,
    isLoaded,
    line,
    refused,
    stop: async () => {
      await ask(address, { method: "DELETE" });
      // Nobody speaks while it waits, so nobody would tell that it was stopped.
      if (debate.status === "waiting") again();
    },
    answer: async (approved, note) => {
      await post(`${address}/approval`, note.trim() ? { approved, note: note.trim() } : { approved });
      dispatch({ type: "answered" });
      again();
    },
    resume: async () => {
      await post(`${address}/resume`, {});
      dispatch({ type: "resumed" });
      again();
    },
  };
}

/** The snapshot first, so that a page that is opened late shows all at once; tried until someone answers. */
async function opened(look: () => Promise<Status>, listener: Pick<Listener, "trying" | "refused">, signal: AbortSignal): Promise<Status | undefined> {
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
