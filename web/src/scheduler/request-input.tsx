/** Input for a request, typed or dictated. */
import { useRef, useState } from "react";
import type { Problem } from "../shared/api";
import { Examples } from "../shared/examples";
import { FormError } from "../shared/form-field";
import { useKeyboardShortcuts } from "../shared/keyboard-shortcuts";
import { useLoadingStage } from "../shared/use-loading-stage";
import { useSpeechRecognition } from "./use-speech-recognition";
import { Icon } from "./icons";
import { text } from "./strings";

const strings = text.request;
const MAX_CHARACTERS = 2_000;

interface Props {
  examples: string[];
  isSending: boolean;
  problem?: Problem;
  /** Resolves to whether the request was accepted. */
  onSend(sentence: string): Promise<boolean>;
}

export function RequestInput({ examples, isSending, problem, onSend }: Props) {
  const [sentence, setSentence] = useState("");
  const [validationError, setValidationError] = useState("");
  const field = useRef<HTMLInputElement>(null);
  const loadingStage = useLoadingStage(isSending);
  const updateSentence = (value: string) => {
    setSentence(value);
    const excess = [...value.trim()].length - MAX_CHARACTERS;
    setValidationError(excess > 0 ? strings.tooLong(excess) : "");
  };
  const { toggle, isListening, error } = useSpeechRecognition(updateSentence);
  useKeyboardShortcuts({ "/": () => field.current?.focus() });

  const send = async (event: Event) => {
    event.preventDefault();
    if (isSending) return;
    if (!sentence.trim()) setValidationError(strings.empty);
    if (!sentence.trim() || validationError) return field.current?.focus();
    if (await onSend(sentence.trim())) setSentence("");
  };
  const selectExample = (example: string) => {
    updateSentence(example);
    field.current?.focus();
  };
  const message = validationError || problem?.fieldError("/text") || (error === "no-speech" ? strings.noSpeech : error === "aborted" ? "" : error && strings.notAllowed);

  return (
    <form class="request-input" onSubmit={send} noValidate>
      <label for="request">{strings.label}</label>
      <div class="request-row">
        <input ref={field} id="request" dir="auto" autoComplete="off" autoCapitalize="sentences" enterkeyhint="send" autoFocus placeholder={strings.placeholder} value={sentence}
          aria-invalid={validationError || problem?.fieldError("/text") ? true : undefined} aria-describedby={message ? "request-error" : undefined}
          onInput={(event) => updateSentence(event.currentTarget.value)}
          onKeyDown={(event) => { if (event.key === "Escape") field.current?.blur(); }} />
        {toggle && (
          <button type="button" class="square dictate" aria-pressed={isListening} aria-label={isListening ? strings.listening : strings.dictate} title={`${strings.dictate}. ${strings.dictateHint}`} onClick={toggle}>
            <Icon name="microphone" />
          </button>
        )}
        <button class="primary" disabled={isSending}>{loadingStage > 0 ? strings.sending : strings.send}</button>
      </div>
      {message && <p class="field-error" id="request-error" role="alert"><span aria-hidden="true">⚠ </span>{message}</p>}
      {isListening && <p class="hint" role="status">{strings.listening} {strings.dictateHint}</p>}
      {problem && !problem.fieldError("/text") && <FormError problem={problem} title={strings.failed} fields={[]} />}
      {loadingStage > 1 && <p role="status">{strings.waiting}</p>}
      {sentence === "" && examples.length > 0 && <Examples examples={examples} onSelect={selectExample} />}
    </form>
  );
}
