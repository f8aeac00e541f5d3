/** Describes recurrence rules (RFC 5545) in words, and lists common rules. Pure. */
import { plural } from "../shared/strings";
import { formatDay, joinNames } from "./date-format";
import { type Day, isDay, weekdayOf } from "./local-time";

const CODES = ["SU", "MO", "TU", "WE", "TH", "FR", "SA"];
const NAMES = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const UNITS: Record<string, [string, string]> = { DAILY: ["day", "days"], WEEKLY: ["week", "weeks"], MONTHLY: ["month", "months"], YEARLY: ["year", "years"] };
const WORKDAYS = "MO,TU,WE,TH,FR";
const ORDINALS: Record<string, string> = { 1: "first", 2: "second", 3: "third", 4: "fourth", 5: "fifth", "-1": "last", "-2": "last but one" };

/** `FREQ=WEEKLY;BYDAY=TU` becomes `every Tuesday`. Unsupported rules stay as they are. */
export function describeRule(rule: string): string {
  const parts = parseParts(rule);
  const unit = UNITS[parts.FREQ ?? ""];
  const isUnsupported = ["BYSETPOS", "BYYEARDAY", "BYWEEKNO", "BYHOUR", "BYMINUTE"].some((name) => parts[name] !== undefined);
  if (!unit || isUnsupported) return stripRrulePrefix(rule);
  return [describeFrequency(parts, unit), describeEnd(parts)].filter(Boolean).join(", ");
}

function describeFrequency(parts: Record<string, string>, [one, many]: [string, string]): string {
  const interval = Number(parts.INTERVAL ?? 1);
  const days = parts.BYDAY?.split(",").map(describeDay) ?? [];
  if (interval === 1 && parts.BYDAY === WORKDAYS && parts.FREQ !== "MONTHLY") return "every weekday";
  if (interval === 1 && days.length > 0 && parts.FREQ === "WEEKLY") return `every ${joinNames(days)}`;
  const head = interval === 1 ? `every ${one}` : interval === 2 ? `every other ${one}` : `every ${interval} ${many}`;
  const on = days.length > 0 ? ` on ${joinNames(days)}` : parts.BYMONTHDAY ? ` on the ${joinNames(parts.BYMONTHDAY.split(",").map(ordinal))}` : "";
  return head + on;
}

function describeEnd({ UNTIL, COUNT }: Record<string, string>): string {
  if (COUNT) return plural(Number(COUNT), "time", "times");
  const day = UNTIL?.replace(/^(\d{4})(\d\d)(\d\d).*$/, "$1-$2-$3") ?? "";
  return isDay(day) ? `until ${formatDay(day, "date")} ${day.slice(0, 4)}` : "";
}

/** `TU` becomes `Tuesday`, `2TU` becomes `the second Tuesday`. */
function describeDay(code: string): string {
  const [, number, day = ""] = /^([+-]?\d+)?(\w\w)$/.exec(code) ?? [];
  const name = NAMES[CODES.indexOf(day)] ?? code;
  return number ? `the ${ORDINALS[String(Number(number))] ?? ordinal(number)} ${name}` : name;
}

function ordinal(number: string): string {
  const value = Number(number);
  if (value < 0) return value === -1 ? "last day" : `${-value} days before its end`;
  const ending = value % 100 >= 11 && value % 100 <= 13 ? "th" : (["th", "st", "nd", "rd"][value % 10] ?? "th");
  return `${value}${ending}`;
}

/** Removes an `RRULE:` prefix. */
export function stripRrulePrefix(rule: string): string {
  return rule.trim().replace(/^RRULE:/i, "");
}

function parseParts(rule: string): Record<string, string> {
  return Object.fromEntries(stripRrulePrefix(rule).toUpperCase().split(";").filter(Boolean).map((part) => part.split("=") as [string, string]));
}

/** Returns the rules that are offered for a day. */
export function commonRules(day: Day): string[] {
  const code = CODES[weekdayOf(day)]!;
  return ["FREQ=DAILY", `FREQ=WEEKLY;BYDAY=${WORKDAYS}`, `FREQ=WEEKLY;BYDAY=${code}`, `FREQ=WEEKLY;INTERVAL=2;BYDAY=${code}`, `FREQ=MONTHLY;BYMONTHDAY=${Number(day.slice(8))}`, "FREQ=YEARLY"];
}
