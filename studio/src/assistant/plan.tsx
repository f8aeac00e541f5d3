/** The plan that ticks itself off: what is run, why, what came of it, and the second try. */
import { memo } from "react";
import { took } from "../shared/time";
import { doing, rowsOf, sqlOf, textOf } from "./output";
import { StepSign } from "./signs";
import type { Step, Turn } from "./state";
import { text } from "./strings";
import { noteText } from "./written";

/** What is behind a number is looked at, not studied. */
const MOST_ROWS = 20;
const LONGEST_OUTPUT = 4_000;

export function Plan({ turn }: { turn: Turn }) {
  if (turn.steps.length === 0 && turn.notes.length === 0) return null;
  const attempts = Math.max(0, ...turn.steps.map((step) => step.attempt), ...turn.notes.map((note) => note.attempt));
  const numbers = Array.from({ length: attempts + 1 }, (_, attempt) => attempt);
  return (
    <div class="plan">
      <h3>{text.turn.plan}</h3>
      <ol>
        {numbers.flatMap((attempt) => [
          ...turn.steps.filter((step) => step.attempt === attempt).map((step) => <OneStep key={`${attempt}-${step.id}`} step={step} />),
          ...turn.notes.filter((note) => note.attempt === attempt).map((note) => (
            <li key={`note-${attempt}-${note.status}`} class={`note is-${note.status}`} data-status={note.status}>{noteText(note, turn)}</li>
          )),
        ])}
      </ol>
    </div>
  );
}

/** Only the step that changes is drawn again. */
const OneStep = memo(function OneStep({ step }: { step: Step }) {
  const { tool, why, state, durationMs } = step;
  return (
    <li class={`step is-${state}`} data-tool={tool} data-state={state}>
      <details>
        <summary>
          <StepSign of={state} />
          <span class="what"><span class="why" dir="auto">{doing(tool, step.args, why)}</span> <code>{tool}</code></span>
          <span class="came">{text.step.state[state]}{durationMs !== undefined && ` · ${took(durationMs)}`}</span>
        </summary>
        <Inside step={step} />
      </details>
    </li>
  );
});

function Inside({ step }: { step: Step }) {
  const { args, output, error, state } = step;
  const sql = sqlOf(args, output);
  const isOver = state === "done" || state === "empty" || state === "failed";
  return (
    <div class="inside">
      {error && <Part name={text.step.error} content={error} />}
      {output !== undefined ? <Output output={output} /> : !isOver && <p class="empty">{text.step.noOutput}</p>}
      {args !== undefined && (
        <details class="behind">
          <summary>{text.step.inside}</summary>
          {sql && <Part name={text.step.sql} content={sql} />}
          {(!sql || hasMore(args)) && <Part name={text.step.input} content={textOf(beside(args))} />}
        </details>
      )}
    </div>
  );
}

function hasMore(args: unknown): boolean {
  return typeof args === "object" && args !== null && Object.keys(args).some((name) => name !== "sql");
}

/** Arguments without the query, which has a place of its own. */
function beside(args: unknown): unknown {
  if (typeof args !== "object" || args === null) return args;
  return Object.fromEntries(Object.entries(args).filter(([name]) => name !== "sql"));
}

function Part({ name, content }: { name: string; content: string }) {
  return (
    <>
      <p class="part">{name}</p>
      <pre tabIndex={0} role="group" aria-label={name}><code>{content}</code></pre>
    </>
  );
}

function Output({ output }: { output: unknown }) {
  const table = rowsOf(output);
  if (!table) {
    const content = textOf(output);
    return <Part name={text.step.output} content={content.length > LONGEST_OUTPUT ? `${content.slice(0, LONGEST_OUTPUT)}…` : content} />;
  }
  const shown = table.rows.slice(0, MOST_ROWS);
  return (
    <>
      <p class="part">{text.step.output}: {text.step.rows(shown.length, Math.max(table.count, shown.length))}{table.isCut && `, ${text.step.cut}`}</p>
      {shown.length > 0 && (
        <div class="table" role="group" aria-label={text.step.output} tabIndex={0}>
          <table>
            <thead><tr>{table.columns.map((column, index) => <th key={index} scope="col">{column}</th>)}</tr></thead>
            <tbody>{shown.map((row, index) => <tr key={index}>{row.map((cell, column) => <td key={column} dir="auto">{cell}</td>)}</tr>)}</tbody>
          </table>
        </div>
      )}
    </>
  );
}
