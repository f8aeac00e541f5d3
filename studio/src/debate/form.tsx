/** What a debate is started with; what is wrong is said at the field. */
import { useRef, useState, type ReactNode } from "react";
import { post, Problem } from "../shared/api";
import { useSlow } from "../shared/slow";
import { text } from "../shared/strings";
import type { Approval, FactCheck, Settings, Wish } from "./types";

interface Props {
  settings?: Settings;
  started(id: string): void;
}

const words = text.form;

export function Form({ settings, started }: Props) {
  const [topic, setTopic] = useState("");
  const [rounds, setRounds] = useState("3");
  const [approval, setApproval] = useState<Approval>("off");
  const [factCheck, setFactCheck] = useState<FactCheck>("off");
  const [model, setModel] = useState("");
  const [problem, setProblem] = useState<Problem>();
  const [isSending, setSending] = useState(false);
  const slow = useSlow(isSending);
  const form = useRef<HTMLFormElement>(null);
  const field = useRef<HTMLTextAreaElement>(null);
  const chosen = settings?.models.find(({ name }) => name === model) ?? settings?.models.find(({ configured }) => configured);

  const send = async (event: Event) => {
    event.preventDefault();
    if (isSending) return;
    setSending(true);
    setProblem(undefined);
    try {
      started(await begin({ topic, maxRounds: Number(rounds || Number.NaN), approval, factCheck, ...(model ? { model } : {}) }));
    } catch (cause) {
      const found = cause instanceof Problem ? cause : new Problem(0, String(cause));
      setProblem(found);
      setSending(false);
      // After the errors are drawn, the first of them is where to go on.
      requestAnimationFrame(() => form.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus());
    }
  };
  const take = (example: string) => {
    setTopic(example);
    field.current?.focus();
  };

  return (
    <form class="order" ref={form} onSubmit={send} noValidate>
      <Field name="topic" label={words.topic} hint={words.topicHint} error={problem?.at("/topic")}>
        {(more) => (
          <textarea {...more} ref={field} rows={2} dir="auto" value={topic} autoFocus
            onInput={(event) => setTopic(event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
              event.preventDefault();
              form.current?.requestSubmit();
            }} />
        )}
      </Field>
      {topic === "" && <Examples take={take} />}
      <div class="options">
        <Field name="maxRounds" label={words.rounds} hint={words.roundsHint} error={problem?.at("/maxRounds")}>
          {(more) => <input {...more} type="number" min={1} max={10} step={1} inputMode="numeric" value={rounds} onInput={(event) => setRounds(event.currentTarget.value)} />}
        </Field>
        <Field name="approval" label={words.approval} error={problem?.at("/approval")}>
          {(more) => <Choice<Approval> {...more} value={approval} options={words.approvals} choose={setApproval} />}
        </Field>
        <Field name="factCheck" label={words.factCheck} error={problem?.at("/factCheck")}
          hint={factCheck === "off" || !settings ? undefined : settings.evidence.configured ? words.evidence(settings.evidence.documents) : words.noEvidence}>
          {(more) => <Choice<FactCheck> {...more} value={factCheck} options={words.factChecks} choose={setFactCheck} />}
        </Field>
        <Field name="model" label={words.model} error={problem?.at("/model")} hint={chosen?.configured ? chosen.label : (chosen?.hint ?? undefined)}>
          {(more) => (
            <select {...more} value={chosen?.name ?? ""} onChange={(event) => setModel(event.currentTarget.value)}>
              {settings?.models.map(({ name, configured }) => (
                <option key={name} value={name}>{configured ? name : `${name} (${words.notConfigured})`}</option>
              ))}
            </select>
          )}
        </Field>
      </div>
      {problem && <Failed problem={problem} />}
      <div class="row">
        <button class="primary" disabled={isSending}>{slow > 0 ? words.submitting : words.submit}</button>
        {slow > 1 && <p role="status">{words.waiting}</p>}
      </div>
    </form>
  );
}

/** The debate must outlive this page, so it is detached, and followed from its own address. */
async function begin(wish: Wish): Promise<string> {
  const response = await post("/api/debate", { ...wish, format: "debate", detach: true }, "text/event-stream");
  const id = response.headers.get("X-Debate-Id") ?? response.headers.get("Location")?.split("/").pop();
  void response.body?.cancel();
  if (!id) throw new Problem(response.status, text.debate.missing);
  return id;
}

function Examples({ take }: { take(example: string): void }) {
  return (
    <div class="examples" role="group" aria-labelledby="examples-title">
      <p id="examples-title">{words.examples}</p>
      {words.exampleTopics.map((example) => (
        <button key={example} type="button" onClick={() => take(example)}>{example}</button>
      ))}
    </div>
  );
}

function Failed({ problem }: { problem: Problem }) {
  const isAtField = ["/topic", "/maxRounds", "/approval", "/factCheck", "/model"].some((pointer) => problem.at(pointer));
  return (
    <div class="problem" role="alert">
      <p>
        <strong>{words.failed}</strong> {isAtField ? words.seeFields : problem.message || text.nobodyThere}
      </p>
      {problem.hint && <p>{problem.hint}</p>}
      {problem.retryAfter && <p>{words.retryAfter(problem.retryAfter)}</p>}
    </div>
  );
}

interface Attributes {
  id: string;
  name: string;
  "aria-invalid"?: boolean;
  "aria-describedby"?: string;
}

function Field(props: { name: string; label: string; hint?: string; error?: string; children(more: Attributes): ReactNode }) {
  const { name, label, hint, error, children } = props;
  const described = [error && `${name}-error`, hint && `${name}-hint`].filter(Boolean).join(" ");
  return (
    <div class={`field is-${name}`}>
      <label for={name}>{label}</label>
      {children({ id: name, name, "aria-invalid": error ? true : undefined, "aria-describedby": described || undefined })}
      {error && <p class="wrong" id={`${name}-error`}><span aria-hidden="true">⚠ </span>{error}</p>}
      {hint && <p class="hint" id={`${name}-hint`}>{hint}</p>}
    </div>
  );
}

function Choice<T extends string>(props: Attributes & { value: T; options: Record<T, string>; choose(value: T): void }) {
  const { value, options, choose, ...more } = props;
  return (
    <select {...more} value={value} onChange={(event) => choose(event.currentTarget.value as T)}>
      {(Object.keys(options) as T[]).map((name) => <option key={name} value={name}>{options[name]}</option>)}
    </select>
  );
}
