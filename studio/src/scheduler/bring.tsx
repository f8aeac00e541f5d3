/** Brings a calendar file in: chosen, or dropped anywhere on the page; and tells what was left out. */
import { useEffect, useRef, useState } from "react";
import { api, problemOf } from "./api";
import { Sign } from "./signs";
import { text } from "./strings";
import type { Imported, Settings } from "./types";

const words = text.bring;
const MOST_BYTES = 10_000_000;
const MOST_CONFLICTS = 20;

interface Props {
  settings: Settings;
  userId: string;
  /** Something came in, in words. */
  changed(what: string): void;
}

type Stage = { is: "idle" } | { is: "bringing"; name: string } | { is: "refused"; why: string } | { is: "done"; imported: Imported };

export function Bring({ settings, userId, changed }: Props) {
  const calendars = settings.calendars ?? [];
  const [calendar, setCalendar] = useState("");
  const [stage, setStage] = useState<Stage>({ is: "idle" });
  const [isOver, setOver] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const into = calendar || (calendars.find(({ owner }) => !owner || owner === userId) ?? calendars[0])?.id;

  const bring = async (file: File | undefined) => {
    if (!file) return;
    if (!/\.(ics|ical|ifb|icalendar)$/i.test(file.name) && file.type !== "text/calendar") return setStage({ is: "refused", why: words.notCalendar });
    if (file.size > MOST_BYTES) return setStage({ is: "refused", why: words.tooLarge });
    setStage({ is: "bringing", name: file.name });
    try {
      const imported = await api.bring(userId, into, file);
      setStage({ is: "done", imported });
      if (imported.created + imported.updated > 0) changed(words.changed(file.name));
    } catch (cause) {
      const problem = problemOf(cause);
      setStage({ is: "refused", why: `${words.failed} ${problem.message || text.nobodyThere}` });
    }
  };
  const latest = useRef(bring);
  latest.current = bring;

  useEffect(() => {
    const hasFile = (event: DragEvent) => event.dataTransfer?.types.includes("Files") ?? false;
    const over = (event: DragEvent) => {
      if (!hasFile(event)) return;
      event.preventDefault();
      setOver(true);
    };
    // Leaving the window is leaving; from one part of the page to the next is not.
    const leave = (event: DragEvent) => { if (event.relatedTarget === null) setOver(false); };
    const drop = (event: DragEvent) => {
      if (!hasFile(event)) return;
      event.preventDefault();
      setOver(false);
      void latest.current(event.dataTransfer?.files[0]);
    };
    addEventListener("dragover", over);
    addEventListener("dragleave", leave);
    addEventListener("drop", drop);
    return () => {
      removeEventListener("dragover", over);
      removeEventListener("dragleave", leave);
      removeEventListener("drop", drop);
    };
  }, []);

  return (
    <div class="bring">
      {isOver && <div class="drop" aria-hidden="true"><p><Sign of="bring" /> {words.drop}</p></div>}
      {calendars.length > 1 && (
        <label class="into"><span>{text.side.into}</span>
          <select value={into} onChange={(event) => setCalendar(event.currentTarget.value)}>{calendars.map(({ id, name }) => <option key={id} value={id}>{name}</option>)}</select>
        </label>
      )}
      <button type="button" onClick={() => input.current?.click()} disabled={stage.is === "bringing"}><Sign of="bring" /> {text.side.bring}</button>
      <input ref={input} class="hidden" type="file" id="import" tabIndex={-1} aria-label={text.side.bring} accept=".ics,text/calendar"
        onChange={(event) => { void bring(event.currentTarget.files?.[0]); event.currentTarget.value = ""; }} />
      <p class="hint">{text.side.bringHint}</p>
      <div role="status">
        {stage.is === "bringing" && <p>{words.bringing(stage.name)}</p>}
        {stage.is === "done" && <Report imported={stage.imported} />}
      </div>
      {stage.is === "refused" && <p class="problem" role="alert">{stage.why}</p>}
    </div>
  );
}

function Report({ imported: { created, updated, unchanged, skipped, conflicts } }: { imported: Imported }) {
  return (
    <div class="report" data-created={created}>
      <p>{words.done(created, updated, unchanged)}</p>
      {skipped.length > 0 && <p>{words.skipped(skipped.length)}</p>}
      <ul>
        {skipped.map(({ line, property, reason, title }, index) => (
          <li key={index}>{title && <strong dir="auto">{title} </strong>}<span dir="auto">{reason}</span> <span class="hint">{words.where(line, property)}</span></li>
        ))}
      </ul>
      {conflicts.length > 0 && <p>{words.conflicts(conflicts.length)}</p>}
      <ul class="clashes">
        {conflicts.slice(0, MOST_CONFLICTS).map(({ id, details }) => <li key={id} dir="auto">{details}</li>)}
      </ul>
    </div>
  );
}
