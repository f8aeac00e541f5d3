/** Imports an .ics file that is selected or dropped on the page, and reports skipped entries. */
import { useEffect, useRef, useState } from "react";
import { api, toProblem } from "./api";
import { Icon } from "./icons";
import { text } from "./strings";
import type { ImportReport, Settings } from "./types";

const strings = text.import;
const MAX_BYTES = 10_000_000;
const MAX_CONFLICTS = 20;

interface Props {
  settings: Settings;
  userId: string;
  /** Called with a message after an import. */
  onChanged(message: string): void;
}

type ImportState = { status: "idle" } | { status: "importing"; name: string } | { status: "failed"; message: string } | { status: "done"; report: ImportReport };

export function IcsImport({ settings, userId, onChanged }: Props) {
  const calendars = settings.calendars ?? [];
  const [calendar, setCalendar] = useState("");
  const [state, setState] = useState<ImportState>({ status: "idle" });
  const [isDragging, setDragging] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const targetCalendar = calendar || (calendars.find(({ owner }) => !owner || owner === userId) ?? calendars[0])?.id;

  const importFile = async (file: File | undefined) => {
    if (!file) return;
    if (!/\.(ics|ical|ifb|icalendar)$/i.test(file.name) && file.type !== "text/calendar") return setState({ status: "failed", message: strings.notCalendar });
    if (file.size > MAX_BYTES) return setState({ status: "failed", message: strings.tooLarge });
    setState({ status: "importing", name: file.name });
    try {
      const report = await api.importIcs(userId, targetCalendar, file);
      setState({ status: "done", report });
      if (report.created + report.updated > 0) onChanged(strings.changed(file.name));
    } catch (cause) {
      const problem = toProblem(cause);
      setState({ status: "failed", message: `${strings.failed} ${problem.message || text.unreachable}` });
    }
  };
  const latest = useRef(importFile);
  latest.current = importFile;

  useEffect(() => {
    const hasFile = (event: DragEvent) => event.dataTransfer?.types.includes("Files") ?? false;
    const handleDragOver = (event: DragEvent) => {
      if (!hasFile(event)) return;
      event.preventDefault();
      setDragging(true);
    };
    // `relatedTarget` is null only when the pointer leaves the window.
    const handleDragLeave = (event: DragEvent) => { if (event.relatedTarget === null) setDragging(false); };
    const handleDrop = (event: DragEvent) => {
      if (!hasFile(event)) return;
      event.preventDefault();
      setDragging(false);
      void latest.current(event.dataTransfer?.files[0]);
    };
    addEventListener("dragover", handleDragOver);
    addEventListener("dragleave", handleDragLeave);
    addEventListener("drop", handleDrop);
    return () => {
      removeEventListener("dragover", handleDragOver);
      removeEventListener("dragleave", handleDragLeave);
      removeEventListener("drop", handleDrop);
    };
  }, []);

  return (
    <div class="ics-import">
      {isDragging && <div class="drop-overlay" aria-hidden="true"><p><Icon name="import" /> {strings.drop}</p></div>}
      {calendars.length > 1 && (
        <label class="import-target"><span>{text.side.into}</span>
          <select value={targetCalendar} onChange={(event) => setCalendar(event.currentTarget.value)}>{calendars.map(({ id, name }) => <option key={id} value={id}>{name}</option>)}</select>
        </label>
      )}
      <button type="button" onClick={() => input.current?.click()} disabled={state.status === "importing"}><Icon name="import" /> {text.side.import}</button>
      <input ref={input} class="visually-hidden" type="file" id="import" tabIndex={-1} aria-label={text.side.import} accept=".ics,text/calendar"
        onChange={(event) => { void importFile(event.currentTarget.files?.[0]); event.currentTarget.value = ""; }} />
      <p class="hint">{text.side.importHint}</p>
      <div role="status">
        {state.status === "importing" && <p>{strings.importing(state.name)}</p>}
        {state.status === "done" && <ImportReportView report={state.report} />}
      </div>
      {state.status === "failed" && <p class="problem" role="alert">{state.message}</p>}
    </div>
  );
}

function ImportReportView({ report: { created, updated, unchanged, skipped, conflicts } }: { report: ImportReport }) {
  return (
    <div class="import-report" data-created={created}>
      <p>{strings.done(created, updated, unchanged)}</p>
      {skipped.length > 0 && <p>{strings.skipped(skipped.length)}</p>}
      <ul>
        {skipped.map(({ line, property, reason, title }, index) => (
          <li key={index}>{title && <strong dir="auto">{title} </strong>}<span dir="auto">{reason}</span> <span class="hint">{strings.position(line, property)}</span></li>
        ))}
      </ul>
      {conflicts.length > 0 && <p>{strings.conflicts(conflicts.length)}</p>}
      <ul class="import-conflicts">
        {conflicts.slice(0, MAX_CONFLICTS).map(({ id, details }) => <li key={id} dir="auto">{details}</li>)}
      </ul>
    </div>
  );
}
