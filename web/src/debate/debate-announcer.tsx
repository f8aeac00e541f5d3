/** Screen reader announcements of a debate: turns and status changes. */
import { type Announcement, LiveAnnouncer } from "../shared/live-announcer";
import type { DebateViewState } from "./state";
import { text } from "./strings";

export function DebateAnnouncer({ debate }: { debate: DebateViewState }) {
  const isHistory = debate.historyEventId === undefined || debate.lastEventId <= debate.historyEventId;
  const { status, question, lastEventId } = debate;
  const announcements: Announcement[] = debate.turns.map((turn) => ({ key: turn.key, speaker: text.agents[turn.speaker].name, text: turn.text, isDone: turn.isDone }));
  const statusText = status === "waiting" ? (question?.question ?? text.approval.title) : text.status[status];
  // The key makes every status change an announcement of its own.
  if (status !== "running") announcements.push({ key: `${status}/${question?.interruptId ?? lastEventId}`, text: statusText, isDone: true });
  return <LiveAnnouncer label={text.debate.page} announcements={announcements} isHistory={isHistory} />;
}
