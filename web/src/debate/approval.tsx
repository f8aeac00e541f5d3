/** Form that answers the approval interrupt. */
import { useState } from "react";
import { text } from "./strings";
import type { PendingInterrupt } from "./types";

interface Props {
  question: PendingInterrupt;
  onAnswer(approved: boolean, note: string): Promise<void>;
  onError(problem: unknown): void;
}

export function ApprovalForm({ question, onAnswer, onError }: Props) {
  const [note, setNote] = useState("");
  const [isSending, setSending] = useState(false);
  const send = async (approved: boolean) => {
    setSending(true);
    try {
      await onAnswer(approved, note);
    } catch (problem) {
      onError(problem);
    } finally {
      setSending(false);
    }
  };
  const submit = (event: Event) => {
    event.preventDefault();
    void send(true);
  };
  return (
    <form class="approval" onSubmit={submit} aria-labelledby="approval-title">
      <h2 id="approval-title">{text.approval.title}</h2>
      <p class="question" dir="auto">{question.question}</p>
      <label for="note">{text.approval.note}</label>
      <textarea id="note" rows={2} dir="auto" value={note} aria-describedby="note-hint" onInput={(event) => setNote(event.currentTarget.value)} />
      <p class="hint" id="note-hint">{text.approval.noteHint}</p>
      <div class="row">
        <button id="approve" class="primary" disabled={isSending}>{isSending ? text.approval.sending : text.approval.approve}</button>
        <button type="button" disabled={isSending} onClick={() => void send(false)}>{text.approval.end}</button>
      </div>
    </form>
  );
}
