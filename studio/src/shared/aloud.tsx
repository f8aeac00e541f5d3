/** What is said, for the ear: sentence by sentence in a polite region, nothing of what was said before. */
import { useEffect, useRef, useState } from "react";
import { sentences } from "./sentences";

/** What a reader has not come to by then is better read on the page. */
const MOST_LINES = 12;

export interface Speech {
  key: string;
  who?: string;
  text: string;
  isDone: boolean;
}

interface Props {
  label: string;
  speeches: Speech[];
  /** Nothing that is there now is read out. */
  isPast: boolean;
}

export function Aloud({ label, speeches, isPast }: Props) {
  const [lines, setLines] = useState<{ key: string; line: string }[]>([]);
  const heard = useRef(new Map<string, number>());

  useEffect(() => {
    const fresh = speeches.flatMap(({ key, who, text, isDone }) => {
      const whole = sentences(text, isDone);
      const before = heard.current.get(key) ?? 0;
      heard.current.set(key, whole.length);
      return whole.slice(before).map((line, index) => {
        const said = who && before + index === 0 ? `${who}: ${line}` : line;
        return { key: `${key}/${before + index}`, line: said };
      });
    });
    if (!isPast && fresh.length > 0) setLines((known) => [...known, ...fresh].slice(-MOST_LINES));
  }, [speeches]);

  return (
    <div class="hidden" role="log" aria-live="polite" aria-label={label}>
      {lines.map(({ key, line }) => <p key={key}>{line}</p>)}
    </div>
  );
}
