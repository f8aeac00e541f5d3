/** The one line: typed or dictated, sent with Enter. */
import { useRef, useState } from "react";
import type { Problem } from "../shared/api";
import { Examples } from "../shared/examples";
import { Refused } from "../shared/field";
import { useKeys } from "../shared/keys";
import { useSlow } from "../shared/slow";
import { useHearing } from "./hear";
import { Sign } from "./signs";
import { text } from "./strings";

const words = text.line;
const MOST_CHARACTERS = 2_000;

interface Props {
  examples: string[];
  isSending: boolean;
  problem?: Problem;
  /** Gives back whether it was taken. */
  tell(sentence: string): Promise<boolean>;
}

export function Tell({ examples, isSending, problem, tell }: Props) {
  const [sentence, setSentence] = useState("");
  const [wrong, setWrong] = useState("");
  const field = useRef<HTMLInputElement>(null);
  const slow = useSlow(isSending);
  const write = (now: string) => {
    setSentence(now);
    const over = [...now.trim()].length - MOST_CHARACTERS;
    setWrong(over > 0 ? words.tooLong(over) : "");
  };
  const { toggle, isListening, error } = useHearing(write);
  useKeys({ "/": () => field.current?.focus() });

  const send = async (event: Event) => {
    event.preventDefault();
    if (isSending) return;
    if (!sentence.trim()) setWrong(words.empty);
    if (!sentence.trim() || wrong) return field.current?.focus();
    if (await tell(sentence.trim())) setSentence("");
  };
  const take = (example: string) => {
    write(example);
    field.current?.focus();
  };
  const said = wrong || problem?.at("/text") || (error === "no-speech" ? words.notHeard : error === "aborted" ? "" : error && words.notAllowed);

  return (
    <form class="tell" onSubmit={send} noValidate>
      <label for="sentence">{words.label}</label>
      <div class="tell-row">
        <input ref={field} id="sentence" dir="auto" autoComplete="off" autoCapitalize="sentences" enterkeyhint="send" autoFocus placeholder={words.placeholder} value={sentence}
          aria-invalid={wrong || problem?.at("/text") ? true : undefined} aria-describedby={said ? "sentence-error" : undefined}
          onInput={(event) => write(event.currentTarget.value)}
          onKeyDown={(event) => { if (event.key === "Escape") field.current?.blur(); }} />
        {toggle && (
          <button type="button" class="square dictate" aria-pressed={isListening} aria-label={isListening ? words.listening : words.dictate} title={`${words.dictate}. ${words.dictateHint}`} onClick={toggle}>
            <Sign of="speak" />
          </button>
        )}
        <button class="primary" disabled={isSending}>{slow > 0 ? words.sending : words.send}</button>
      </div>
      {said && <p class="wrong" id="sentence-error" role="alert"><span aria-hidden="true">⚠ </span>{said}</p>}
      {isListening && <p class="hint" role="status">{words.listening} {words.dictateHint}</p>}
      {problem && !problem.at("/text") && <Refused problem={problem} what={words.failed} fields={[]} />}
      {slow > 1 && <p role="status">{words.waiting}</p>}
      {sentence === "" && examples.length > 0 && <Examples list={examples} take={take} />}
    </form>
  );
}
