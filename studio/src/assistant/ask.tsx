/** The question that waits for a person: which of these, or may this be done. */
import { useState } from "react";
import { useKeys } from "../shared/keys";
import { isOffered, isUnknown, titleOf } from "./approval";
import { text } from "./strings";
import type { Approval, Clarification, Decision, Question } from "./types";

const words = text.ask;

interface Props {
  answer(questionId: string, answer: unknown): Promise<void>;
  failed(problem: unknown): void;
}

export function Ask({ question, ...props }: Props & { question: Question }) {
  return question.kind === "approval" ? <MayIt question={question} {...props} /> : <WhichOne question={question} {...props} />;
}

function useSending({ id }: Question, { answer, failed }: Props) {
  const [isSending, setSending] = useState(false);
  const send = async (what: unknown) => {
    if (isSending) return;
    setSending(true);
    try {
      await answer(id, what);
    } catch (problem) {
      failed(problem);
    } finally {
      setSending(false);
    }
  };
  return { isSending, send: (what: unknown) => void send(what) };
}

function WhichOne({ question, ...props }: Props & { question: Clarification }) {
  const { isSending, send } = useSending(question, props);
  const [own, setOwn] = useState("");
  const choices = (question.choices ?? []).map((choice) =>
    typeof choice === "string" ? { label: choice, value: choice as unknown } : { label: choice.label ?? String(choice.value), value: choice.value ?? choice.label },
  );
  const keys = choices.slice(0, 9).map(({ value }, index) => [String(index + 1), () => send(value)] as const);
  useKeys({ ...Object.fromEntries(keys), a: () => document.querySelector<HTMLElement>(".approval button, .approval input")?.focus() });
  const submit = (event: Event) => {
    event.preventDefault();
    if (own.trim()) send(own.trim());
  };
  return (
    <form class="approval" onSubmit={submit} aria-labelledby="ask-title">
      <h2 id="ask-title">{words.title}</h2>
      <p class="question" dir="auto" id="ask-question">{question.question}</p>
      {choices.length > 0 && (
        <ul class="choices" aria-labelledby="ask-question">
          {choices.map(({ label, value }, index) => (
            <li key={index}>
              <button type="button" disabled={isSending} onClick={() => send(value)} dir="auto">
                {index < 9 && <kbd aria-hidden="true">{index + 1}</kbd>} {label}
              </button>
            </li>
          ))}
        </ul>
      )}
      <label for="own">{choices.length > 0 ? words.other : words.send}</label>
      <div class="own">
        <input id="own" dir="auto" autoComplete="off" value={own} onInput={(event) => setOwn(event.currentTarget.value)} />
        <button disabled={isSending || own.trim() === ""}>{isSending ? words.sending : words.send}</button>
      </div>
    </form>
  );
}

function MayIt({ question, ...props }: Props & { question: Approval }) {
  const { isSending, send } = useSending(question, props);
  const given = JSON.stringify(question.arguments ?? {}, null, 2);
  const [changed, setChanged] = useState<string>();
  const [wrong, setWrong] = useState("");
  const decide = (decision: Decision) => send(decision);
  useKeys({ a: () => document.querySelector<HTMLElement>(".approval .row button")?.focus() });
  const again = isUnknown(question);
  const run = () => {
    try {
      decide({ decision: "change", arguments: JSON.parse(changed ?? "") });
    } catch (cause) {
      setWrong(`${words.notJson} ${cause instanceof Error ? cause.message : ""}`);
      document.getElementById("arguments")?.focus();
    }
  };
  const submit = (event: Event) => {
    event.preventDefault();
    if (changed !== undefined) run();
    else if (isOffered(question, "allow_once")) decide({ decision: "allow_once" });
  };
  return (
    <form class="approval" onSubmit={submit} aria-labelledby="ask-title" noValidate>
      <h2 id="ask-title">{titleOf(question)}</h2>
      {question.why && <p class={again ? "question wrong" : "question"} dir="auto">{again && <span aria-hidden="true">⚠ </span>}{question.why}</p>}
      {question.effect && <p class="question" dir="auto">{question.effect}</p>}
      {changed === undefined ? (
        <>
          <p class="part">{words.arguments}</p>
          <pre tabIndex={0} role="group" aria-label={words.arguments}><code>{given}</code></pre>
        </>
      ) : (
        <>
          <label for="arguments">{words.arguments}</label>
          <textarea id="arguments" rows={4} spellcheck={false} value={changed} aria-invalid={wrong ? true : undefined} aria-describedby={wrong ? "arguments-error" : undefined}
            onInput={(event) => { setChanged(event.currentTarget.value); setWrong(""); }} />
          {wrong && <p class="wrong" id="arguments-error" role="alert"><span aria-hidden="true">⚠ </span>{wrong}</p>}
        </>
      )}
      <div class="row">
        {changed === undefined ? (
          <>
            {isOffered(question, "allow_once") && <button id="allow" class="primary" disabled={isSending}>{isSending ? words.sending : again ? words.onceMore : words.once}</button>}
            {isOffered(question, "allow_session") && <button type="button" disabled={isSending} onClick={() => decide({ decision: "allow_session" })}>{words.session}</button>}
            {isOffered(question, "change") && <button type="button" disabled={isSending} onClick={() => setChanged(given)}>{words.change}</button>}
          </>
        ) : (
          <>
            <button id="allow" class="primary" disabled={isSending}>{isSending ? words.sending : words.changed}</button>
            <button type="button" disabled={isSending} onClick={() => { setChanged(undefined); setWrong(""); }}>{words.keep}</button>
          </>
        )}
        {isOffered(question, "deny") && (
          <button type="button" class="deny" disabled={isSending} onClick={() => decide({ decision: "deny" })}>{again ? words.leave : words.deny}</button>
        )}
      </div>
    </form>
  );
}
