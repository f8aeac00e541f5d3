/** Beside the calendar: whose events are shown, what waits, what clashes, and the ways in and out. */
import { useEffect, useState } from "react";
import { copy } from "../shared/copy";
import { api } from "./api";
import { Bring } from "./bring";
import { Letter, Sign } from "./signs";
import { text } from "./strings";
import type { Conflict, Settings, Thread } from "./types";

const words = text.side;

interface Props {
  settings: Settings;
  userId: string;
  hidden: string[];
  toggle(member: string): void;
  conflicts: Conflict[];
  /** The conversation that is open already. */
  thread?: string;
  /** Changes when there may be other questions. */
  stamp: string;
  open(thread: string): void;
  changed(what: string): void;
}

export function Side({ settings, userId, hidden, toggle, conflicts, thread, stamp, open, changed }: Props) {
  const waiting = useWaiting(userId, stamp).filter(({ workflow_id }) => workflow_id !== thread);
  return (
    <aside class="side" aria-label={words.title}>
      {waiting.length > 0 && (
        <section class="waits">
          <h2>{words.waiting}</h2>
          <ul>{waiting.map(({ workflow_id, title }) => <li key={workflow_id}><button type="button" data-waits={workflow_id} onClick={() => open(workflow_id)}><Sign of="ask" /> <span dir="auto">{title || words.untitled}</span></button></li>)}</ul>
        </section>
      )}
      {conflicts.length > 0 && (
        <section class="conflicts">
          <h2>{words.conflicts}</h2>
          <ul>{conflicts.map(({ id, details }) => <li key={id}><Sign of="conflict" /> <span dir="auto">{details}</span></li>)}</ul>
        </section>
      )}
      <section>
        <h2>{words.members}</h2>
        <ul class="members">
          {settings.members.map(({ id, name }) => (
            <li key={id}>
              <button type="button" class="quiet" aria-pressed={!hidden.includes(id)} onClick={() => toggle(id)}>
                <Letter id={id} name={name} members={settings.members} /> <span dir="auto">{name}</span> {hidden.includes(id) && <span class="hint">{words.hidden}</span>}
              </button>
            </li>
          ))}
        </ul>
      </section>
      <section>
        <h2>{words.feed}</h2>
        <Feed feed={settings.feed} userId={userId} />
        <Bring settings={settings} userId={userId} changed={changed} />
      </section>
    </aside>
  );
}

function Feed({ feed, userId }: { feed?: string | null; userId: string }) {
  const [said, setSaid] = useState("");
  useEffect(() => {
    if (!said) return;
    const timer = setTimeout(() => setSaid(""), 2_500);
    return () => clearTimeout(timer);
  }, [said]);
  const put = async () => setSaid((await copy(new URL(feed!, location.origin).href)) ? text.keep.copied : text.keep.notCopied);
  return (
    <div class="feed">
      {feed && <button type="button" data-feed={feed} onClick={() => void put()}><Sign of="link" /> {words.copyFeed}</button>}
      <span class="said-so" role="status">{said}</span>
      <p class="hint">{feed ? words.feedHint : words.noFeed}</p>
      <p><a href={api.fileOf(userId)} download="calendar.ics">{words.download}</a></p>
    </div>
  );
}

/** Questions that wait for an answer of this member, also those of other days and tabs. */
function useWaiting(userId: string, stamp: string): Thread[] {
  const [threads, setThreads] = useState<Thread[]>([]);
  useEffect(() => {
    const ending = new AbortController();
    api.threads(userId, ending.signal).then((listed) => setThreads(listed.threads.filter(({ status }) => status === "awaiting_user")), () => {});
    return () => ending.abort();
  }, [userId, stamp]);
  return threads;
}
