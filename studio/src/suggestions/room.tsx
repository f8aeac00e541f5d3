/** One post: the hint, what was found in the four sources, and which queries were tried. */
import { useEffect, useState } from "react";
import { Problem } from "../shared/api";
import { Aloud } from "../shared/aloud";
import { useKeys } from "../shared/keys";
import { KeepRow } from "../shared/keep";
import { LineState, Trouble } from "../shared/line";
import { SafeLink } from "../shared/link";
import { chosenOf, ModelLabel, ModelSelect } from "../shared/model";
import { Skeleton } from "../shared/skeleton";
import { useSlow } from "../shared/slow";
import { StatusSign } from "../shared/status";
import { hintParts, markdownOf } from "./hint";
import { addressOf, findPost } from "./list";
import { Engage, Meta, Tags } from "./post";
import { useSearch, type Searching } from "./search";
import { Sources, Warnings } from "./sources";
import { text } from "./strings";
import { TriedList } from "./tried";
import type { Post, Settings, Suggested } from "./types";

const words = text.room;

export function Room({ id, settings }: { id: string; settings?: Settings }) {
  const [model, setModel] = useState("");
  const searching = useSearch(id, model);
  const { post, isLooked, change, problem, setProblem } = usePost(id);
  const slow = useSlow(!isLooked);
  const isMissing = searching.problem?.status === 404;
  useEffect(() => {
    document.title = [post?.text, text.page].filter(Boolean).join(" · ");
  }, [post?.text]);
  if (isMissing) return <Missing />;
  return (
    <main id="content" class="room" tabIndex={-1} aria-busy={searching.search.status === "searching"}>
      {post ? (
        <header class="asked">
          <h1 dir="auto">{post.text}</h1>
          <Meta post={post} />
          <div class="row">
            <Engage post={post} changed={change} failed={setProblem} />
            <Tags tags={post.tags} />
          </div>
        </header>
      ) : (
        <header class="asked">
          <h1 class="hidden">{text.page}</h1>
          {slow > 0 && <Skeleton lines={2} />}
          {slow > 1 && <p role="status">{words.loading}</p>}
          {isLooked && !problem && <p class="empty">{words.notListed}</p>}
        </header>
      )}
      {problem && <Trouble problem={problem} />}
      <Opened searching={searching} post={post} settings={settings} model={model} choose={setModel} />
    </main>
  );
}

interface Props {
  searching: Searching;
  post?: Post;
  settings?: Settings;
  model: string;
  choose(model: string): void;
}

function Opened({ searching, post, settings, model, choose }: Props) {
  const { search, line, problem, stop, again } = searching;
  const { suggested, tried, status } = search;
  const isSearching = status === "searching" && !problem;
  useKeys({ ".": isSearching ? stop : undefined });
  const stands = isSearching ? "running" : problem ? "error" : status === "done" ? "completed" : "stopped";
  const label = suggested?.model ?? chosenOf(settings?.models, model);
  const total = suggested ? suggested.docs.length + suggested.issues.length + suggested.m365.length + suggested.posts.length : 0;
  const hint = suggested && (suggested.actionHint || words.noHint);
  const choices = settings?.models.filter(({ configured }) => configured) ?? [];
  return (
    <>
      <div class="bar">
        <p class={`status is-${stands}`} data-status={status}>
          <StatusSign of={stands} /> {isSearching ? words.phase[search.phase] : words.status[status]}
        </p>
        {choices.length > 1 && (
          <label class="planner">
            <span>{words.model}</span>
            <ModelSelect id="model" name="model" models={settings?.models} chosen={chosenOf(settings?.models, model)} choose={choose} />
          </label>
        )}
        {label && <ModelLabel model={label} />}
        {isSearching
          ? <button type="button" class="stop" onClick={stop}>{words.stop}</button>
          : <button type="button" class="stop" onClick={again}>{words.again}</button>}
      </div>
      <LineState line={line} />
      {problem && <Trouble problem={problem} tryAgain={again} />}
      {suggested && <Hint suggested={suggested} isEmpty={total === 0} />}
      <Warnings of={suggested?.warnings} />
      {status === "stopped" && !problem && <p class="empty">{words.stopped}</p>}
      <div class="floor">
        <div class="found">
          <h2 class="hidden">{words.found}</h2>
          <Sources found={suggested} tried={tried} settings={settings} isSearching={isSearching} />
        </div>
        <TriedList tried={tried} isSearching={isSearching} />
      </div>
      {suggested && post && <KeepRow markdown={() => markdownOf(post, suggested, tried)} address={addressOf(post.id)} />}
      <Aloud label={text.page} isPast={false} speeches={suggested ? [{ key: "end", text: words.spoken(total, hint ?? ""), isDone: true }] : []} />
    </>
  );
}

function Hint({ suggested, isEmpty }: { suggested: Suggested; isEmpty: boolean }) {
  const { actionHint } = suggested;
  if (!actionHint) return <p class="no-hint">{isEmpty ? words.nothing : words.noHint}</p>;
  return (
    <section class="hint-box" aria-labelledby="hint-title">
      <h2 id="hint-title">{words.hint}</h2>
      <p class="said" dir="auto">
        {hintParts(actionHint, suggested).map((part, index) => (part.url ? <SafeLink key={index} url={part.url}>{part.text}</SafeLink> : part.text))}
      </p>
    </section>
  );
}

function Missing() {
  return (
    <main id="content" class="room" tabIndex={-1}>
      <h1>{words.missing}</h1>
      <p><a href="/suggestions">{text.fresh}</a></p>
    </main>
  );
}

function usePost(id: string) {
  const [post, change] = useState<Post>();
  const [isLooked, setLooked] = useState(false);
  const [problem, setProblem] = useState<Problem>();
  useEffect(() => {
    const ending = new AbortController();
    const failed = (cause: unknown) => setProblem(cause instanceof Problem ? cause : new Problem(0, String(cause)));
    findPost(id, ending.signal)
      .then(change, (cause) => ending.signal.aborted || failed(cause))
      .finally(() => ending.signal.aborted || setLooked(true));
    return () => ending.abort();
  }, [id]);
  return { post, isLooked, change, problem, setProblem };
}
