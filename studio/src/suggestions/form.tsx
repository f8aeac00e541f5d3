/** A new post; what is too much is said while it is written. */
import { useRef, useState } from "react";
import { post, Problem } from "../shared/api";
import { Examples } from "../shared/examples";
import { Choice, Field, goToFirstError, Refused } from "../shared/field";
import { useSlow } from "../shared/slow";
import { remember, remembered } from "../shared/theme";
import { characters, MOST_CHARACTERS, MOST_SENTENCES, sentenceCount, tagsOf } from "./count";
import { text } from "./strings";
import type { Life, Mode, Post } from "./types";
import { wrongTags, wrongText } from "./wrong";

const words = text.form;
const NAME = "superstep.author";
const FIELDS = ["/text", "/tags", "/mode", "/ttl", "/authorName"];

export function Form({ posted }: { posted(post: Post): void }) {
  const [written, setWritten] = useState("");
  const [tagged, setTagged] = useState("");
  const [mode, setMode] = useState<Mode>("question");
  const [ttl, setTtl] = useState<Life>("72h");
  const [author, setAuthor] = useState(remembered(NAME) ?? "");
  const [problem, setProblem] = useState<Problem>();
  const [isAsked, setAsked] = useState(false);
  const [isSending, setSending] = useState(false);
  const slow = useSlow(isSending);
  const form = useRef<HTMLFormElement>(null);
  const field = useRef<HTMLTextAreaElement>(null);
  const tags = tagsOf(tagged);
  const wrong = { text: wrongText(written, isAsked), tags: wrongTags(tags) };

  const send = async (event: Event) => {
    event.preventDefault();
    if (isSending) return;
    setProblem(undefined);
    setAsked(true);
    if (wrongText(written, true) || wrong.tags) return goToFirstError(form.current);
    setSending(true);
    remember(NAME, author.trim());
    try {
      const order = { text: written.trim(), tags, mode, ttl, ...(author.trim() ? { authorName: author.trim() } : {}) };
      posted((await (await post("/api/posts", order)).json()) as Post);
    } catch (cause) {
      setProblem(cause instanceof Problem ? cause : new Problem(0, String(cause)));
      setSending(false);
      goToFirstError(form.current);
    }
  };
  const take = (example: string) => {
    setWritten(example);
    field.current?.focus();
  };

  return (
    <form class="order" ref={form} onSubmit={send} noValidate aria-label={words.title}>
      <Field name="text" label={words.text} hint={<Counts written={written} />} error={wrong.text ?? problem?.at("/text")}>
        {(more) => (
          <textarea {...more} ref={field} rows={3} dir="auto" value={written} autoFocus
            onInput={(event) => setWritten(event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
              event.preventDefault();
              form.current?.requestSubmit();
            }} />
        )}
      </Field>
      {written === "" && <Examples list={words.examplePosts} take={take} />}
      <Field name="tags" label={words.tags} hint={words.tagsHint(tags.length)} error={wrong.tags ?? problem?.at("/tags")}>
        {(more) => <input {...more} dir="auto" autoComplete="off" value={tagged} onInput={(event) => setTagged(event.currentTarget.value)} />}
      </Field>
      <div class="options">
        <Field name="mode" label={words.mode} error={problem?.at("/mode")}>
          {(more) => <Choice<Mode> {...more} value={mode} options={text.modes} choose={setMode} />}
        </Field>
        <Field name="ttl" label={words.ttl} error={problem?.at("/ttl")}>
          {(more) => <Choice<Life> {...more} value={ttl} options={words.lives} choose={setTtl} />}
        </Field>
        <Field name="authorName" label={words.author} hint={words.authorHint} error={problem?.at("/authorName")}>
          {(more) => <input {...more} dir="auto" autoComplete="name" value={author} onInput={(event) => setAuthor(event.currentTarget.value)} />}
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

function Counts({ written }: { written: string }) {
  const [letters, sentences] = [characters(written), sentenceCount(written)];
  const isMany = sentences > MOST_SENTENCES;
  return <span class={letters > MOST_CHARACTERS || isMany ? "counts is-over" : "counts"}>{words.counts(letters, sentences)}{isMany && words.tooMany}</span>;
}
