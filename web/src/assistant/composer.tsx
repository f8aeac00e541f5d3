/** Message form. The next message can be typed while a run is in progress. */
import { useRef, useState } from "react";
import { Problem } from "../shared/api";
import { Examples } from "../shared/examples";
import { focusFirstError, FormError, FormField } from "../shared/form-field";
import { useKeyboardShortcuts } from "../shared/keyboard-shortcuts";
import { ModelSelect, selectedModel } from "../shared/model";
import { useLoadingStage } from "../shared/use-loading-stage";
import { text } from "./strings";
import type { Settings } from "./types";

const strings = text.composer;
const FIELDS = ["/message", "/model", "/userId"];

interface Props {
  settings?: Settings;
  /** Shown while the field is empty. */
  examples?: string[];
  /** Focuses the field, because the conversation is new. */
  isFirst?: boolean;
  isRunning?: boolean;
  onSend(message: string, model: string): Promise<void>;
}

export function Composer({ settings, examples = [], isFirst = false, isRunning = false, onSend }: Props) {
  const [message, setMessage] = useState("");
  const [model, setModel] = useState("");
  const [problem, setProblem] = useState<Problem>();
  const [validationError, setValidationError] = useState("");
  const [isSending, setSending] = useState(false);
  const loadingStage = useLoadingStage(isSending);
  const form = useRef<HTMLFormElement>(null);
  const field = useRef<HTMLTextAreaElement>(null);
  const selected = selectedModel(settings?.models, model);
  useKeyboardShortcuts({ "/": () => field.current?.focus() });

  const send = async (event: Event) => {
    event.preventDefault();
    if (isSending || isRunning) return;
    setProblem(undefined);
    setValidationError(message.trim() ? "" : strings.empty);
    if (!message.trim()) return focusFirstError(form.current);
    setSending(true);
    try {
      await onSend(message.trim(), model);
      setMessage("");
    } catch (cause) {
      setProblem(cause instanceof Problem ? cause : new Problem(0, String(cause)));
      focusFirstError(form.current);
    } finally {
      setSending(false);
    }
  };
  const selectExample = (example: string) => {
    setMessage(example);
    field.current?.focus();
  };
  const hasChoice = (settings?.models.length ?? 0) > 1;

  return (
    <form class="composer" ref={form} onSubmit={send} noValidate>
      <FormField name="message" label={strings.label} hint={strings.hint} error={validationError || problem?.fieldError("/message")}>
        {(attributes) => (
          <textarea {...attributes} ref={field} rows={2} dir="auto" value={message} autoFocus={isFirst}
            onInput={(event) => { setMessage(event.currentTarget.value); setValidationError(""); }}
            onKeyDown={(event) => {
              // Leaving the field enables the single-key shortcuts.
              if (event.key === "Escape") field.current?.blur();
              if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
              event.preventDefault();
              form.current?.requestSubmit();
            }} />
        )}
      </FormField>
      {examples.length > 0 && message === "" && <Examples examples={examples} onSelect={selectExample} />}
      {problem && <FormError problem={problem} title={strings.failed} fields={FIELDS} />}
      <div class="row">
        <button class="primary" disabled={isSending || isRunning}>{loadingStage > 0 ? strings.sending : strings.send}</button>
        {hasChoice && (
          <label class="model-choice">
            <span>{strings.model}</span>
            <ModelSelect id="model" name="model" models={settings?.models} selected={selected} onSelect={setModel} />
          </label>
        )}
        {hasChoice && selected && !selected.configured && selected.hint && <p class="hint">{selected.hint}</p>}
        {loadingStage > 1 && <p role="status">{strings.waiting}</p>}
      </div>
    </form>
  );
}
