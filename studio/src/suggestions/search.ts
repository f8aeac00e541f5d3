/** Asks for suggestions and listens while they are looked up. */
import { useCallback, useEffect, useReducer, useRef, useState } from "react";
import { ask, json, Problem } from "../shared/api";
import { batch } from "../shared/batch";
import { isFinal, pause, SILENCE_MS, toldOf } from "../shared/follow";
import type { LineIs } from "../shared/listen";
import { read } from "../shared/sse";
import { fresh, reduce, type Search } from "./state";
import type { RunEvent, Suggested } from "./types";

export interface Searching {
  search: Search;
  line: LineIs;
  problem?: Problem;
  stop(): void;
  again(): void;
}

export function useSearch(id: string, model: string): Searching {
  const [search, dispatch] = useReducer(reduce, fresh);
  const [line, setLine] = useState<LineIs>({ is: "fine" });
  const [problem, setProblem] = useState<Problem>();
  const [run, setRun] = useState(0);
  const ending = useRef<AbortController>(undefined);

  useEffect(() => {
    const stopping = new AbortController();
    ending.current = stopping;
    // Another post, another planner or another try: nothing of the search before is left.
    setProblem(undefined);
    setLine({ is: "fine" });
    dispatch({ type: "again" });
    const words = batch<RunEvent>((events) => dispatch({ type: "told", events }));
    const address = `/api/posts/${encodeURIComponent(id)}/suggestions${model ? `?model=${encodeURIComponent(model)}` : ""}`;
    void (async () => {
      for (let attempt = 0; !stopping.signal.aborted; ) {
        try {
          if (!(await listened(address, words.add, stopping.signal))) {
            // The stream ended without a result; the plain answer has it, or says why not.
            dispatch({ type: "answered", suggested: await json<Suggested>(address, { signal: stopping.signal }) });
          }
          words.flush();
          setLine({ is: "fine" });
          return;
        } catch (cause) {
          if (stopping.signal.aborted) return;
          const found = cause instanceof Problem ? cause : undefined;
          if (found && found.status > 0 && (isFinal(found) || found.status >= 500)) {
            words.flush();
            dispatch({ type: "stopped" });
            return setProblem(found);
          }
          setLine({ is: "trying", attempt: ++attempt });
          await pause(Math.min(500 * attempt, 5_000), stopping.signal);
          // What is searched again is told again, from the beginning.
          words.flush();
          if (!stopping.signal.aborted) dispatch({ type: "again" });
        }
      }
    })();
    return () => {
      stopping.abort();
      words.close();
    };
  }, [id, model, run]);

  const again = useCallback(() => setRun((number) => number + 1), []);
  const stop = useCallback(() => {
    ending.current?.abort();
    setLine({ is: "fine" });
    dispatch({ type: "stopped" });
  }, []);
  return { search, line, problem, stop, again };
}

/** Says whether the result was told. */
async function listened(address: string, tell: (event: RunEvent) => void, signal: AbortSignal): Promise<boolean> {
  let isTold = false;
  const response = await ask(`${address}${address.includes("?") ? "&" : "?"}stream=1`, { headers: { Accept: "text/event-stream" }, signal });
  try {
    await read(response, SILENCE_MS, (line) => {
      const told = toldOf<RunEvent>(line);
      if (!told) return;
      isTold ||= told.event.type === "suggestions";
      tell(told.event);
    });
  } catch (cause) {
    if (!isTold) throw cause;
  }
  return isTold;
}
