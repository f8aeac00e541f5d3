/** Actions of the page. Each change reloads the calendar, is announced and can be undone. */
import { useEffect, useState } from "react";
import type { Announcement } from "../shared/live-announcer";
import type { Problem } from "../shared/api";
import { correctionMethod } from "./response-panel";
import { api, toProblem } from "./api";
import { applyPatchToResponse, type Chip, type Correction, correctionScope, correctionToPatch, correctionToReply, correctSentence, responseEvent } from "./parsed-chips";
import { displayTimeZone, nameLookup } from "./members";
import { text } from "./strings";
import type { ResumeValue, Settings, WorkflowResponse } from "./types";
import { type ConversationController, useConversation, useUndo } from "./hooks";
import type { UndoEntry } from "./undo-history";
import { type Day, toLocalTime } from "./local-time";

/** Time for which the undo message is shown. */
const FLASH_MS = 3_000;
const MAX_NOTES = 20;
/** Actions that change the calendar. */
const CHANGE_ACTIONS = ["created", "changed", "cancelled"];

interface ActionOptions {
  settings: Settings;
  userId: string;
  thread?: string;
  onThreadChange(thread: string | undefined): void;
  /** Navigates to a day if it is not visible. */
  showDay(day: Day): void;
  refresh(): void;
}

export interface SchedulerActions {
  conversation: ConversationController;
  last?: UndoEntry;
  /** Announcements besides the response. */
  notes: Announcement[];
  /** Message of the last undo. */
  flash: string;
  problem?: Problem;
  /** Resolves to whether the request was accepted. */
  send(sentence: string): Promise<boolean>;
  reply(answer: ResumeValue): Promise<void>;
  correct(chip: Chip, correction: Correction, isForced: boolean): Promise<void>;
  undo(): Promise<void>;
  onChanged(message: string): void;
}

export function useSchedulerActions({ settings, userId, thread, onThreadChange, showDay, refresh }: ActionOptions): SchedulerActions {
  const conversation = useConversation(userId, thread, onThreadChange);
  const undoHistory = useUndo(userId);
  const [notes, setNotes] = useState<Announcement[]>([]);
  const [problem, setProblem] = useState<Problem>();
  const [flash, setFlash] = useState("");
  const { answer } = conversation;
  useEffect(() => {
    const timer = setTimeout(() => setFlash(""), FLASH_MS);
    return () => clearTimeout(timer);
  }, [flash]);

  const announce = (message: string) => setNotes((current) => [...current, { key: `${Date.now()}/${current.length}`, text: message, isDone: true }].slice(-MAX_NOTES));
  const onChanged = (message: string) => {
    undoHistory.add(message);
    announce(message);
    refresh();
  };
  const handleResponse = (response: WorkflowResponse | undefined) => {
    if (!response) return;
    const event = responseEvent(response);
    const action = response.result?.action ?? "none";
    if (response.status === "completed" && CHANGE_ACTIONS.includes(action)) {
      undoHistory.add(response.explanation || `${text.answer.done[action]}: ${event?.title ?? ""}`);
    }
    refresh();
    const start = response.waiting?.understood?.start_time ?? event?.start;
    if (start) showDay(toLocalTime(start).day);
  };
  const send = async (sentence: string) => {
    const response = await conversation.send(sentence);
    handleResponse(response);
    return response !== undefined;
  };
  const reply = async (value: ResumeValue) => handleResponse(await conversation.reply(value));

  const undo = async () => {
    try {
      const undone = text.undo.undone(await undoHistory.undo());
      setProblem(undefined);
      setFlash(undone);
      announce(undone);
      // The shown response is no longer true.
      if (CHANGE_ACTIONS.includes(answer?.result?.action ?? "")) conversation.close();
    } catch (cause) {
      const problem = toProblem(cause);
      // Only a conflict means that nothing is left; other errors can be retried.
      if (problem.status === 409) undoHistory.clear();
      setProblem(problem);
      announce(problem.message || text.undo.failed);
    }
    refresh();
  };
  const correct = useCorrection({ settings, userId, conversation, send, reply, onChanged, showDay });
  return { conversation, last: undoHistory.last, notes, flash, problem, send, reply, correct, undo, onChanged };
}

type CorrectionOptions = Pick<ActionOptions, "settings" | "userId" | "showDay"> & Pick<SchedulerActions, "conversation" | "send" | "reply" | "onChanged">;

/** Corrects a part of the parsed request: answers the interrupt, patches the event, or sends the sentence again. */
function useCorrection({ settings, userId, conversation, send, reply, onChanged, showDay }: CorrectionOptions): SchedulerActions["correct"] {
  const names = nameLookup(settings);
  const zone = displayTimeZone(settings, userId);
  const { answer } = conversation;
  return async (chip, correction, isForced) => {
    if (!answer) return;
    const method = correctionMethod(answer);
    const { waiting, understood, messages = [] } = answer;
    const data = waiting?.understood ?? understood?.data;
    if (method === "answer" && data) return reply(correctionToReply(correction, data, names, zone));
    const event = responseEvent(answer);
    const patch = method === "patch" && event ? correctionToPatch(correction, event, zone) : undefined;
    if (patch && event?.id) {
      const { event: changedEvent } = await api.change(userId, event.id, { ...patch, ...correctionScope(event), ...(isForced ? { force: true } : {}) });
      const message = text.event.changed(patch.title ?? event.title);
      conversation.amend(applyPatchToResponse(answer, correction, patch, message, changedEvent));
      onChanged(message);
      if (patch.start) showDay(toLocalTime(patch.start).day);
      return;
    }
    const sentence = correctSentence(messages.findLast(({ role }) => role === "user")?.content ?? "", chip.texts, correction, names);
    // Declines the open interrupt first, because it would stay open otherwise.
    if (waiting && !(await conversation.reply(waiting.kind === "confirmation" ? { confirm: false } : { decline: true }))) return;
    await send(sentence);
  };
}
