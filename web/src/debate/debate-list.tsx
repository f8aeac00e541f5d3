/** List of debates with search and status filter. */
import { useEffect, useRef, useState } from "react";
import { Problem, requestJson } from "../shared/api";
import { useKeyboardShortcuts } from "../shared/keyboard-shortcuts";
import { Skeleton } from "../shared/skeleton";
import { useLoadingStage } from "../shared/use-loading-stage";
import { type Status, StatusLabel } from "../shared/status";
import { dateTimeFormat, toTimestamp } from "../shared/time";
import { text } from "./strings";
import type { DebateListItem } from "./types";

const PAGE_SIZE = 20;
const SEARCH_DELAY_MS = 200;
const STATUSES = Object.keys(text.status) as Status[];

interface DebateListResponse {
  debates: DebateListItem[];
  next?: string | null;
}

export function DebateList() {
  const [query, setQuery] = useState("");
  const [status, setStatus] = useState("");
  const [response, setResponse] = useState<DebateListResponse>();
  const [problem, setProblem] = useState<Problem>();
  const [attempts, setAttempts] = useState(0);
  const field = useRef<HTMLInputElement>(null);
  const loadingStage = useLoadingStage(!response && !problem);
  useKeyboardShortcuts({ "/": () => field.current?.focus() });
  useEffect(() => {
    if (location.hash === "#search") field.current?.focus();
  }, []);

  useEffect(() => {
    const controller = new AbortController();
    const timer = setTimeout(async () => {
      try {
        setResponse(await fetchDebates(query, status, undefined, controller.signal));
        setProblem(undefined);
      } catch (cause) {
        if (!controller.signal.aborted) setProblem(cause instanceof Problem ? cause : new Problem(0, String(cause)));
      }
    }, query ? SEARCH_DELAY_MS : 0);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [query, status, attempts]);

  const loadMore = async () => {
    if (!response?.next) return;
    const rest = await fetchDebates(query, status, response.next).catch(() => undefined);
    if (rest) setResponse({ debates: [...response.debates, ...rest.debates], next: rest.next });
  };

  return (
    <section class="debate-list" aria-labelledby="debates-title">
      <h2 id="debates-title">{text.debates.title}</h2>
      <div class="filters" role="search">
        <label>
          <span>{text.debates.search}</span>
          <input ref={field} type="search" value={query} onInput={(event) => setQuery(event.currentTarget.value)} />
        </label>
        <label>
          <span>{text.debates.status}</span>
          <select value={status} onChange={(event) => setStatus(event.currentTarget.value)}>
            <option value="">{text.debates.all}</option>
            {STATUSES.map((name) => <option key={name} value={name}>{text.status[name]}</option>)}
          </select>
        </label>
      </div>
      {loadingStage > 0 && <Skeleton lines={3} />}
      {loadingStage > 1 && <p role="status">{text.debates.waiting}</p>}
      {problem && (
        <div class="problem" role="alert">
          <p>{problem.message || text.unreachable}</p>
          <button type="button" onClick={() => setAttempts(attempts + 1)}>{text.tryAgain}</button>
        </div>
      )}
      {response?.debates.length === 0 && <p class="empty">{query || status ? text.debates.noneFound : text.debates.none}</p>}
      <ul>{response?.debates.map((debate) => <DebateListRow key={debate.id} debate={debate} />)}</ul>
      {response?.next && <button type="button" onClick={() => void loadMore()}>{text.more}</button>}
    </section>
  );
}

function DebateListRow({ debate }: { debate: DebateListItem }) {
  const start = toTimestamp(debate.startTime);
  return (
    <li>
      <a href={`/debate/${encodeURIComponent(debate.id)}`} dir="auto">{debate.topic}</a>
      <p>
        <StatusLabel status={debate.status} />
        <span>{text.debates.rounds(debate.maxRounds)}</span>
        {start !== undefined && <time dateTime={new Date(start).toISOString()}>{dateTimeFormat.format(start)}</time>}
      </p>
    </li>
  );
}

function fetchDebates(query: string, status: string, after?: string, signal?: AbortSignal): Promise<DebateListResponse> {
  const parameters = new URLSearchParams({ limit: String(PAGE_SIZE) });
  if (query.trim()) parameters.set("q", query.trim());
  if (status) parameters.set("status", status);
  if (after) parameters.set("after", after);
  return requestJson(`/api/debates?${parameters}`, { signal });
}
