/** The debate for the ear: sentence by sentence in a polite region, nothing of what was said before. */
import { useEffect, useRef, useState } from "react";
import { text } from "../shared/strings";
import type { Debate } from "./state";
import { sentences } from "./text";

/** What a reader has not come to by then is better read on the page. */
const MOST_LINES = 12;

export function Aloud({ debate }: { debate: Debate }) {
  const [lines, setLines] = useState<{ key: string; line: string }[]>([]);
  const heard = useRef(new Map<string, number>());
  const status = useRef(debate.status);

  useEffect(() => {
    const isPast = debate.history === undefined || debate.last <= debate.history;
    const fresh = debate.turns.flatMap((turn) => {
      const whole = sentences(turn.text, turn.done);
      const before = heard.current.get(turn.key) ?? 0;
      heard.current.set(turn.key, whole.length);
      return whole.slice(before).map((line, index) => {
        const who = before + index === 0 ? `${text.voice[turn.speaker].name}: ` : "";
        return { key: `${turn.key}/${before + index}`, line: who + line };
      });
    });
    if (status.current !== debate.status) {
      status.current = debate.status;
      const line = debate.status === "waiting" ? (debate.question?.question ?? text.approval.title) : text.status[debate.status];
      if (debate.status !== "running") fresh.push({ key: `${debate.last}/${debate.status}`, line });
    }
    if (!isPast && fresh.length > 0) setLines((known) => [...known, ...fresh].slice(-MOST_LINES));
  }, [debate]);

  return (
    <div class="hidden" role="log" aria-live="polite" aria-label={text.debate.page}>
      {lines.map(({ key, line }) => <p key={key}>{line}</p>)}
    </div>
  );
}
