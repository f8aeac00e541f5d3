/** Sidebar: user, conversations, saved facts, tools. */
import { type ReactNode, useEffect, useRef, useState } from "react";
import { request, requestJson } from "../shared/api";
import { StatusLabel } from "../shared/status";
import { dateFormat, dateTimeFormat, formatRelative, toTimestamp } from "../shared/time";
import { text } from "./strings";
import type { Fact, Session, Settings } from "./types";

const strings = text.sidebar;
const MAX_SESSIONS = 20;
const isWide = () => matchMedia("(min-width: 64rem)").matches;

interface Props {
  settings?: Settings;
  userId: string;
  /** Id of the open conversation. */
  id?: string;
  /** Changes when the lists must be reloaded. */
  revision: string;
  onSelectUser(userId: string): void;
}

export function Sidebar({ settings, userId, id, revision, onSelectUser }: Props) {
  return (
    <aside class="sidebar" aria-label={text.page}>
      <UserSelect settings={settings} userId={userId} onSelectUser={onSelectUser} />
      {userId && <SessionList userId={userId} id={id} revision={revision} />}
      {userId && <MemoryList userId={userId} revision={revision} />}
      {settings && settings.tools.length > 0 && (
        <CollapsibleSection title={strings.tools} isOpen={false}>
          <ul class="tools">
            {settings.tools.map(({ name, description, destructive }) => (
              <li key={name}><code>{name}</code> {description} {destructive && <strong>{strings.destructive}</strong>}</li>
            ))}
          </ul>
        </CollapsibleSection>
      )}
    </aside>
  );
}

/** Select of the configured users. */
export function UserSelect({ settings, userId, onSelectUser }: Pick<Props, "settings" | "userId" | "onSelectUser">) {
  if (!settings || settings.users.length === 0) return null;
  const user = settings.users.find((other) => other.id === userId);
  return (
    <div class="field">
      <label for="user">{strings.user}</label>
      <select id="user" value={userId} onChange={(event) => onSelectUser(event.currentTarget.value)} aria-describedby={user?.role ? "user-role" : undefined}>
        {!user && userId && <option value={userId}>{userId}</option>}
        {settings.users.map((other) => <option key={other.id} value={other.id}>{other.name}</option>)}
      </select>
      {user?.role && <p class="hint" id="user-role">{user.role}</p>}
    </div>
  );
}

function CollapsibleSection({ title, isOpen, children }: { title: string; isOpen: boolean; children: ReactNode }) {
  return (
    <details open={isOpen}>
      <summary><h2>{title}</h2></summary>
      {children}
    </details>
  );
}

function SessionList({ userId, id, revision }: { userId: string; id?: string; revision: string }) {
  const [sessions, setSessions] = useState<Session[]>();
  useEffect(() => {
    const controller = new AbortController();
    const parameters = new URLSearchParams({ userId, limit: String(MAX_SESSIONS) });
    requestJson<{ sessions: Session[] }>(`/api/assistant?${parameters}`, { signal: controller.signal }).then((response) => setSessions(response.sessions), () => {});
    return () => controller.abort();
  }, [userId, revision]);
  return (
    <CollapsibleSection title={strings.sessions} isOpen={isWide()}>
      {sessions?.length === 0 && <p class="empty">{strings.noSessions}</p>}
      <ul class="sessions">
        {sessions?.map((session) => {
          const updated = toTimestamp(session.updatedAt);
          return (
            <li key={session.sessionId}>
              <a href={`/assistant/${encodeURIComponent(session.sessionId)}`} aria-current={session.sessionId === id ? "page" : undefined} dir="auto">{session.title || strings.untitled}</a>
              <p><StatusLabel status={session.status} /> {updated !== undefined && <time dateTime={new Date(updated).toISOString()} title={dateTimeFormat.format(updated)}>{formatRelative(updated, Date.now())}</time>}</p>
            </li>
          );
        })}
      </ul>
    </CollapsibleSection>
  );
}

function MemoryList({ userId, revision }: { userId: string; revision: string }) {
  const [facts, setFacts] = useState<Fact[]>();
  const [notice, setNotice] = useState("");
  const listRef = useRef<HTMLUListElement>(null);
  const user = `userId=${encodeURIComponent(userId)}`;
  useEffect(() => {
    const controller = new AbortController();
    requestJson<{ facts: Fact[] }>(`/api/assistant/memory?${user}`, { signal: controller.signal }).then((response) => setFacts(response.facts), () => {});
    return () => controller.abort();
  }, [userId, revision]);
  const deleteFact = async (key: string) => {
    try {
      await request(`/api/assistant/memory/${encodeURIComponent(key)}?${user}`, { method: "DELETE" });
      setFacts((current) => current?.filter((fact) => fact.key !== key));
      setNotice(strings.forgotten);
      // The pressed button is removed, so the focus moves to the list.
      listRef.current?.focus();
    } catch {
      setNotice(strings.notForgotten);
    }
  };
  return (
    <CollapsibleSection title={strings.memory} isOpen={isWide()}>
      {facts?.length === 0 && <p class="empty">{strings.noMemory}</p>}
      <ul class="memory" ref={listRef} tabIndex={-1} aria-label={strings.memory}>
        {facts?.map((fact) => <MemoryItem key={fact.key} fact={fact} onDelete={() => void deleteFact(fact.key)} />)}
      </ul>
      <p class="notice" role="status">{notice}</p>
    </CollapsibleSection>
  );
}

function MemoryItem({ fact, onDelete: deleteFact }: { fact: Fact; onDelete(): void }) {
  const date = toTimestamp(fact.date);
  return (
    <li data-key={fact.key}>
      <p dir="auto">{fact.text}</p>
      <p class="item-meta">
        {fact.source && <span>{strings.from(fact.source)}</span>}
        {date !== undefined && <time dateTime={new Date(date).toISOString()}>{dateFormat.format(date)}</time>}
        <button type="button" class="quiet" aria-label={strings.forgetFact(fact.text)} onClick={deleteFact}>{strings.forget}</button>
      </p>
    </li>
  );
}
