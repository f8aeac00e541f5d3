/** The plan of a turn: steps with state and output, and the notes of the verifier. */
import { memo } from "react";
import { formatDuration } from "../shared/time";
import { outputText, sqlFromCall, stepDescription, tableFromOutput } from "./tool-output";
import { StepIcon } from "./step-icon";
import type { Step, Turn } from "./state";
import { text } from "./strings";
import { verifierNoteText } from "./session-markdown";

/** Limits for the output that is rendered. */
const MAX_ROWS = 20;
const MAX_OUTPUT_LENGTH = 4_000;

export function Plan({ turn }: { turn: Turn }) {
  if (turn.steps.length === 0 && turn.notes.length === 0) return null;
  const attempts = Math.max(0, ...turn.steps.map((step) => step.attempt), ...turn.notes.map((note) => note.attempt));
  const attemptNumbers = Array.from({ length: attempts + 1 }, (_, attempt) => attempt);
  return (
    <div class="plan">
      <h3>{text.turn.plan}</h3>
      <ol>
        {attemptNumbers.flatMap((attempt) => [
          ...turn.steps.filter((step) => step.attempt === attempt).map((step) => <PlanStep key={`${attempt}-${step.id}`} step={step} />),
          ...turn.notes.filter((note) => note.attempt === attempt).map((note) => (
            <li key={`note-${attempt}-${note.status}`} class={`note is-${note.status}`} data-status={note.status}>{verifierNoteText(note, turn)}</li>
          )),
        ])}
      </ol>
    </div>
  );
}

/** Memoized, so that only changed steps render again. */
const PlanStep = memo(function PlanStep({ step }: { step: Step }) {
  const { tool, why, state, durationMs } = step;
  return (
    <li class={`step is-${state}`} data-tool={tool} data-state={state}>
      <details>
        <summary>
          <StepIcon state={state} />
          <span class="step-title"><span class="step-description" dir="auto">{stepDescription(tool, step.args, why)}</span> <code>{tool}</code></span>
          <span class="step-result">{text.step.state[state]}{durationMs !== undefined && ` · ${formatDuration(durationMs)}`}</span>
        </summary>
        <StepDetails step={step} />
      </details>
    </li>
  );
});

function StepDetails({ step }: { step: Step }) {
  const { args, output, error, state } = step;
  const sql = sqlFromCall(args, output);
  const isOver = state === "done" || state === "empty" || state === "failed";
  return (
    <div class="step-details">
      {error && <DetailSection name={text.step.error} content={error} />}
      {output !== undefined ? <ToolOutput output={output} /> : !isOver && <p class="empty">{text.step.noOutput}</p>}
      {args !== undefined && (
        <details class="step-query">
          <summary>{text.step.queryAndArguments}</summary>
          {sql && <DetailSection name={text.step.sql} content={sql} />}
          {(!sql || hasOtherArguments(args)) && <DetailSection name={text.step.input} content={outputText(withoutSql(args))} />}
        </details>
      )}
    </div>
  );
}

function hasOtherArguments(args: unknown): boolean {
  return typeof args === "object" && args !== null && Object.keys(args).some((name) => name !== "sql");
}

/** Removes the SQL query, which is shown separately. */
function withoutSql(args: unknown): unknown {
  if (typeof args !== "object" || args === null) return args;
  return Object.fromEntries(Object.entries(args).filter(([name]) => name !== "sql"));
}

function DetailSection({ name, content }: { name: string; content: string }) {
  return (
    <>
      <p class="section-label">{name}</p>
      <pre tabIndex={0} role="group" aria-label={name}><code>{content}</code></pre>
    </>
  );
}

function ToolOutput({ output }: { output: unknown }) {
  const table = tableFromOutput(output);
  if (!table) {
    const content = outputText(output);
    return <DetailSection name={text.step.output} content={content.length > MAX_OUTPUT_LENGTH ? `${content.slice(0, MAX_OUTPUT_LENGTH)}…` : content} />;
  }
  const visibleRows = table.rows.slice(0, MAX_ROWS);
  return (
    <>
      <p class="section-label">{text.step.output}: {text.step.rows(visibleRows.length, Math.max(table.count, visibleRows.length))}{table.isTruncated && `, ${text.step.truncated}`}</p>
      {visibleRows.length > 0 && (
        <div class="table" role="group" aria-label={text.step.output} tabIndex={0}>
          <table>
            <thead><tr>{table.columns.map((column, index) => <th key={index} scope="col">{column}</th>)}</tr></thead>
            <tbody>{visibleRows.map((row, index) => <tr key={index}>{row.map((cell, column) => <td key={column} dir="auto">{cell}</td>)}</tr>)}</tbody>
          </table>
        </div>
      )}
    </>
  );
}
