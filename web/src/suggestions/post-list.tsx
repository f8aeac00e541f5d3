/** List of posts, newest first, and the search over all sources. */
import { useEffect, useRef, useState } from "react";
import { Problem, requestJson } from "../shared/api";
import { useKeyboardShortcuts } from "../shared/keyboard-shortcuts";
import { ErrorNotice } from "../shared/connection-status";
import { Skeleton } from "../shared/skeleton";
import { useLoadingStage } from "../shared/use-loading-stage";
import { EngagementButtons, PostMeta, TagList } from "./post";
import { SourceResults, Warnings } from "./source-results";
import { text } from "./strings";
import { MODES, type Post, type PostsResponse, type SearchResponse, type Settings } from "./types";

const PAGE_SIZE = 50;
const SEARCH_DELAY_MS = 250;

export function PostsPage({ settings }: { settings?: Settings }) {
  const [query, setQuery] = useState("");
  const field = useRef<HTMLInputElement>(null);
  useKeyboardShortcuts({ "/": () => field.current?.focus() });
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
      {query.trim() ? <SearchResults query={query.trim()} settings={settings} /> : <PostList />}
    </section>
  );
}

function SearchResults({ query, settings }: { query: string; settings?: Settings }) {
  const [response, setResponse] = useState<SearchResponse>();
  const [problem, setProblem] = useState<Problem>();
  const loadingStage = useLoadingStage(!response && !problem);
  useEffect(() => {
    const controller = new AbortController();
    const timer = setTimeout(() => {
      requestJson<SearchResponse>(`/api/search?q=${encodeURIComponent(query)}`, { signal: controller.signal }).then(
        (current) => { setResponse(current); setProblem(undefined); },
        (cause) => { if (!controller.signal.aborted) setProblem(cause instanceof Problem ? cause : new Problem(0, String(cause))); },
      );
    }, SEARCH_DELAY_MS);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [query]);
  return (
    <div aria-live="polite" aria-busy={!response}>
      {loadingStage > 0 && <Skeleton lines={4} />}
      {loadingStage > 1 && <p role="status">{text.search.waiting}</p>}
      {problem && <ErrorNotice problem={problem} />}
      <Warnings warnings={response?.warnings} />
      {response && <SourceResults response={response} settings={settings} />}
    </div>
  );
}

function PostList() {
  const [mode, setMode] = useState("");
  const [tag, setTag] = useState("");
  const [response, setResponse] = useState<PostsResponse>();
  const [problem, setProblem] = useState<Problem>();
  const [attempts, setAttempts] = useState(0);
  const loadingStage = useLoadingStage(!response && !problem);
  useEffect(() => {
    const controller = new AbortController();
    fetchPosts({ mode, tag }, controller.signal).then(
      (current) => { setResponse(current); setProblem(undefined); },
      (cause) => { if (!controller.signal.aborted) setProblem(cause instanceof Problem ? cause : new Problem(0, String(cause))); },
    );
    return () => controller.abort();
  }, [mode, tag, attempts]);
  const updatePost = (post: Post) => setResponse((current) => current && { ...current, posts: current.posts.map((other) => (other.id === post.id ? post : other)) });
  const loadMore = async () => {
    const rest = await fetchPosts({ mode, tag, after: response?.next ?? "" }).catch(() => undefined);
    if (rest && response) setResponse({ posts: [...response.posts, ...rest.posts], next: rest.next });
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
          <p class="selected-tag">
            <span>{text.list.tag}</span>
            <button type="button" aria-label={`#${tag}, ${text.list.clearTag}`} onClick={() => setTag("")}>#{tag} <span aria-hidden="true">×</span></button>
          </p>
        )}
      </div>
      {loadingStage > 0 && <Skeleton lines={6} />}
      {loadingStage > 1 && <p role="status">{text.list.waiting}</p>}
      {problem && <ErrorNotice problem={problem} onRetry={() => setAttempts(attempts + 1)} />}
      {response?.posts.length === 0 && <p class="empty">{mode || tag ? text.list.noneFound : text.list.none}</p>}
      <ul class="post-list">
        {response?.posts.map((post) => (
          <li key={post.id} data-post={post.id}>
            <a class="post-text" href={postUrl(post.id)} dir="auto">{post.text}</a>
            <PostMeta post={post} />
            <div class="row">
              <EngagementButtons post={post} onChanged={updatePost} onError={setProblem} />
              <TagList tags={post.tags} onSelect={setTag} />
            </div>
          </li>
        ))}
      </ul>
      {response?.next && <button type="button" onClick={() => void loadMore()}>{text.more}</button>}
    </>
  );
}

export function postUrl(id: string): string {
  return `/suggestions/${encodeURIComponent(id)}`;
}

function fetchPosts(filters: { mode?: string; tag?: string; after?: string }, signal?: AbortSignal): Promise<PostsResponse> {
  const parameters = new URLSearchParams({ limit: String(PAGE_SIZE) });
  for (const [name, value] of Object.entries(filters)) if (value) parameters.set(name, value);
  return requestJson(`/api/posts?${parameters}`, { signal });
}

/** Returns undefined if the post does not exist or has expired. */
export async function fetchPost(id: string, signal: AbortSignal): Promise<Post | undefined> {
  try {
    return await requestJson<Post>(`/api/posts/${encodeURIComponent(id)}`, { signal });
  } catch (cause) {
    if (cause instanceof Problem && cause.status === 404) return undefined;
    throw cause;
  }
}
