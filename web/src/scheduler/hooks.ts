/** Hooks that synchronize with the server: calendar events, conversation, undo history, current time. */
import { useCallback, useEffect, useRef, useState } from "react";
import type { Problem } from "../shared/api";
import { isPermanentError, waitForRetry } from "../shared/event-stream";
import type { ConnectionState } from "../shared/use-run-stream";
import { readSetting, writeSetting } from "../shared/local-storage";
import { api, toProblem } from "./api";
import type { EventsResponse, ResumeValue, Settings, WorkflowResponse } from "./types";
import { activeEntries, parseUndoHistory, pushUndoEntry, type UndoEntry } from "./undo-history";
import { addElapsed, type LocalTime } from "./local-time";

/** Interval that polls for changes of other clients. */
const POLL_INTERVAL_MS = 20_000;
const RUNNING_POLL_INTERVAL_MS = 1_000;
/** Time for which the page shows that it has reconnected. */
const RECONNECTED_NOTICE_MS = 2_500;
const MAX_RETRY_DELAY_MS = 8_000;

export interface CalendarEvents {
  response?: EventsResponse;
  /** The response is for another range; events of this one are not loaded. */
  isStale: boolean;
  connection: ConnectionState;
  problem?: Problem;
  /** Reloads the events after a change. */
  refresh(): void;
}

/** Polls the events of a range. The last response stays while the server is unreachable. */
export function useCalendarEvents(userId: string, from: string, to: string): CalendarEvents {
  const [loaded, setLoaded] = useState<{ range: string; response: EventsResponse }>();
  const range = `${userId} ${from} ${to}`;
  const [connection, setConnection] = useState<ConnectionState>({ status: "connected" });
  const [problem, setProblem] = useState<Problem>();
  const [generation, setGeneration] = useState(0);
  const refresh = useCallback(() => setGeneration((number) => number + 1), []);

  useEffect(() => {
    const controller = new AbortController();
    const { signal } = controller;
    void (async () => {
      for (let attempt = 0; !signal.aborted; ) {
        try {
          const response = await api.events(userId, from, to, signal);
          setLoaded({ range, response });
          setProblem(undefined);
          setConnection((current) => (current.status === "reconnecting" ? { status: "reconnected" } : current));
          return;
        } catch (cause) {
          if (signal.aborted) return;
          const failure = toProblem(cause);
          if (isPermanentError(failure)) {
            setConnection({ status: "connected" });
            return setProblem(failure);
          }
          setConnection({ status: "reconnecting", attempt: ++attempt });
          await waitForRetry(Math.min(500 * 2 ** attempt, MAX_RETRY_DELAY_MS), signal);
        }
      }
    })();
    return () => controller.abort();
  }, [userId, from, to, generation]);

  useEffect(() => {
    const update = () => document.hidden || refresh();
    const timer = setInterval(update, POLL_INTERVAL_MS);
    document.addEventListener("visibilitychange", update);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", update);
    };
  }, []);

  useEffect(() => {
    if (connection.status !== "reconnected") return;
    const timer = setTimeout(() => setConnection({ status: "connected" }), RECONNECTED_NOTICE_MS);
    return () => clearTimeout(timer);
  }, [connection]);

  return { response: loaded?.response, isStale: loaded?.range !== range, connection, problem, refresh };
}

export interface ConversationController {
  answer?: WorkflowResponse;
  /** The response existed when the page was opened, so it is not announced and gets no focus. */
  isHistory: boolean;
  isSending: boolean;
  problem?: Problem;
  send(text: string): Promise<WorkflowResponse | undefined>;
  reply(answer: ResumeValue): Promise<WorkflowResponse | undefined>;
  /** Replaces the shown response after its event was changed directly. */
  amend(answer: WorkflowResponse): void;
  open(thread: string): void;
  close(): void;
}

