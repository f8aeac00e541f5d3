/** Where a message is written; the next one can be written while the assistant still works. */
import { useRef, useState } from "react";
import { Problem } from "../shared/api";
import { Examples } from "../shared/examples";
import { Field, goToFirstError, Refused } from "../shared/field";
import { useKeys } from "../shared/keys";
import { chosenOf, ModelSelect } from "../shared/model";
import { useSlow } from "../shared/slow";
import { text } from "./strings";
import type { Settings } from "./types";

const words = text.composer;
const FIELDS = ["/message", "/model", "/userId"];

interface Props {
  settings?: Settings;
  /** Shown before anything is written. */
  examples?: string[];
  /** Nothing was asked yet, so this is where to begin. */
  isFirst?: boolean;
  isRunning?: boolean;
  say(message: string, model: string): Promise<void>;
}

export function Composer({ settings, examples = [], isFirst = false, isRunning = false, say }: Props) {
  const [message, setMessage] = useState("");
  const [model, setModel] = useState("");
  const [problem, setProblem] = useState<Problem>();
  const [wrong, setWrong] = useState("");
  const [isSending, setSending] = useState(false);
  const slow = useSlow(isSending);
  const form = useRef<HTMLFormElement>(null);
  const field = useRef<HTMLTextAreaElement>(null);
  const chosen = chosenOf(settings?.models, model);
  useKeys({ "/": () => field.current?.focus() });

  const send = async (event: Event) => {
    event.preventDefault();
    if (isSending || isRunning) return;
    setProblem(undefined);
    setWrong(message.trim() ? "" : words.empty);
    if (!message.trim()) return goToFirstError(form.current);
    setSending(true);
    try {
      await say(message.trim(), model);
      setMessage("");
    } catch (cause) {
      setProblem(cause instanceof Problem ? cause : new Problem(0, String(cause)));
      goToFirstError(form.current);
    } finally {
      setSending(false);
    }
  };
  const take = (example: string) => {
    setMessage(example);
    field.current?.focus();
  };
  const hasChoice = (settings?.models.length ?? 0) > 1;

  return (
    <form class="composer" ref={form} onSubmit={send} noValidate>
      <Field name="message" label={words.label} hint={words.hint} error={wrong || problem?.at("/message")}>
        {(more) => (
          <textarea {...more} ref={field} rows={2} dir="auto" value={message} autoFocus={isFirst}
            onInput={(event) => { setMessage(event.currentTarget.value); setWrong(""); }}
            onKeyDown={(event) => {
              // Out of the field, single keys mean something again.
              if (event.key === "Escape") field.current?.blur();
              if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
              event.preventDefault();
              form.current?.requestSubmit();
            }} />
        )}
      </Field>
      {examples.length > 0 && message === "" && <Examples list={examples} take={take} />}
      {problem && <Refused problem={problem} what={words.failed} fields={FIELDS} />}
      <div class="row">
        <button class="primary" disabled={isSending || isRunning}>{slow > 0 ? words.sending : words.send}</button>
        {hasChoice && (
          <label class="choice">
            <span>{words.model}</span>
            <ModelSelect id="model" name="model" models={settings?.models} chosen={chosen} choose={setModel} />
          </label>
        )}
        {hasChoice && chosen && !chosen.configured && chosen.hint && <p class="hint">{chosen.hint}</p>}
        {slow > 1 && <p role="status">{words.waiting}</p>}
      </div>
    </form>
  );
}
