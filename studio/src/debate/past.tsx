/** Debates that were held: search, status, more. */
import { useEffect, useRef, useState } from "react";
import { json, Problem } from "../shared/api";
import { useKeys } from "../shared/keys";
import { Skeleton } from "../shared/skeleton";
import { useSlow } from "../shared/slow";
import { StatusWord, type Status } from "../shared/status";
import { timeOf, when } from "../shared/time";
import { text } from "./strings";
import type { Past } from "./types";

const PAGE = 20;
const TYPING_MS = 200;
const STATUSES = Object.keys(text.status) as Status[];

interface Listed {
  debates: Past[];
  next?: string | null;
}

export function PastDebates() {
  const [query, setQuery] = useState("");
  const [status, setStatus] = useState("");
  const [listed, setListed] = useState<Listed>();
  const [problem, setProblem] = useState<Problem>();
  const [tries, setTries] = useState(0);
  const field = useRef<HTMLInputElement>(null);
  const slow = useSlow(!listed && !problem);
  useKeys({ "/": () => field.current?.focus() });
  useEffect(() => {
    if (location.hash === "#search") field.current?.focus();
  }, []);

  useEffect(() => {
    const ending = new AbortController();
    const timer = setTimeout(async () => {
      try {
        setListed(await list(query, status, undefined, ending.signal));
        setProblem(undefined);
      } catch (cause) {
        if (!ending.signal.aborted) setProblem(cause instanceof Problem ? cause : new Problem(0, String(cause)));
      }
    }, query ? TYPING_MS : 0);
    return () => {
      clearTimeout(timer);
      ending.abort();
    };
  }, [query, status, tries]);

  const more = async () => {
    if (!listed?.next) return;
    const rest = await list(query, status, listed.next).catch(() => undefined);
    if (rest) setListed({ debates: [...listed.debates, ...rest.debates], next: rest.next });
  };

  return (
    <section class="past" aria-labelledby="past-title">
      <h2 id="past-title">{text.past.title}</h2>
      <div class="filters" role="search">
        <label>
          <span>{text.past.search}</span>
          <input ref={field} type="search" value={query} onInput={(event) => setQuery(event.currentTarget.value)} />
        </label>
        <label>
          <span>{text.past.status}</span>
          <select value={status} onChange={(event) => setStatus(event.currentTarget.value)}>
            <option value="">{text.past.all}</option>
            {STATUSES.map((name) => <option key={name} value={name}>{text.status[name]}</option>)}
          </select>
        </label>
      </div>
      {slow > 0 && <Skeleton lines={3} />}
      {slow > 1 && <p role="status">{text.past.waiting}</p>}
      {problem && (
        <div class="problem" role="alert">
          <p>{problem.message || text.nobodyThere}</p>
          <button type="button" onClick={() => setTries(tries + 1)}>{text.tryAgain}</button>
        </div>
      )}
      {listed?.debates.length === 0 && <p class="empty">{query || status ? text.past.noneFound : text.past.none}</p>}
      <ul>{listed?.debates.map((debate) => <One key={debate.id} debate={debate} />)}</ul>
      {listed?.next && <button type="button" onClick={() => void more()}>{text.more}</button>}
    </section>
  );
}

function One({ debate }: { debate: Past }) {
  const start = timeOf(debate.startTime);
  return (
    <li>
      <a href={`/debate/${encodeURIComponent(debate.id)}`} dir="auto">{debate.topic}</a>
      <p>
        <StatusWord of={debate.status} />
        <span>{text.past.rounds(debate.maxRounds)}</span>
        {start !== undefined && <time dateTime={new Date(start).toISOString()}>{when.format(start)}</time>}
      </p>
    </li>
  );
}

function list(query: string, status: string, after?: string, signal?: AbortSignal): Promise<Listed> {
  const parameters = new URLSearchParams({ limit: String(PAGE) });
  if (query.trim()) parameters.set("q", query.trim());
  if (status) parameters.set("status", status);
  if (after) parameters.set("after", after);
  return json(`/api/debates?${parameters}`, { signal });
}
