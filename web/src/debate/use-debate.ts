/** State and actions of one debate. */
import { useReducer } from "react";
import { postJson, Problem, request } from "../shared/api";
import { type ConnectionState, useRunStream } from "../shared/use-run-stream";
import { debateEventSource } from "./debate-events";
import { approvalRequest, debateReducer, type DebateViewState, initialState } from "./state";
import type { DebateEvent, DebateSnapshot } from "./types";

export interface DebateController {
  debate: DebateViewState;
  isLoaded: boolean;
  connection: ConnectionState;
  error?: Problem;
  stop(): Promise<void>;
  answer(approved: boolean, note: string): Promise<void>;
  resume(): Promise<void>;
}

export function useDebate(id: string): DebateController {
  const [debate, dispatch] = useReducer(debateReducer, id, initialState);
  const url = `/api/debate/${encodeURIComponent(id)}`;
  const { isLoaded, connection, error, reconnect } = useRunStream<DebateSnapshot, DebateEvent>({
    url,
    source: debateEventSource(id),
    status: debate.status,
    lastEventId: debate.lastEventId,
    // The snapshot of a completed debate is complete. For others, only events have partial turns and errors.
    isSnapshotComplete: (status) => status === "completed",
    onSnapshot: (snapshot, isLast) => dispatch({ type: "snapshot", snapshot, isLast }),
    onEvents: (events) => dispatch({ type: "events", events }),
  });
  return {
    debate,
    isLoaded,
    connection,
    error,
    stop: async () => {
      await request(url, { method: "DELETE" });
      // An interrupted run sends no event when it is stopped.
      if (debate.status === "waiting") reconnect();
    },
    answer: async (approved, note) => {
      try {
        await postJson(`${url}/approval`, approvalRequest(debate.question, approved, note));
      } catch (problem) {
        // Another client answered first, so the state must be reloaded.
        if (problem instanceof Problem && problem.status === 409) reconnect();
        throw problem;
      }
      dispatch({ type: "answered" });
      reconnect();
    },
    resume: async () => {
      await postJson(`${url}/resume`, {});
      dispatch({ type: "resumed" });
      reconnect();
    },
  };
}
