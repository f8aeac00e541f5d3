/** What tools were asked and what they gave, put so that a person can read it. */
import { text } from "./strings";

const LONGEST = 90;

export interface Rows {
  columns: string[];
  rows: string[][];
  /** How many there are, which may be more than are here. */
  count: number;
  isCut: boolean;
}

/** JSON that comes as text, also inside a message. */
export function valueOf(output: unknown): unknown {
  if (typeof output === "object" && output !== null && "content" in output) return valueOf(output.content);
  if (typeof output !== "string" || !/^\s*[[{]/.test(output)) return output;
  try {
    return JSON.parse(output);
  } catch {
    return output;
  }
}

/** A table, when the output is one. */
export function rowsOf(output: unknown): Rows | undefined {
  const value = valueOf(output);
  if (!isObject(value) || !Array.isArray(value.columns) || !Array.isArray(value.rows)) return undefined;
  const columns = value.columns.map((column) => (isObject(column) ? cell(column.name) : cell(column)));
  const rows = value.rows.map((row) => (Array.isArray(row) ? row.map(cell) : columns.map((name) => cell(isObject(row) ? row[name] : row))));
  const count = typeof value.count === "number" ? value.count : rows.length;
  return { columns, rows, count, isCut: value.truncated === true };
}

/** The query behind a number: what ran, else what was asked for. */
export function sqlOf(args: unknown, output?: unknown): string | undefined {
  for (const value of [valueOf(output), args]) {
    if (isObject(value) && typeof value.sql === "string" && value.sql.trim() !== "") return value.sql.trim();
  }
  return undefined;
}

/** Nothing was found: an empty list, wherever the tool puts it. */
export function isEmptyOutput(output: unknown): boolean {
  const value = valueOf(output);
  if (value === null || value === undefined || value === "") return true;
  if (Array.isArray(value)) return value.length === 0;
  if (!isObject(value)) return false;
  const lists = ["rows", "passages", "facts", "results", "tables", "columns"].filter((name) => Array.isArray(value[name]));
  const [first] = lists;
  return first !== undefined && (value[first] as unknown[]).length === 0;
}

/** Text of an output that is no table. */
export function textOf(output: unknown): string {
  const value = valueOf(output);
  if (typeof value === "string") return value;
  return value === undefined ? "" : JSON.stringify(value, null, 2);
}

/** The telling part of a call: the condition of a query, the words of a search. */
export function telling(tool: string, args: unknown): string {
  if (typeof args === "string") return brief(args);
  if (!isObject(args)) return tool;
  if (typeof args.sql === "string") {
    const condition = /\bwhere\b(.+?)(?:\bgroup\s+by\b|\border\s+by\b|\blimit\b|;|$)/is.exec(args.sql)?.[1];
    return brief(condition ?? args.sql);
  }
  const first = ["query", "q", "expression", "path", "table", "url"].map((name) => args[name]).find((value) => typeof value === "string");
  const some = first ?? Object.values(args).find((value) => typeof value === "string" && value !== "");
  return typeof some === "string" ? brief(some) : tool;
}

/** What a query is about: its tables, each once. */
function tablesOf(sql: string): string {
  const names = [...sql.matchAll(/\b(?:from|join)\s+["`[]?([\p{L}_][\p{L}\p{N}_.]*)/giu)].map(([, name]) => name!.replaceAll("_", " "));
  return [...new Set(names)].join(", ");
}

/** What a call does, in words and never in SQL: the reason the plan gives, else what its tool is for. */
export function doing(tool: string, args: unknown, why: string): string {
  if (why) return why;
  const isQuery = isObject(args) && typeof args.sql === "string";
  const told = telling("", args);
  const about = isQuery ? tablesOf(String(args.sql)) : told;
  return text.step.does[tool]?.(about) ?? text.step.other(tool.replaceAll("_", " "), about);
}

export function brief(words: string): string {
  const line = words.replace(/\s+/g, " ").trim();
  return line.length <= LONGEST ? line : `${line.slice(0, LONGEST - 1).replace(/\s+\S*$/, "")}…`;
}

function cell(value: unknown): string {
  if (value === null || value === undefined) return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
