/** The debate for the ear: who speaks, what is said, what is waited for. */
import { Aloud, type Speech } from "../shared/aloud";
import type { Debate } from "./state";
import { text } from "./strings";

export function DebateAloud({ debate }: { debate: Debate }) {
  const isPast = debate.history === undefined || debate.last <= debate.history;
  const { status, question, last } = debate;
  const speeches: Speech[] = debate.turns.map((turn) => ({ key: turn.key, who: text.voice[turn.speaker].name, text: turn.text, isDone: turn.done }));
  const stands = status === "waiting" ? (question?.question ?? text.approval.title) : text.status[status];
  // Where it stands is said once for each time it comes to stand there.
  if (status !== "running") speeches.push({ key: `${status}/${question?.interruptId ?? last}`, text: stands, isDone: true });
  return <Aloud label={text.debate.page} speeches={speeches} isPast={isPast} />;
}
