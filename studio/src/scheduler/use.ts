/** What the page keeps in step with the server: the calendar, the conversation that is open, what can be undone, what time it is. */
import { useCallback, useEffect, useRef, useState } from "react";
import type { Problem } from "../shared/api";
import { isFinal, pause } from "../shared/follow";
import type { LineIs } from "../shared/listen";
import { remember, remembered } from "../shared/theme";
import { api, problemOf } from "./api";
import type { Answer, Reply, Settings, Shown } from "./types";
import { changed, kept, live, type Undoable } from "./undo";
import { later, type Wall } from "./wall";

/** How often the page looks whether somebody else changed something. */
const LOOK_EVERY_MS = 20_000;
const LOOK_RUNNING_MS = 1_000;
/** How long the page says that it is back. */
const BACK_MS = 2_500;
const MOST_PAUSE_MS = 8_000;

export interface Watched {
  shown?: Shown;
  /** What is shown belongs to other days: nothing is known yet of these. */
  isElsewhere: boolean;
  line: LineIs;
  problem?: Problem;
  /** Looks once more, after something was changed. */
  refresh(): void;
}

/** What is on the calendar between two times, looked at again and again; what was seen last stays while nobody answers. */
export function useCalendar(userId: string, from: string, to: string): Watched {
  const [known, setKnown] = useState<{ range: string; shown: Shown }>();
  const range = `${userId} ${from} ${to}`;
  const [line, setLine] = useState<LineIs>({ is: "fine" });
  const [problem, setProblem] = useState<Problem>();
  const [turn, setTurn] = useState(0);
  const refresh = useCallback(() => setTurn((number) => number + 1), []);

  useEffect(() => {
    const ending = new AbortController();
    const { signal } = ending;
    void (async () => {
      for (let attempt = 0; !signal.aborted; ) {
        try {
          const shown = await api.events(userId, from, to, signal);
          setKnown({ range, shown });
          setProblem(undefined);
          setLine((now) => (now.is === "trying" ? { is: "back" } : now));
          return;
        } catch (cause) {
          if (signal.aborted) return;
          const found = problemOf(cause);
          if (isFinal(found)) {
            setLine({ is: "fine" });
            return setProblem(found);
          }
          setLine({ is: "trying", attempt: ++attempt });
          await pause(Math.min(500 * 2 ** attempt, MOST_PAUSE_MS), signal);
        }
      }
    })();
    return () => ending.abort();
  }, [userId, from, to, turn]);

  useEffect(() => {
    const look = () => document.hidden || refresh();
    const timer = setInterval(look, LOOK_EVERY_MS);
    document.addEventListener("visibilitychange", look);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", look);
    };
  }, []);

  useEffect(() => {
    if (line.is !== "back") return;
    const timer = setTimeout(() => setLine({ is: "fine" }), BACK_MS);
    return () => clearTimeout(timer);
  }, [line]);

  return { shown: known?.shown, isElsewhere: known?.range !== range, line, problem, refresh };
}

export interface Conversation {
  answer?: Answer;
  /** Whether the answer was there when the page was opened: nothing to read out or to jump to. */
  isPast: boolean;
  isSending: boolean;
  problem?: Problem;
  tell(text: string): Promise<Answer | undefined>;
  reply(answer: Reply): Promise<Answer | undefined>;
  /** Puts what was changed behind its back into the answer that is shown. */
  amend(answer: Answer): void;
  open(thread: string): void;
  close(): void;
}

