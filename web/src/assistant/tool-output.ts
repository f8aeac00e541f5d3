/** Formats tool calls and their outputs. */
import { text } from "./strings";

const MAX_SUMMARY_LENGTH = 90;

export interface TableOutput {
  columns: string[];
  rows: string[][];
  /** Total number of rows, which may exceed `rows.length`. */
  count: number;
  isTruncated: boolean;
}

/** Parses JSON text, also inside a message. */
export function parseOutput(output: unknown): unknown {
  if (typeof output === "object" && output !== null && "content" in output) return parseOutput(output.content);
  if (typeof output !== "string" || !/^\s*[[{]/.test(output)) return output;
  try {
    return JSON.parse(output);
  } catch {
    return output;
  }
}

/** Returns the output as a table, if it is one. */
export function tableFromOutput(output: unknown): TableOutput | undefined {
  const value = parseOutput(output);
  if (!isObject(value) || !Array.isArray(value.columns) || !Array.isArray(value.rows)) return undefined;
  const columns = value.columns.map((column) => (isObject(column) ? cellText(column.name) : cellText(column)));
  const rows = value.rows.map((row) => (Array.isArray(row) ? row.map(cellText) : columns.map((name) => cellText(isObject(row) ? row[name] : row))));
  const count = typeof value.count === "number" ? value.count : rows.length;
  return { columns, rows, count, isTruncated: value.truncated === true };
}

/** Returns the SQL that ran, or else the requested SQL. */
export function sqlFromCall(args: unknown, output?: unknown): string | undefined {
  for (const value of [parseOutput(output), args]) {
    if (isObject(value) && typeof value.sql === "string" && value.sql.trim() !== "") return value.sql.trim();
  }
  return undefined;
}

/** Returns whether the output has no results. */
export function isEmptyOutput(output: unknown): boolean {
  const value = parseOutput(output);
  if (value === null || value === undefined || value === "") return true;
  if (Array.isArray(value)) return value.length === 0;
  if (!isObject(value)) return false;
  const lists = ["rows", "passages", "facts", "results", "tables", "columns"].filter((name) => Array.isArray(value[name]));
  const [first] = lists;
  return first !== undefined && (value[first] as unknown[]).length === 0;
}

/** Returns the text of an output that is not a table. */
export function outputText(output: unknown): string {
  const value = parseOutput(output);
  if (typeof value === "string") return value;
  return value === undefined ? "" : JSON.stringify(value, null, 2);
}

/** Summarizes a call: the condition of a query, or the search text. */
export function callSummary(tool: string, args: unknown): string {
  if (typeof args === "string") return truncate(args);
  if (!isObject(args)) return tool;
  if (typeof args.sql === "string") {
    const condition = /\bwhere\b(.+?)(?:\bgroup\s+by\b|\border\s+by\b|\blimit\b|;|$)/is.exec(args.sql)?.[1];
    return truncate(condition ?? args.sql);
  }
  const first = ["query", "q", "expression", "path", "table", "url"].map((name) => args[name]).find((value) => typeof value === "string");
  const argument = first ?? Object.values(args).find((value) => typeof value === "string" && value !== "");
  return typeof argument === "string" ? truncate(argument) : tool;
}

/** Returns the table names of a query without duplicates. */
function tableNames(sql: string): string {
  const names = [...sql.matchAll(/\b(?:from|join)\s+["`[]?([\p{L}_][\p{L}\p{N}_.]*)/giu)].map(([, name]) => name!.replaceAll("_", " "));
  return [...new Set(names)].join(", ");
}

/** Describes a step without SQL: the reason from the plan, or a text for the tool. */
export function stepDescription(tool: string, args: unknown, why: string): string {
  if (why) return why;
  const isQuery = isObject(args) && typeof args.sql === "string";
  const summary = callSummary("", args);
  const about = isQuery ? tableNames(String(args.sql)) : summary;
  return text.step.descriptions[tool]?.(about) ?? text.step.other(tool.replaceAll("_", " "), about);
}

export function truncate(value: string): string {
  const line = value.replace(/\s+/g, " ").trim();
  return line.length <= MAX_SUMMARY_LENGTH ? line : `${line.slice(0, MAX_SUMMARY_LENGTH - 1).replace(/\s+\S*$/, "")}…`;
}

function cellText(value: unknown): string {
  if (value === null || value === undefined) return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