/** The open conversation. `thread` comes from the URL; `onThreadChange` updates it. */
export function useConversation(userId: string, thread: string | undefined, onThreadChange: (thread: string | undefined) => void): ConversationController {
  const [answer, setAnswer] = useState<WorkflowResponse>();
  const [isHistory, setHistory] = useState(true);
  const [isSending, setSending] = useState(false);
  const [problem, setProblem] = useState<Problem>();
  const current = answer?.workflow_id === thread ? answer : undefined;

  useEffect(() => {
    if (!thread || (current && current.status !== "in_progress" && current.status !== "awaiting_user")) return;
    const controller = new AbortController();
    const update = () =>
      api.thread(userId, thread, controller.signal).then(
        (current) => { setAnswer((before) => (JSON.stringify(before) === JSON.stringify(current) ? before : current)); setProblem(undefined); },
        (cause) => {
          const failure = toProblem(cause);
          if (controller.signal.aborted || !isPermanentError(failure)) return;
          // The conversation does not exist or belongs to another member.
          setProblem(failure);
          onThreadChange(undefined);
        },
      );
    if (!current) {
      setHistory(true);
      void update();
    }
    // Another tab may answer, and the run may still be in progress.
    const timer = setInterval(() => document.hidden || isSending || void update(), !current || current.status === "in_progress" ? RUNNING_POLL_INTERVAL_MS : POLL_INTERVAL_MS / 4);
    return () => {
      clearInterval(timer);
      controller.abort();
    };
  }, [userId, thread, current?.status, isSending]);

  const submit = async (operation: () => Promise<WorkflowResponse>) => {
    if (isSending) return undefined;
    setSending(true);
    setProblem(undefined);
    try {
      const current = await operation();
      setHistory(false);
      setAnswer(current);
      onThreadChange(current.workflow_id);
      return current;
    } catch (cause) {
      setProblem(toProblem(cause));
      return undefined;
    } finally {
      setSending(false);
    }
  };
  return {
    answer: current,
    isHistory,
    isSending,
    problem,
    // Only a completed conversation is continued. An open interrupt stays open.
    send: (text) => submit(() => api.createRequest(userId, text, current && current.status === "completed" ? current.workflow_id : undefined)),
    reply: (reply) => submit(() => api.reply(userId, current!.workflow_id, current!.waiting!.question_id, reply)),
    amend: setAnswer,
    open: (id) => { setProblem(undefined); setHistory(false); onThreadChange(id); },
    close: () => { setProblem(undefined); setAnswer(undefined); onThreadChange(undefined); },
  };
}

export interface UndoController {
  last?: UndoEntry;
  add(text: string): void;
  undo(): Promise<string>;
  /** Clears the history, because the server has nothing to undo. */
  clear(): void;
}

/** Undo history, saved in the browser. */
export function useUndo(userId: string): UndoController {
  const key = `superstep.scheduler.undo.${userId}`;
  const [entries, setEntries] = useState<UndoEntry[]>(() => parseUndoHistory(readSetting(key), Date.now()));
  const updateEntries = (next: (current: UndoEntry[]) => UndoEntry[]) => setEntries((before) => {
    const after = next(before);
    writeSetting(key, JSON.stringify(after));
    return after;
  });
  const last = entries.at(-1);
  useEffect(() => {
    if (!last) return;
    const timer = setTimeout(() => updateEntries((current) => activeEntries(current, Date.now())), Math.max(0, last.until - Date.now()));
    return () => clearTimeout(timer);
  }, [last]);
  return {
    last,
    add: (text) => updateEntries((current) => pushUndoEntry(current, text, Date.now())),
    undo: async () => {
      const { undone } = await api.undo(userId);
      updateEntries((current) => current.slice(0, -1));
      return undone;
    },
    clear: () => updateEntries(() => []),
  };
}

/** Current local time according to the server clock. Renders again every 30 seconds. */
export function useNow(settings: Settings): LocalTime {
  const started = useRef({ now: settings.now, at: performance.now() });
  if (started.current.now !== settings.now) started.current = { now: settings.now, at: performance.now() };
  const [, rerender] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => rerender((number) => number + 1), 30_000);
    return () => clearInterval(timer);
  }, []);
  return addElapsed(settings.now ?? new Date().toISOString(), performance.now() - started.current.at);
}

export function useMediaQuery(query: string): boolean {
  const [matches, setMatches] = useState(() => matchMedia(query).matches);
  useEffect(() => {
    const mediaQuery = matchMedia(query);
    const update = () => setMatches(mediaQuery.matches);
    mediaQuery.addEventListener("change", update);
    return () => mediaQuery.removeEventListener("change", update);
  }, [query]);
  return matches;
}
