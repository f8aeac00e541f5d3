/** One conversation in a component, and what a person may do to it. */
import { useReducer } from "react";
import { post, Problem } from "../shared/api";
import { useRun, type LineIs } from "../shared/listen";
import { sessionSource } from "./follow";
import { fresh, reduce, type Conversation } from "./state";
import { text } from "./strings";
import type { RunEvent, Snapshot } from "./types";

export interface Listening {
  conversation: Conversation;
  isLoaded: boolean;
  line: LineIs;
  refused?: Problem;
  say(message: string, model: string): Promise<void>;
  answer(answer: unknown): Promise<void>;
  stop(): Promise<void>;
}

export function useSession(id: string): Listening {
  const [conversation, dispatch] = useReducer(reduce, id, fresh);
  const address = `/api/assistant/${encodeURIComponent(id)}`;
  // Also of a conversation that is over events are heard: they tell its plans, which the snapshot does not.
  const { isLoaded, line, refused, again } = useRun<Snapshot, RunEvent>({
    address,
    source: sessionSource(id),
    status: conversation.status,
    last: conversation.last,
    snapshot: (snapshot, isLast) => dispatch({ type: "snapshot", snapshot, isLast }),
    told: (events) => dispatch({ type: "told", events }),
  });
  return {
    conversation,
    isLoaded,
    line,
    refused,
    say: async (message, model) => {
      await begin({ message, sessionId: id, userId: conversation.userId ?? "", ...(model ? { model } : {}) });
      dispatch({ type: "asked", message });
      again();
    },
    answer: async (answer) => {
      await post(`${address}/answer`, { answer });
      dispatch({ type: "answered", answer: typeof answer === "string" ? answer : undefined });
      again();
    },
    stop: async () => {
      await post(`${address}/stop`, {});
      // Nobody speaks while it waits, so nobody would tell that it was stopped.
      if (conversation.status === "waiting") again();
    },
  };
}

interface Wish {
  message: string;
  sessionId?: string;
  userId: string;
  model?: string;
}

/** The run must outlive this page, so it is detached, and followed from the address of its conversation. */
export async function begin(wish: Wish): Promise<string> {
  const response = await post("/api/assistant", { ...wish, detach: true }, "text/event-stream");
  const id = wish.sessionId ?? response.headers.get("X-Thread-Id") ?? response.headers.get("Location")?.split("/").pop();
  void response.body?.cancel();
  if (!id) throw new Problem(response.status, text.missing);
  return id;
}
