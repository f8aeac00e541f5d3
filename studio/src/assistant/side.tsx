/** Beside the conversation: who asks, what was asked before, what is remembered, what it can use. */
import { useEffect, useRef, useState, type ReactNode } from "react";
import { ask, json } from "../shared/api";
import { StatusWord } from "../shared/status";
import { day, fromNow, timeOf, when } from "../shared/time";
import { text } from "./strings";
import type { Fact, Session, Settings } from "./types";

const words = text.side;
const SESSIONS = 20;
const isWide = () => matchMedia("(min-width: 64rem)").matches;

interface Props {
  settings?: Settings;
  userId: string;
  /** The conversation that is open. */
  id?: string;
  /** Changes when there may be something new. */
  stamp: string;
  choose(userId: string): void;
}

export function Side({ settings, userId, id, stamp, choose }: Props) {
  return (
    <aside class="side" aria-label={text.page}>
      <Who settings={settings} userId={userId} choose={choose} />
      {userId && <Sessions userId={userId} id={id} stamp={stamp} />}
      {userId && <Memory userId={userId} stamp={stamp} />}
      {settings && settings.tools.length > 0 && (
        <Fold title={words.tools} isOpen={false}>
          <ul class="tools">
            {settings.tools.map(({ name, description, destructive }) => (
              <li key={name}><code>{name}</code> {description} {destructive && <strong>{words.destructive}</strong>}</li>
            ))}
          </ul>
        </Fold>
      )}
    </aside>
  );
}

/** Who asks, chosen among those that the server knows. */
export function Who({ settings, userId, choose }: Pick<Props, "settings" | "userId" | "choose">) {
  if (!settings || settings.users.length === 0) return null;
  const user = settings.users.find((one) => one.id === userId);
  return (
    <div class="field">
      <label for="user">{words.user}</label>
      <select id="user" value={userId} onChange={(event) => choose(event.currentTarget.value)} aria-describedby={user?.role ? "user-role" : undefined}>
        {!user && userId && <option value={userId}>{userId}</option>}
        {settings.users.map((one) => <option key={one.id} value={one.id}>{one.name}</option>)}
      </select>
      {user?.role && <p class="hint" id="user-role">{user.role}</p>}
    </div>
  );
}

function Fold({ title, isOpen, children }: { title: string; isOpen: boolean; children: ReactNode }) {
  return (
    <details open={isOpen}>
      <summary><h2>{title}</h2></summary>
      {children}
    </details>
  );
}

function Sessions({ userId, id, stamp }: { userId: string; id?: string; stamp: string }) {
  const [sessions, setSessions] = useState<Session[]>();
  useEffect(() => {
    const ending = new AbortController();
    const parameters = new URLSearchParams({ userId, limit: String(SESSIONS) });
    json<{ sessions: Session[] }>(`/api/assistant?${parameters}`, { signal: ending.signal }).then((listed) => setSessions(listed.sessions), () => {});
    return () => ending.abort();
  }, [userId, stamp]);
  return (
    <Fold title={words.sessions} isOpen={isWide()}>
      {sessions?.length === 0 && <p class="empty">{words.noSessions}</p>}
      <ul class="sessions">
        {sessions?.map((session) => {
          const updated = timeOf(session.updatedAt);
          return (
            <li key={session.sessionId}>
              <a href={`/assistant/${encodeURIComponent(session.sessionId)}`} aria-current={session.sessionId === id ? "page" : undefined} dir="auto">{session.title || words.untitled}</a>
              <p><StatusWord of={session.status} /> {updated !== undefined && <time dateTime={new Date(updated).toISOString()} title={when.format(updated)}>{fromNow(updated, Date.now())}</time>}</p>
            </li>
          );
        })}
      </ul>
    </Fold>
  );
}

function Memory({ userId, stamp }: { userId: string; stamp: string }) {
  const [facts, setFacts] = useState<Fact[]>();
  const [said, setSaid] = useState("");
  const list = useRef<HTMLUListElement>(null);
  const user = `userId=${encodeURIComponent(userId)}`;
  useEffect(() => {
    const ending = new AbortController();
    json<{ facts: Fact[] }>(`/api/assistant/memory?${user}`, { signal: ending.signal }).then((listed) => setFacts(listed.facts), () => {});
    return () => ending.abort();
  }, [userId, stamp]);
  const forget = async (key: string) => {
    try {
      await ask(`/api/assistant/memory/${encodeURIComponent(key)}?${user}`, { method: "DELETE" });
      setFacts((now) => now?.filter((fact) => fact.key !== key));
      setSaid(words.forgotten);
      // The button that was pressed is gone; the list is where to go on.
      list.current?.focus();
    } catch {
      setSaid(words.notForgotten);
    }
  };
  return (
    <Fold title={words.memory} isOpen={isWide()}>
      {facts?.length === 0 && <p class="empty">{words.noMemory}</p>}
      <ul class="memory" ref={list} tabIndex={-1} aria-label={words.memory}>
        {facts?.map((fact) => <OneFact key={fact.key} fact={fact} forget={() => void forget(fact.key)} />)}
      </ul>
      <p class="said-so" role="status">{said}</p>
    </Fold>
  );
}

function OneFact({ fact, forget }: { fact: Fact; forget(): void }) {
  const date = timeOf(fact.date);
  return (
    <li data-key={fact.key}>
      <p dir="auto">{fact.text}</p>
      <p class="place">
        {fact.source && <span>{words.from(fact.source)}</span>}
        {date !== undefined && <time dateTime={new Date(date).toISOString()}>{day.format(date)}</time>}
        <button type="button" class="quiet" aria-label={words.forgetThis(fact.text)} onClick={forget}>{words.forget}</button>
      </p>
    </li>
  );
}
