/** Requests suggestions and follows their event stream. */
import { useCallback, useEffect, useReducer, useRef, useState } from "react";
import { Problem, request, requestJson } from "../shared/api";
import { createRenderBatch } from "../shared/render-batch";
import { isPermanentError, parseEvent, STREAM_TIMEOUT_MS, waitForRetry } from "../shared/event-stream";
import type { ConnectionState } from "../shared/use-run-stream";
import { readSse } from "../shared/sse";
import { initialState, searchReducer, type SearchState } from "./state";
import type { RunEvent, SuggestionsResponse } from "./types";

export interface SuggestionsController {
  search: SearchState;
  connection: ConnectionState;
  problem?: Problem;
  stop(): void;
  restart(): void;
}

export function useSuggestions(id: string, model: string): SuggestionsController {
  const [search, dispatch] = useReducer(searchReducer, initialState);
  const [connection, setConnection] = useState<ConnectionState>({ status: "connected" });
  const [problem, setProblem] = useState<Problem>();
  const [generation, setGeneration] = useState(0);
  const controllerRef = useRef<AbortController>(undefined);

  useEffect(() => {
    const controller = new AbortController();
    controllerRef.current = controller;
    // A new post, model or attempt resets the state.
    setProblem(undefined);
    setConnection({ status: "connected" });
    dispatch({ type: "restarted" });
    const batch = createRenderBatch<RunEvent>((events) => dispatch({ type: "events", events }));
    const url = `/api/posts/${encodeURIComponent(id)}/suggestions${model ? `?model=${encodeURIComponent(model)}` : ""}`;
    void (async () => {
      for (let attempt = 0; !controller.signal.aborted; ) {
        try {
          if (!(await streamSuggestions(url, batch.add, controller.signal))) {
            // The stream ended without a result, so the JSON response is requested.
            dispatch({ type: "response", response: await requestJson<SuggestionsResponse>(url, { signal: controller.signal }) });
          }
          batch.flush();
          setConnection({ status: "connected" });
          return;
        } catch (cause) {
          if (controller.signal.aborted) return;
          const failure = cause instanceof Problem ? cause : undefined;
          if (failure && failure.status > 0 && (isPermanentError(failure) || failure.status >= 500)) {
            batch.flush();
            dispatch({ type: "stopped" });
            return setProblem(failure);
          }
          setConnection({ status: "reconnecting", attempt: ++attempt });
          await waitForRetry(Math.min(500 * attempt, 5_000), controller.signal);
          // A new attempt sends all events again.
          batch.flush();
          if (!controller.signal.aborted) dispatch({ type: "restarted" });
        }
      }
    })();
    return () => {
      controller.abort();
      batch.close();
    };
  }, [id, model, generation]);

  const restart = useCallback(() => setGeneration((number) => number + 1), []);
  const stop = useCallback(() => {
    controllerRef.current?.abort();
    setConnection({ status: "connected" });
    dispatch({ type: "stopped" });
  }, []);
  return { search, connection, problem, stop, restart };
}

/** Resolves to whether the stream had a result. */
async function streamSuggestions(url: string, onEvent: (event: RunEvent) => void, signal: AbortSignal): Promise<boolean> {
  let isComplete = false;
  const response = await request(`${url}${url.includes("?") ? "&" : "?"}stream=1`, { headers: { Accept: "text/event-stream" }, signal });
  try {
    await readSse(response, STREAM_TIMEOUT_MS, (connection) => {
      const item = parseEvent<RunEvent>(connection);
      if (!item) return;
      isComplete ||= item.event.type === "suggestions";
      onEvent(item.event);
    });
  } catch (cause) {
    if (!isComplete) throw cause;
  }
  return isComplete;
}
