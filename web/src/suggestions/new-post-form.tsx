/** Form for a new post. Limits are checked while typing. */
import { useRef, useState } from "react";
import { postJson, Problem } from "../shared/api";
import { Examples } from "../shared/examples";
import { focusFirstError, FormError, FormField, SelectInput } from "../shared/form-field";
import { useLoadingStage } from "../shared/use-loading-stage";
import { readSetting, writeSetting } from "../shared/local-storage";
import { characterCount, MAX_CHARACTERS, MAX_SENTENCES, parseTags, sentenceCount } from "./post-limits";
import { text } from "./strings";
import type { Mode, Post, TimeToLive } from "./types";
import { validateTags, validateText } from "./post-validation";

const strings = text.form;
const AUTHOR_KEY = "superstep.author";
const FIELDS = ["/text", "/tags", "/mode", "/ttl", "/authorName"];

export function NewPostForm({ onCreated }: { onCreated(post: Post): void }) {
  const [postText, setPostText] = useState("");
  const [tagInput, setTagInput] = useState("");
  const [mode, setMode] = useState<Mode>("question");
  const [ttl, setTtl] = useState<TimeToLive>("72h");
  const [author, setAuthor] = useState(readSetting(AUTHOR_KEY) ?? "");
  const [problem, setProblem] = useState<Problem>();
  const [isSubmitted, setSubmitted] = useState(false);
  const [isSending, setSending] = useState(false);
  const loadingStage = useLoadingStage(isSending);
  const form = useRef<HTMLFormElement>(null);
  const field = useRef<HTMLTextAreaElement>(null);
  const tags = parseTags(tagInput);
  const errors = { text: validateText(postText, isSubmitted), tags: validateTags(tags) };

  const send = async (event: Event) => {
    event.preventDefault();
    if (isSending) return;
    setProblem(undefined);
    setSubmitted(true);
    if (validateText(postText, true) || errors.tags) return focusFirstError(form.current);
    setSending(true);
    writeSetting(AUTHOR_KEY, author.trim());
    try {
      const body = { text: postText.trim(), tags, mode, ttl, ...(author.trim() ? { authorName: author.trim() } : {}) };
      onCreated((await (await postJson("/api/posts", body)).json()) as Post);
    } catch (cause) {
      setProblem(cause instanceof Problem ? cause : new Problem(0, String(cause)));
      setSending(false);
      focusFirstError(form.current);
    }
  };
  const selectExample = (example: string) => {
    setPostText(example);
    field.current?.focus();
  };

  return (
    <form class="start-form" ref={form} onSubmit={send} noValidate aria-label={strings.title}>
      <FormField name="text" label={strings.text} hint={<LengthCounter postText={postText} />} error={errors.text ?? problem?.fieldError("/text")}>
        {(attributes) => (
          <textarea {...attributes} ref={field} rows={3} dir="auto" value={postText} autoFocus
            onInput={(event) => setPostText(event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
              event.preventDefault();
              form.current?.requestSubmit();
            }} />
        )}
      </FormField>
      {postText === "" && <Examples examples={strings.examplePosts} onSelect={selectExample} />}
      <FormField name="tags" label={strings.tags} hint={strings.tagsHint(tags.length)} error={errors.tags ?? problem?.fieldError("/tags")}>
        {(attributes) => <input {...attributes} dir="auto" autoComplete="off" value={tagInput} onInput={(event) => setTagInput(event.currentTarget.value)} />}
      </FormField>
      <div class="options">
        <FormField name="mode" label={strings.mode} error={problem?.fieldError("/mode")}>
          {(attributes) => <SelectInput<Mode> {...attributes} value={mode} options={text.modes} onSelect={setMode} />}
        </FormField>
        <FormField name="ttl" label={strings.ttl} error={problem?.fieldError("/ttl")}>
          {(attributes) => <SelectInput<TimeToLive> {...attributes} value={ttl} options={strings.ttls} onSelect={setTtl} />}
        </FormField>
        <FormField name="authorName" label={strings.author} hint={strings.authorHint} error={problem?.fieldError("/authorName")}>
          {(attributes) => <input {...attributes} dir="auto" autoComplete="name" value={author} onInput={(event) => setAuthor(event.currentTarget.value)} />}
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

function LengthCounter({ postText }: { postText: string }) {
  const [characters, sentences] = [characterCount(postText), sentenceCount(postText)];
  const hasTooManySentences = sentences > MAX_SENTENCES;
  return <span class={characters > MAX_CHARACTERS || hasTooManySentences ? "length-counter is-over" : "length-counter"}>{strings.counts(characters, sentences)}{hasTooManySentences && strings.tooMany}</span>;
}
