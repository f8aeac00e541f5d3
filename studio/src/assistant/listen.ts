/** One conversation in a component, and what a person may do to it. */
import { useReducer } from "react";
import { post, Problem } from "../shared/api";
import { useRun, type LineIs } from "../shared/listen";
import { sessionAddress, sessionSource } from "./follow";
import { fresh, reduce, type Conversation } from "./state";
import { text } from "./strings";
import type { RunEvent, Snapshot } from "./types";

export interface Listening {
  conversation: Conversation;
  isLoaded: boolean;
  line: LineIs;
  refused?: Problem;
  say(message: string, model: string): Promise<void>;
  answer(questionId: string, answer: unknown): Promise<void>;
  stop(): Promise<void>;
}

export function useSession(id: string, userId: string): Listening {
  const [conversation, dispatch] = useReducer(reduce, id, fresh);
  // Also of a conversation that is over events are heard: they tell its plans, which the snapshot does not.
  const { isLoaded, line, refused, again } = useRun<Snapshot, RunEvent>({
    address: sessionAddress(id, userId),
    source: sessionSource(id, userId),
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
      await begin({ message, sessionId: id, userId, ...(model ? { model } : {}) });
      dispatch({ type: "asked", message });
      again();
    },
    answer: async (questionId, answer) => {
      try {
        await post(sessionAddress(id, userId, "/answer"), { questionId, answer });
      } catch (problem) {
        // Somebody else was quicker: what is asked now is another question, or none.
        if (problem instanceof Problem && problem.status === 409) again();
        throw problem;
      }
      dispatch({ type: "answered", answer: typeof answer === "string" ? answer : undefined });
      again();
    },
    stop: async () => {
      await post(sessionAddress(id, userId, "/stop"), {});
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
