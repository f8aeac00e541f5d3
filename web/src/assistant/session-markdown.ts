/** Markdown export of a conversation, and the text of verifier notes. */
import { callSummary, sqlFromCall, stepDescription } from "./tool-output";
import type { SessionViewState, Step, Turn, VerifierNote } from "./state";
import { text } from "./strings";
import type { Reference } from "./types";

export function sessionToMarkdown({ turns, model }: SessionViewState): string {
  const lines = turns.flatMap(turnLines);
  if (model) lines.push(`_${model.label}_`, "");
  return lines.join("\n");
}

function turnLines(turn: Turn): string[] {
  const [question, ...more] = turn.userMessages;
  const lines = [`## ${oneLine(question ?? text.turn.unknown)}`, "", ...more.flatMap((line) => [`> ${oneLine(line)}`, ""])];
  if (turn.steps.length > 0) {
    const notes = turn.notes.filter(({ status }) => status === "planning_retry" || status === "giving_up");
    const attempts = [...new Set(turn.steps.map(({ attempt }) => attempt))];
    const plan = attempts.flatMap((attempt) => [
      ...turn.steps.filter((step) => step.attempt === attempt).map(stepLine),
      ...notes.filter((note) => note.attempt === attempt).map((note) => `- ${verifierNoteText(note, turn)}`),
    ]);
    lines.push(`**${text.turn.plan}**`, "", ...plan, "");
  }
  if (turn.text) lines.push(turn.text.trim(), "");
  if (turn.references.length > 0) lines.push(`**${text.turn.sources}**`, "", ...turn.references.map(referenceLine), "");
  return lines;
}

function stepLine(step: Step): string {
  const mark = step.state === "done" ? "x" : " ";
  const sql = sqlFromCall(step.args, step.output);
  return `- [${mark}] ${oneLine(stepDescription(step.tool, step.args, step.why))} (\`${step.tool}\`, ${text.step.state[step.state]})${sql ? `: \`${oneLine(sql)}\`` : ""}`;
}

function referenceLine({ n, tool, source, query }: Reference): string {
  return `- [${n}] \`${tool}\` ${oneLine(source)}${query ? `: \`${oneLine(query)}\`` : ""}`;
}

/** Returns text such as "No results for …, trying …". */
export function verifierNoteText(note: VerifierNote, turn: Turn): string {
  const strings = text.note;
  if (note.status !== "planning_retry") {
    return note.status === "verified" || note.status === "clarification_needed" || note.status === "giving_up" ? strings[note.status] : note.reason || note.status;
  }
  const calls = quoteList(note.calls);
  const outcome = note.reason === "empty" || note.reason === "error" || note.reason === "irrelevant" ? strings[note.reason](calls) : strings.other(calls, note.reason);
  const next = turn.steps.filter((step) => step.attempt === note.attempt + 1).map((step) => callSummary(step.tool, step.args));
  if (next.length > 0) return outcome + strings.trying(quoteList(next)) + strings.end;
  return outcome + (turn.status === "running" ? strings.replanning : strings.end);
}

function quoteList(items: string[]): string {
  return items.map((item) => `“${item}”`).join(", ");
}

function oneLine(value: string): string {
  return value.replace(/\s+/g, " ").trim();
}
