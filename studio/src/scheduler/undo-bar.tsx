/** What was changed last, and how long it can still be taken back. */
import { useEffect, useState } from "react";
import { useKeys } from "../shared/keys";
import { Sign } from "./signs";
import { text } from "./strings";
import { left, type Undoable } from "./undo";

const words = text.undo;

export function UndoBar({ last, undo }: { last: Undoable; undo(): Promise<void> }) {
  const [now, setNow] = useState(Date.now());
  const [isUndoing, setUndoing] = useState(false);
  const [isClosed, setClosed] = useState(false);
  useEffect(() => {
    setNow(Date.now());
    setClosed(false);
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, [last]);
  const press = async () => {
    if (isUndoing) return;
    setUndoing(true);
    await undo();
    setUndoing(false);
  };
  useKeys({ u: () => void press() });
  if (isClosed) return null;
  return (
    <section class="undo" aria-label={words.title}>
      <p class="what" dir="auto">{last.text}</p>
      <p class="left" role="timer" aria-live="off">{words.left(left(last.until, now))}</p>
      <button type="button" disabled={isUndoing} onClick={() => void press()}><Sign of="undo" /> {isUndoing ? words.undoing : words.undo}</button>
      <button type="button" class="quiet square" aria-label={words.dismiss} onClick={() => setClosed(true)}><Sign of="close" /></button>
    </section>
  );
}
