/** The last change and the time left to undo it. */
import { useEffect, useState } from "react";
import { useKeyboardShortcuts } from "../shared/keyboard-shortcuts";
import { Icon } from "./icons";
import { text } from "./strings";
import { formatTimeLeft, type UndoEntry } from "./undo-history";

const strings = text.undo;

export function UndoBar({ entry, undo }: { entry: UndoEntry; undo(): Promise<void> }) {
  const [now, setNow] = useState(Date.now());
  const [isUndoing, setUndoing] = useState(false);
  const [isClosed, setClosed] = useState(false);
  useEffect(() => {
    setNow(Date.now());
    setClosed(false);
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, [entry]);
  const handleUndo = async () => {
    if (isUndoing) return;
    setUndoing(true);
    await undo();
    setUndoing(false);
  };
  useKeyboardShortcuts({ u: () => void handleUndo() });
  if (isClosed) return null;
  return (
    <section class="undo-bar" aria-label={strings.title}>
      <p class="undo-text" dir="auto">{entry.text}</p>
      <p class="time-left" role="timer" aria-live="off">{strings.left(formatTimeLeft(entry.until, now))}</p>
      <button type="button" disabled={isUndoing} onClick={() => void handleUndo()}><Icon name="undo" /> {isUndoing ? strings.undoing : strings.undo}</button>
      <button type="button" class="quiet square" aria-label={strings.dismiss} onClick={() => setClosed(true)}><Icon name="close" /></button>
    </section>
  );
}
