/** Form that starts a debate. Errors are shown at their fields. */
import { useRef, useState } from "react";
import { postJson, Problem } from "../shared/api";
import { Examples } from "../shared/examples";
import { focusFirstError, FormError, FormField, SelectInput } from "../shared/form-field";
import { ModelSelect, selectedModel } from "../shared/model";
import { useLoadingStage } from "../shared/use-loading-stage";
import { text } from "./strings";
import type { ApprovalMode, CreateDebateRequest, FactCheckMode, Settings } from "./types";

interface Props {
  settings?: Settings;
  onCreated(id: string): void;
}

const strings = text.form;
const FIELDS = ["/topic", "/maxRounds", "/approval", "/factCheck", "/model"];

export function NewDebateForm({ settings, onCreated }: Props) {
  const [topic, setTopic] = useState("");
  const [rounds, setRounds] = useState("3");
  const [approval, setApproval] = useState<ApprovalMode>("off");
  const [factCheck, setFactCheck] = useState<FactCheckMode>("off");
  const [model, setModel] = useState("");
  const [problem, setProblem] = useState<Problem>();
  const [isSending, setSending] = useState(false);
  const loadingStage = useLoadingStage(isSending);
  const form = useRef<HTMLFormElement>(null);
  const field = useRef<HTMLTextAreaElement>(null);
  const selected = selectedModel(settings?.models, model);

  const send = async (event: Event) => {
    event.preventDefault();
    if (isSending) return;
    setSending(true);
    setProblem(undefined);
    try {
      onCreated(await createDebate({ topic, maxRounds: Number(rounds || Number.NaN), approval, factCheck, ...(model ? { model } : {}) }));
    } catch (cause) {
      const failure = cause instanceof Problem ? cause : new Problem(0, String(cause));
      setProblem(failure);
      setSending(false);
      focusFirstError(form.current);
    }
  };
  const selectExample = (example: string) => {
    setTopic(example);
    field.current?.focus();
  };

  return (
    <form class="start-form" ref={form} onSubmit={send} noValidate>
      <FormField name="topic" label={strings.topic} hint={strings.topicHint} error={problem?.fieldError("/topic")}>
        {(attributes) => (
          <textarea {...attributes} ref={field} rows={2} dir="auto" value={topic} autoFocus
            onInput={(event) => setTopic(event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
              event.preventDefault();
              form.current?.requestSubmit();
            }} />
        )}
      </FormField>
      {topic === "" && <Examples examples={strings.exampleTopics} onSelect={selectExample} />}
      <div class="options">
        <FormField name="maxRounds" label={strings.rounds} hint={strings.roundsHint} error={problem?.fieldError("/maxRounds")}>
          {(attributes) => <input {...attributes} type="number" min={1} max={10} step={1} inputMode="numeric" value={rounds} onInput={(event) => setRounds(event.currentTarget.value)} />}
        </FormField>
        <FormField name="approval" label={strings.approval} error={problem?.fieldError("/approval")}>
          {(attributes) => <SelectInput<ApprovalMode> {...attributes} value={approval} options={strings.approvals} onSelect={setApproval} />}
        </FormField>
        <FormField name="factCheck" label={strings.factCheck} error={problem?.fieldError("/factCheck")}
          hint={factCheck === "off" || !settings ? undefined : settings.evidence.configured ? strings.evidence(settings.evidence.documents) : strings.noEvidence}>
          {(attributes) => <SelectInput<FactCheckMode> {...attributes} value={factCheck} options={strings.factChecks} onSelect={setFactCheck} />}
        </FormField>
        <FormField name="model" label={strings.model} error={problem?.fieldError("/model")} hint={selected?.configured ? selected.label : (selected?.hint ?? undefined)}>
          {(attributes) => <ModelSelect {...attributes} models={settings?.models} selected={selected} onSelect={setModel} />}
        </FormField>
      </div>
      {problem && <FormError problem={problem} title={strings.failed} fields={FIELDS} />}
      <div class="row">
        <button class="primary" disabled={isSending}>{loadingStage > 0 ? strings.submitting : strings.submit}</button>
        {loadingStage > 1 && <p role="status">{strings.waiting}</p>}
      </div>
    </form>
  );
}

/** Starts a detached debate, which continues when the page is closed. */
async function createDebate(body: CreateDebateRequest): Promise<string> {
  const response = await postJson("/api/debate", { ...body, format: "debate", detach: true }, "text/event-stream");
  const id = response.headers.get("X-Debate-Id") ?? response.headers.get("Location")?.split("/").pop();
  void response.body?.cancel();
  if (!id) throw new Problem(response.status, text.debate.missing);
  return id;
}
