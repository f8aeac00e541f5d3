/** The conversation in words: what the verifier said, and all of it as Markdown. */
import { doing, sqlOf, telling } from "./output";
import type { Conversation, Note, Step, Turn } from "./state";
import { text } from "./strings";
import type { Reference } from "./types";

export function markdownOf({ turns, model }: Conversation): string {
  const lines = turns.flatMap(turnLines);
  if (model) lines.push(`_${model.label}_`, "");
  return lines.join("\n");
}

function turnLines(turn: Turn): string[] {
  const [question, ...more] = turn.asked;
  const lines = [`## ${oneLine(question ?? text.turn.unknown)}`, "", ...more.flatMap((line) => [`> ${oneLine(line)}`, ""])];
  if (turn.steps.length > 0) {
    const notes = turn.notes.filter(({ status }) => status === "planning_retry" || status === "giving_up");
    const attempts = [...new Set(turn.steps.map(({ attempt }) => attempt))];
    const plan = attempts.flatMap((attempt) => [
      ...turn.steps.filter((step) => step.attempt === attempt).map(stepLine),
      ...notes.filter((note) => note.attempt === attempt).map((note) => `- ${noteText(note, turn)}`),
    ]);
    lines.push(`**${text.turn.plan}**`, "", ...plan, "");
  }
  if (turn.text) lines.push(turn.text.trim(), "");
  if (turn.references.length > 0) lines.push(`**${text.turn.sources}**`, "", ...turn.references.map(referenceLine), "");
  return lines;
}

function stepLine(step: Step): string {
  const sign = step.state === "done" ? "x" : " ";
  const sql = sqlOf(step.args, step.output);
  return `- [${sign}] ${oneLine(doing(step.tool, step.args, step.why))} (\`${step.tool}\`, ${text.step.state[step.state]})${sql ? `: \`${oneLine(sql)}\`` : ""}`;
}

function referenceLine({ n, tool, source, query }: Reference): string {
  return `- [${n}] \`${tool}\` ${oneLine(source)}${query ? `: \`${oneLine(query)}\`` : ""}`;
}

/** "Nothing found with …, trying …". */
export function noteText(note: Note, turn: Turn): string {
  const words = text.note;
  if (note.status !== "planning_retry") {
    return note.status === "verified" || note.status === "clarification_needed" || note.status === "giving_up" ? words[note.status] : note.reason || note.status;
  }
  const tried = list(note.tried);
  const what = note.reason === "empty" || note.reason === "error" || note.reason === "irrelevant" ? words[note.reason](tried) : words.other(tried, note.reason);
  const next = turn.steps.filter((step) => step.attempt === note.attempt + 1).map((step) => telling(step.tool, step.args));
  if (next.length > 0) return what + words.trying(list(next)) + words.end;
  return what + (turn.status === "running" ? words.again : words.end);
}

function list(words: string[]): string {
  return words.map((word) => `“${word}”`).join(", ");
}

function oneLine(words: string): string {
  return words.replace(/\s+/g, " ").trim();
}