/** The conversation that is open: `thread` as the address has it, `moved` when that should change. */
export function useConversation(userId: string, thread: string | undefined, moved: (thread: string | undefined) => void): Conversation {
  const [answer, setAnswer] = useState<Answer>();
  const [isPast, setPast] = useState(true);
  const [isSending, setSending] = useState(false);
  const [problem, setProblem] = useState<Problem>();
  const current = answer?.workflow_id === thread ? answer : undefined;

  useEffect(() => {
    if (!thread || (current && current.status !== "in_progress" && current.status !== "awaiting_user")) return;
    const ending = new AbortController();
    const look = () =>
      api.thread(userId, thread, ending.signal).then(
        (now) => { setAnswer((before) => (JSON.stringify(before) === JSON.stringify(now) ? before : now)); setProblem(undefined); },
        (cause) => {
          const found = problemOf(cause);
          if (ending.signal.aborted || !isFinal(found)) return;
          // There is no such conversation, or it is somebody else's.
          setProblem(found);
          moved(undefined);
        },
      );
    if (!current) {
      setPast(true);
      void look();
    }
    // Another tab may answer, and the server may still be at work.
    const timer = setInterval(() => document.hidden || isSending || void look(), !current || current.status === "in_progress" ? LOOK_RUNNING_MS : LOOK_EVERY_MS / 4);
    return () => {
      clearInterval(timer);
      ending.abort();
    };
  }, [userId, thread, current?.status, isSending]);

  const sending = async (work: () => Promise<Answer>) => {
    if (isSending) return undefined;
    setSending(true);
    setProblem(undefined);
    try {
      const now = await work();
      setPast(false);
      setAnswer(now);
      moved(now.workflow_id);
      return now;
    } catch (cause) {
      setProblem(problemOf(cause));
      return undefined;
    } finally {
      setSending(false);
    }
  };
  return {
    answer: current,
    isPast,
    isSending,
    problem,
    // A question that waits stays as it is; what is over can be gone on with.
    tell: (text) => sending(() => api.tell(userId, text, current && current.status === "completed" ? current.workflow_id : undefined)),
    reply: (reply) => sending(() => api.reply(userId, current!.workflow_id, current!.waiting!.question_id, reply)),
    amend: setAnswer,
    open: (id) => { setProblem(undefined); setPast(false); moved(id); },
    close: () => { setProblem(undefined); setAnswer(undefined); moved(undefined); },
  };
}

export interface Undoing {
  last?: Undoable;
  note(text: string): void;
  undo(): Promise<string>;
  /** The server knows better: there is nothing left. */
  forget(): void;
}

/** What can be taken back, also after a reload. */
export function useUndo(userId: string): Undoing {
  const key = `superstep.scheduler.undo.${userId}`;
  const [list, setList] = useState<Undoable[]>(() => kept(remembered(key), Date.now()));
  const keep = (next: (now: Undoable[]) => Undoable[]) => setList((before) => {
    const after = next(before);
    remember(key, JSON.stringify(after));
    return after;
  });
  const last = list.at(-1);
  useEffect(() => {
    if (!last) return;
    const timer = setTimeout(() => keep((now) => live(now, Date.now())), Math.max(0, last.until - Date.now()));
    return () => clearTimeout(timer);
  }, [last]);
  return {
    last,
    note: (text) => keep((now) => changed(now, text, Date.now())),
    undo: async () => {
      const { undone } = await api.undo(userId);
      keep((now) => now.slice(0, -1));
      return undone;
    },
    forget: () => keep(() => []),
  };
}

/** What the wall shows now, as the server's clock says; drawn again every half minute. */
export function useNow(settings: Settings): Wall {
  const begun = useRef({ now: settings.now, at: performance.now() });
  if (begun.current.now !== settings.now) begun.current = { now: settings.now, at: performance.now() };
  const [, draw] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => draw((number) => number + 1), 30_000);
    return () => clearInterval(timer);
  }, []);
  return later(settings.now ?? new Date().toISOString(), performance.now() - begun.current.at);
}

export function useMedia(query: string): boolean {
  const [does, setDoes] = useState(() => matchMedia(query).matches);
  useEffect(() => {
    const list = matchMedia(query);
    const look = () => setDoes(list.matches);
    list.addEventListener("change", look);
    return () => list.removeEventListener("change", look);
  }, [query]);
  return does;
}
