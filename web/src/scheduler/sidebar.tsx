/** Sidebar: open interrupts, conflicts, members, feed and import. */
import { useEffect, useState } from "react";
import { copyToClipboard } from "../shared/clipboard";
import { api } from "./api";
import { IcsImport } from "./ics-import";
import { Icon, MemberBadge } from "./icons";
import { text } from "./strings";
import type { Conflict, ConversationListItem, Settings } from "./types";

const strings = text.side;

interface Props {
  settings: Settings;
  userId: string;
  hidden: string[];
  toggle(member: string): void;
  conflicts: Conflict[];
  /** Id of the open conversation. */
  thread?: string;
  /** Changes when the list must be reloaded. */
  revision: string;
  onOpen(thread: string): void;
  onChanged(message: string): void;
}

export function Sidebar({ settings, userId, hidden, toggle, conflicts, thread, revision, onOpen, onChanged }: Props) {
  const openInterrupts = useOpenInterrupts(userId, revision).filter(({ workflow_id }) => workflow_id !== thread);
  return (
    <aside class="sidebar" aria-label={strings.title}>
      {openInterrupts.length > 0 && (
        <section class="open-interrupts">
          <h2>{strings.waiting}</h2>
          <ul>{openInterrupts.map(({ workflow_id, title }) => <li key={workflow_id}><button type="button" data-open-thread={workflow_id} onClick={() => onOpen(workflow_id)}><Icon name="question" /> <span dir="auto">{title || strings.untitled}</span></button></li>)}</ul>
        </section>
      )}
      {conflicts.length > 0 && (
        <section class="conflicts">
          <h2>{strings.conflicts}</h2>
          <ul>{conflicts.map(({ id, details }) => <li key={id}><Icon name="conflict" /> <span dir="auto">{details}</span></li>)}</ul>
        </section>
      )}
      <section>
        <h2>{strings.members}</h2>
        <ul class="members">
          {settings.members.map(({ id, name }) => (
            <li key={id}>
              <button type="button" class="quiet" aria-pressed={!hidden.includes(id)} onClick={() => toggle(id)}>
                <MemberBadge id={id} name={name} members={settings.members} /> <span dir="auto">{name}</span> {hidden.includes(id) && <span class="hint">{strings.hidden}</span>}
              </button>
            </li>
          ))}
        </ul>
      </section>
      <section>
        <h2>{strings.feed}</h2>
        <CalendarFeed feed={settings.feed} userId={userId} />
        <IcsImport settings={settings} userId={userId} onChanged={onChanged} />
      </section>
    </aside>
  );
}

function CalendarFeed({ feed, userId }: { feed?: string | null; userId: string }) {
  const [notice, setNotice] = useState("");
  useEffect(() => {
    if (!notice) return;
    const timer = setTimeout(() => setNotice(""), 2_500);
    return () => clearTimeout(timer);
  }, [notice]);
  const copyLink = async () => setNotice((await copyToClipboard(new URL(feed!, location.origin).href)) ? text.share.copied : text.share.copyFailed);
  return (
    <div class="feed">
      {feed && <button type="button" data-feed={feed} onClick={() => void copyLink()}><Icon name="link" /> {strings.copyFeed}</button>}
      <span class="notice" role="status">{notice}</span>
      <p class="hint">{feed ? strings.feedHint : strings.noFeed}</p>
      <p><a href={api.icsUrl(userId)} download="calendar.ics">{strings.download}</a></p>
    </div>
  );
}

/** Conversations of the member with an open interrupt. */
function useOpenInterrupts(userId: string, revision: string): ConversationListItem[] {
  const [threads, setThreads] = useState<ConversationListItem[]>([]);
  useEffect(() => {
    const controller = new AbortController();
    api.threads(userId, controller.signal).then((response) => setThreads(response.threads.filter(({ status }) => status === "awaiting_user")), () => {});
    return () => controller.abort();
  }, [userId, revision]);
  return threads;
}
