/** Posts, newest first; and the box that searches everything. */
import { useEffect, useRef, useState } from "react";
import { json, Problem } from "../shared/api";
import { useKeys } from "../shared/keys";
import { Trouble } from "../shared/line";
import { Skeleton } from "../shared/skeleton";
import { useSlow } from "../shared/slow";
import { Engage, Meta, Tags } from "./post";
import { Sources, Warnings } from "./sources";
import { text } from "./strings";
import { MODES, type Found, type Listed, type Post, type Settings } from "./types";

const PAGE = 50;
const TYPING_MS = 250;

export function Posts({ settings }: { settings?: Settings }) {
  const [query, setQuery] = useState("");
  const field = useRef<HTMLInputElement>(null);
  useKeys({ "/": () => field.current?.focus() });
  useEffect(() => {
    if (location.hash === "#search") field.current?.focus();
  }, []);
  return (
    <section class="posts" aria-labelledby="posts-title">
      <h2 id="posts-title">{query.trim() ? text.search.results(query.trim()) : text.list.title}</h2>
      <div class="filters" role="search">
        <label>
          <span>{text.search.label}</span>
          <input ref={field} id="search" type="search" dir="auto" value={query} onInput={(event) => setQuery(event.currentTarget.value)} />
        </label>
      </div>
      {query.trim() ? <Results query={query.trim()} settings={settings} /> : <List />}
    </section>
  );
}

function Results({ query, settings }: { query: string; settings?: Settings }) {
  const [found, setFound] = useState<Found>();
  const [problem, setProblem] = useState<Problem>();
  const slow = useSlow(!found && !problem);
  useEffect(() => {
    const ending = new AbortController();
    const timer = setTimeout(() => {
      json<Found>(`/api/search?q=${encodeURIComponent(query)}`, { signal: ending.signal }).then(
        (now) => { setFound(now); setProblem(undefined); },
        (cause) => { if (!ending.signal.aborted) setProblem(cause instanceof Problem ? cause : new Problem(0, String(cause))); },
      );
    }, TYPING_MS);
    return () => {
      clearTimeout(timer);
      ending.abort();
    };
  }, [query]);
  return (
    <div aria-live="polite" aria-busy={!found}>
      {slow > 0 && <Skeleton lines={4} />}
      {slow > 1 && <p role="status">{text.search.waiting}</p>}
      {problem && <Trouble problem={problem} />}
      <Warnings of={found?.warnings} />
      {found && <Sources found={found} settings={settings} />}
    </div>
  );
}

function List() {
  const [mode, setMode] = useState("");
  const [tag, setTag] = useState("");
  const [listed, setListed] = useState<Listed>();
  const [problem, setProblem] = useState<Problem>();
  const [tries, setTries] = useState(0);
  const slow = useSlow(!listed && !problem);
  useEffect(() => {
    const ending = new AbortController();
    list({ mode, tag }, ending.signal).then(
      (now) => { setListed(now); setProblem(undefined); },
      (cause) => { if (!ending.signal.aborted) setProblem(cause instanceof Problem ? cause : new Problem(0, String(cause))); },
    );
    return () => ending.abort();
  }, [mode, tag, tries]);
  const changed = (post: Post) => setListed((now) => now && { ...now, posts: now.posts.map((one) => (one.id === post.id ? post : one)) });
  const more = async () => {
    const rest = await list({ mode, tag, after: listed?.next ?? "" }).catch(() => undefined);
    if (rest && listed) setListed({ posts: [...listed.posts, ...rest.posts], next: rest.next });
  };
  return (
    <>
      <div class="filters">
        <label>
          <span>{text.list.mode}</span>
          <select value={mode} onChange={(event) => setMode(event.currentTarget.value)}>
            <option value="">{text.list.all}</option>
            {MODES.map((name) => <option key={name} value={name}>{text.modes[name]}</option>)}
          </select>
        </label>
        {tag && (
          <p class="chosen">
            <span>{text.list.tag}</span>
            <button type="button" aria-label={`#${tag}, ${text.list.noTag}`} onClick={() => setTag("")}>#{tag} <span aria-hidden="true">×</span></button>
          </p>
        )}
      </div>
      {slow > 0 && <Skeleton lines={6} />}
      {slow > 1 && <p role="status">{text.list.waiting}</p>}
      {problem && <Trouble problem={problem} tryAgain={() => setTries(tries + 1)} />}
      {listed?.posts.length === 0 && <p class="empty">{mode || tag ? text.list.noneFound : text.list.none}</p>}
      <ul class="list">
        {listed?.posts.map((post) => (
          <li key={post.id} data-post={post.id}>
            <a class="words" href={addressOf(post.id)} dir="auto">{post.text}</a>
            <Meta post={post} />
            <div class="row">
              <Engage post={post} changed={changed} failed={setProblem} />
              <Tags tags={post.tags} choose={setTag} />
            </div>
          </li>
        ))}
      </ul>
      {listed?.next && <button type="button" onClick={() => void more()}>{text.more}</button>}
    </>
  );
}

export function addressOf(id: string): string {
  return `/suggestions/${encodeURIComponent(id)}`;
}

function list(asked: { mode?: string; tag?: string; after?: string }, signal?: AbortSignal): Promise<Listed> {
  const parameters = new URLSearchParams({ limit: String(PAGE) });
  for (const [name, value] of Object.entries(asked)) if (value) parameters.set(name, value);
  return json(`/api/posts?${parameters}`, { signal });
}

/** None when there is no such post, or it has expired. */
export async function findPost(id: string, signal: AbortSignal): Promise<Post | undefined> {
  try {
    return await json<Post>(`/api/posts/${encodeURIComponent(id)}`, { signal });
  } catch (cause) {
    if (cause instanceof Problem && cause.status === 404) return undefined;
    throw cause;
  }
}
