/** What a member does on the page, and what follows from it: the calendar is looked at again, the change can be undone, it is read out. */
import { useEffect, useState } from "react";
import type { Speech } from "../shared/aloud";
import type { Problem } from "../shared/api";
import { wayOf } from "./answer";
import { api, problemOf } from "./api";
import { amended, corrected, eventOf, patchOf, replyOf, scopeOf, type Chip, type Correction } from "./chips";
import { namesOf, zoneOf } from "./family";
import { text } from "./strings";
import type { Answer, Reply, Settings } from "./types";
import { useConversation, useUndo, type Conversation } from "./use";
import type { Undoable } from "./undo";
import { wallOf, type Day } from "./wall";

/** How long the page shows that something was undone. */
const FLASH_MS = 3_000;
const MOST_NOTES = 20;
/** What an answer can have done to the calendar. */
const DONE = ["created", "changed", "cancelled"];

interface Given {
  settings: Settings;
  userId: string;
  thread?: string;
  moved(thread: string | undefined): void;
  /** Makes a day visible. */
  show(day: Day): void;
  refresh(): void;
}

export interface Acts {
  conversation: Conversation;
  last?: Undoable;
  /** What is to be read out beside the answer. */
  notes: Speech[];
  /** What was undone just now. */
  flash: string;
  trouble?: Problem;
  /** Gives back whether the sentence was taken. */
  tell(sentence: string): Promise<boolean>;
  reply(answer: Reply): Promise<void>;
  correct(chip: Chip, correction: Correction, isForced: boolean): Promise<void>;
  undo(): Promise<void>;
  changed(what: string): void;
}

export function useActs({ settings, userId, thread, moved, show, refresh }: Given): Acts {
  const conversation = useConversation(userId, thread, moved);
  const undoing = useUndo(userId);
  const [notes, setNotes] = useState<Speech[]>([]);
  const [trouble, setTrouble] = useState<Problem>();
  const [flash, setFlash] = useState("");
  const { answer } = conversation;
  useEffect(() => {
    const timer = setTimeout(() => setFlash(""), FLASH_MS);
    return () => clearTimeout(timer);
  }, [flash]);

  const say = (what: string) => setNotes((said) => [...said, { key: `${Date.now()}/${said.length}`, text: what, isDone: true }].slice(-MOST_NOTES));
  const changed = (what: string) => {
    undoing.note(what);
    say(what);
    refresh();
  };
  const came = (now: Answer | undefined) => {
    if (!now) return;
    const event = eventOf(now);
    const action = now.result?.action ?? "none";
    if (now.status === "completed" && DONE.includes(action)) {
      undoing.note(now.explanation || `${text.answer.done[action]}: ${event?.title ?? ""}`);
    }
    refresh();
    const at = now.waiting?.understood?.start_time ?? event?.start;
    if (at) show(wallOf(at).day);
  };
  const tell = async (sentence: string) => {
    const now = await conversation.tell(sentence);
    came(now);
    return now !== undefined;
  };
  const reply = async (reply_: Reply) => came(await conversation.reply(reply_));

  const undo = async () => {
    try {
      const undone = text.undo.undone(await undoing.undo());
      setTrouble(undefined);
      setFlash(undone);
      say(undone);
      // What came of the last sentence is no longer so.
      if (DONE.includes(answer?.result?.action ?? "")) conversation.close();
    } catch (cause) {
      const problem = problemOf(cause);
      // Only who knows that there is nothing left may say so; when nobody answers, it can be tried again.
      if (problem.status === 409) undoing.forget();
      setTrouble(problem);
      say(problem.message || text.undo.failed);
    }
    refresh();
  };
  const correct = useCorrect({ settings, userId, conversation, tell, reply, changed, show });
  return { conversation, last: undoing.last, notes, flash, trouble, tell, reply, correct, undo, changed };
}

type Correcting = Pick<Given, "settings" | "userId" | "show"> & Pick<Acts, "conversation" | "tell" | "reply" | "changed">;

/** A piece that was understood wrongly: answered, changed on the calendar, or said again, as things stand. */
function useCorrect({ settings, userId, conversation, tell, reply, changed, show }: Correcting): Acts["correct"] {
  const names = namesOf(settings);
  const zone = zoneOf(settings, userId);
  const { answer } = conversation;
  return async (chip, correction, isForced) => {
    if (!answer) return;
    const way = wayOf(answer);
    const { waiting, understood, messages = [] } = answer;
    const data = waiting?.understood ?? understood?.data;
    if (way === "answer" && data) return reply(replyOf(correction, data, names, zone));
    const event = eventOf(answer);
    const patch = way === "patch" && event ? patchOf(correction, event, zone) : undefined;
    if (patch && event?.id) {
      const { event: now } = await api.change(userId, event.id, { ...patch, ...scopeOf(event), ...(isForced ? { force: true } : {}) });
      const what = text.event.changed(patch.title ?? event.title);
      conversation.amend(amended(answer, correction, patch, what, now));
      changed(what);
      if (patch.start) show(wallOf(patch.start).day);
      return;
    }
    const sentence = corrected(messages.findLast(({ role }) => role === "user")?.content ?? "", chip.texts, correction, names);
    // What waits is left before it is said again, or it would wait for ever.
    if (waiting && !(await conversation.reply(waiting.kind === "confirmation" ? { confirm: false } : { decline: true }))) return;
    await tell(sentence);
  };
}
