/** Screen reader announcer: adds new sentences to an `aria-live="polite"` region; text that is already on the page is not announced. */
import { useEffect, useRef, useState } from "react";
import { splitSentences } from "./sentences";

/** Older sentences are better read on the page. */
const MAX_LINES = 12;

export interface Announcement {
  key: string;
  speaker?: string;
  text: string;
  isDone: boolean;
}

interface Props {
  label: string;
  announcements: Announcement[];
  /** The current texts are not announced. */
  isHistory: boolean;
}

export function LiveAnnouncer({ label, announcements, isHistory }: Props) {
  const [lines, setLines] = useState<{ key: string; line: string }[]>([]);
  const announcedCounts = useRef(new Map<string, number>());

  useEffect(() => {
    const added = announcements.flatMap(({ key, speaker, text, isDone }) => {
      const sentences = splitSentences(text, isDone);
      const announced = announcedCounts.current.get(key) ?? 0;
      announcedCounts.current.set(key, sentences.length);
      return sentences.slice(announced).map((line, index) => {
        const content = speaker && announced + index === 0 ? `${speaker}: ${line}` : line;
        return { key: `${key}/${announced + index}`, line: content };
      });
    });
    if (!isHistory && added.length > 0) setLines((current) => [...current, ...added].slice(-MAX_LINES));
  }, [announcements]);

  return (
    <div class="visually-hidden" role="log" aria-live="polite" aria-label={label}>
      {lines.map(({ key, line }) => <p key={key}>{line}</p>)}
    </div>
  );
}
