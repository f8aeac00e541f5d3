/** Forms that answer an interrupt: clarification or tool approval. */
import { useState } from "react";
import { useKeyboardShortcuts } from "../shared/keyboard-shortcuts";
import { approvalTitle, hasUnknownOutcome, isDecisionOffered } from "./approval";
import { text } from "./strings";
import type { Approval, Clarification, Decision, PendingInterrupt } from "./types";

const strings = text.interrupt;

interface Props {
  onAnswer(questionId: string, onAnswer: unknown): Promise<void>;
  onError(problem: unknown): void;
}

export function InterruptForm({ question, ...props }: Props & { question: PendingInterrupt }) {
  return question.kind === "approval" ? <ApprovalForm question={question} {...props} /> : <ClarificationForm question={question} {...props} />;
}

function useSending({ id }: PendingInterrupt, { onAnswer, onError }: Props) {
  const [isSending, setSending] = useState(false);
  const send = async (response: unknown) => {
    if (isSending) return;
    setSending(true);
    try {
      await onAnswer(id, response);
    } catch (problem) {
      onError(problem);
    } finally {
      setSending(false);
    }
  };
  return { isSending, send: (response: unknown) => void send(response) };
}

function ClarificationForm({ question, ...props }: Props & { question: Clarification }) {
  const { isSending, send } = useSending(question, props);
  const [customAnswer, setCustomAnswer] = useState("");
  const choices = (question.choices ?? []).map((choice) =>
    typeof choice === "string" ? { label: choice, value: choice as unknown } : { label: choice.label ?? String(choice.value), value: choice.value ?? choice.label },
  );
  const keys = choices.slice(0, 9).map(({ value }, index) => [String(index + 1), () => send(value)] as const);
  useKeyboardShortcuts({ ...Object.fromEntries(keys), a: () => document.querySelector<HTMLElement>(".approval button, .approval input")?.focus() });
  const submit = (event: Event) => {
    event.preventDefault();
    if (customAnswer.trim()) send(customAnswer.trim());
  };
  return (
    <form class="approval" onSubmit={submit} aria-labelledby="interrupt-title">
      <h2 id="interrupt-title">{strings.title}</h2>
      <p class="question" dir="auto" id="interrupt-question">{question.question}</p>
      {choices.length > 0 && (
        <ul class="choices" aria-labelledby="interrupt-question">
          {choices.map(({ label, value }, index) => (
            <li key={index}>
              <button type="button" disabled={isSending} onClick={() => send(value)} dir="auto">
                {index < 9 && <kbd aria-hidden="true">{index + 1}</kbd>} {label}
              </button>
            </li>
          ))}
        </ul>
      )}
      <label for="custom-answer">{choices.length > 0 ? strings.other : strings.send}</label>
      <div class="custom-answer">
        <input id="custom-answer" dir="auto" autoComplete="off" value={customAnswer} onInput={(event) => setCustomAnswer(event.currentTarget.value)} />
        <button disabled={isSending || customAnswer.trim() === ""}>{isSending ? strings.sending : strings.send}</button>
      </div>
    </form>
  );
}

function ApprovalForm({ question, ...props }: Props & { question: Approval }) {
  const { isSending, send } = useSending(question, props);
  const originalArguments = JSON.stringify(question.arguments ?? {}, null, 2);
  const [editedArguments, setEditedArguments] = useState<string>();
  const [error, setError] = useState("");
  const decide = (decision: Decision) => send(decision);
  useKeyboardShortcuts({ a: () => document.querySelector<HTMLElement>(".approval .row button")?.focus() });
  const isRerun = hasUnknownOutcome(question);
  const submitEdited = () => {
    try {
      decide({ decision: "change", arguments: JSON.parse(editedArguments ?? "") });
    } catch (cause) {
      setError(`${strings.notJson} ${cause instanceof Error ? cause.message : ""}`);
      document.getElementById("arguments")?.focus();
    }
  };
  const submit = (event: Event) => {
    event.preventDefault();
    if (editedArguments !== undefined) submitEdited();
    else if (isDecisionOffered(question, "allow_once")) decide({ decision: "allow_once" });
  };
  return (
    <form class="approval" onSubmit={submit} aria-labelledby="interrupt-title" noValidate>
      <h2 id="interrupt-title">{approvalTitle(question)}</h2>
      {question.why && <p class={isRerun ? "question field-error" : "question"} dir="auto">{isRerun && <span aria-hidden="true">⚠ </span>}{question.why}</p>}
      {question.effect && <p class="question" dir="auto">{question.effect}</p>}
      {editedArguments === undefined ? (
        <>
          <p class="section-label">{strings.arguments}</p>
          <pre tabIndex={0} role="group" aria-label={strings.arguments}><code>{originalArguments}</code></pre>
        </>
      ) : (
        <>
          <label for="arguments">{strings.arguments}</label>
          <textarea id="arguments" rows={4} spellcheck={false} value={editedArguments} aria-invalid={error ? true : undefined} aria-describedby={error ? "arguments-error" : undefined}
            onInput={(event) => { setEditedArguments(event.currentTarget.value); setError(""); }} />
          {error && <p class="field-error" id="arguments-error" role="alert"><span aria-hidden="true">⚠ </span>{error}</p>}
        </>
      )}
      <div class="row">
        {editedArguments === undefined ? (
          <>
            {isDecisionOffered(question, "allow_once") && <button id="allow" class="primary" disabled={isSending}>{isSending ? strings.sending : isRerun ? strings.rerun : strings.once}</button>}
            {isDecisionOffered(question, "allow_session") && <button type="button" disabled={isSending} onClick={() => decide({ decision: "allow_session" })}>{strings.session}</button>}
            {isDecisionOffered(question, "change") && <button type="button" disabled={isSending} onClick={() => setEditedArguments(originalArguments)}>{strings.change}</button>}
          </>
        ) : (
          <>
            <button id="allow" class="primary" disabled={isSending}>{isSending ? strings.sending : strings.runEdited}</button>
            <button type="button" disabled={isSending} onClick={() => { setEditedArguments(undefined); setError(""); }}>{strings.cancelEdit}</button>
          </>
        )}
        {isDecisionOffered(question, "deny") && (
          <button type="button" class="deny" disabled={isSending} onClick={() => decide({ decision: "deny" })}>{isRerun ? strings.declineRerun : strings.deny}</button>
        )}
      </div>
    </form>
  );
}
