/** One debate in a component, and what a person may do to it. */
import { useReducer } from "react";
import { ask, post, Problem } from "../shared/api";
import { useRun, type LineIs } from "../shared/listen";
import { debateSource } from "./follow";
import { answerTo, fresh, reduce, type Debate } from "./state";
import type { DebateEvent, Snapshot } from "./types";

export interface Listening {
  debate: Debate;
  isLoaded: boolean;
  line: LineIs;
  refused?: Problem;
  stop(): Promise<void>;
  answer(approved: boolean, note: string): Promise<void>;
  resume(): Promise<void>;
}

export function useDebate(id: string): Listening {
  const [debate, dispatch] = useReducer(reduce, id, fresh);
  const address = `/api/debate/${encodeURIComponent(id)}`;
  const { isLoaded, line, refused, again } = useRun<Snapshot, DebateEvent>({
    address,
    source: debateSource(id),
    status: debate.status,
    last: debate.last,
    // Of a debate that is complete the snapshot says all; of the others, events also tell what was cut off and why.
    isWhole: (status) => status === "completed",
    snapshot: (snapshot, isLast) => dispatch({ type: "snapshot", snapshot, isLast }),
    told: (events) => dispatch({ type: "told", events }),
  });
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
      try {
        await post(`${address}/approval`, answerTo(debate.question, approved, note));
      } catch (problem) {
        // Somebody else was quicker: what is asked now is another question, or none.
        if (problem instanceof Problem && problem.status === 409) again();
        throw problem;
      }
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
