/** State and actions of one conversation. */
import { useReducer } from "react";
import { postJson, Problem } from "../shared/api";
import { type ConnectionState, useRunStream } from "../shared/use-run-stream";
import { sessionEventSource, sessionUrl } from "./session-events";
import { initialState, sessionReducer, type SessionViewState } from "./state";
import { text } from "./strings";
import type { RunEvent, SessionSnapshot } from "./types";

export interface SessionController {
  conversation: SessionViewState;
  isLoaded: boolean;
  connection: ConnectionState;
  error?: Problem;
  send(message: string, model: string): Promise<void>;
  answer(questionId: string, answer: unknown): Promise<void>;
  stop(): Promise<void>;
}

export function useSession(id: string, userId: string): SessionController {
  const [conversation, dispatch] = useReducer(sessionReducer, id, initialState);
  // Events are also read for completed conversations, because snapshots have no plans.
  const { isLoaded, connection, error, reconnect } = useRunStream<SessionSnapshot, RunEvent>({
    url: sessionUrl(id, userId),
    source: sessionEventSource(id, userId),
    status: conversation.status,
    lastEventId: conversation.lastEventId,
    onSnapshot: (snapshot, isLast) => dispatch({ type: "snapshot", snapshot, isLast }),
    onEvents: (events) => dispatch({ type: "events", events }),
  });
  return {
    conversation,
    isLoaded,
    connection,
    error,
    send: async (message, model) => {
      await startTurn({ message, sessionId: id, userId, ...(model ? { model } : {}) });
      dispatch({ type: "message_sent", message });
      reconnect();
    },
    answer: async (questionId, answer) => {
      try {
        await postJson(sessionUrl(id, userId, "/answer"), { questionId, answer });
      } catch (problem) {
        // Another client answered first, so the state must be reloaded.
        if (problem instanceof Problem && problem.status === 409) reconnect();
        throw problem;
      }
      dispatch({ type: "answered", answer: typeof answer === "string" ? answer : undefined });
      reconnect();
    },
    stop: async () => {
      await postJson(sessionUrl(id, userId, "/stop"), {});
      // An interrupted run sends no event when it is stopped.
      if (conversation.status === "waiting") reconnect();
    },
  };
}

interface SendMessageRequest {
  message: string;
  sessionId?: string;
  userId: string;
  model?: string;
}

/** Starts a detached run, which continues when the page is closed. */
export async function startTurn(body: SendMessageRequest): Promise<string> {
  const response = await postJson("/api/assistant", { ...body, detach: true }, "text/event-stream");
  const id = body.sessionId ?? response.headers.get("X-Thread-Id") ?? response.headers.get("Location")?.split("/").pop();
  void response.body?.cancel();
  if (!id) throw new Problem(response.status, text.missing);
  return id;
}
