/** What a debate is started with; what is wrong is said at the field. */
import { useRef, useState } from "react";
import { post, Problem } from "../shared/api";
import { Examples } from "../shared/examples";
import { Choice, Field, goToFirstError, Refused } from "../shared/field";
import { chosenOf, ModelSelect } from "../shared/model";
import { useSlow } from "../shared/slow";
import { text } from "./strings";
import type { Approval, FactCheck, Settings, Wish } from "./types";

interface Props {
  settings?: Settings;
  started(id: string): void;
}

const words = text.form;
const FIELDS = ["/topic", "/maxRounds", "/approval", "/factCheck", "/model"];

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
  const chosen = chosenOf(settings?.models, model);

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
      goToFirstError(form.current);
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
      {topic === "" && <Examples list={words.exampleTopics} take={take} />}
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
          {(more) => <ModelSelect {...more} models={settings?.models} chosen={chosen} choose={setModel} />}
        </Field>
      </div>
      {problem && <Refused problem={problem} what={words.failed} fields={FIELDS} />}
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
