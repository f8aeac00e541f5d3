/** How something repeats: rules of RFC 5545 in words, and the ones that most families use. Pure. */
import { plural } from "../shared/strings";
import { dayName, listed } from "./said";
import { isDay, weekdayOf, type Day } from "./wall";

const CODES = ["SU", "MO", "TU", "WE", "TH", "FR", "SA"];
const NAMES = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const UNITS: Record<string, [string, string]> = { DAILY: ["day", "days"], WEEKLY: ["week", "weeks"], MONTHLY: ["month", "months"], YEARLY: ["year", "years"] };
const WORKDAYS = "MO,TU,WE,TH,FR";
const ORDINALS: Record<string, string> = { 1: "first", 2: "second", 3: "third", 4: "fourth", 5: "fifth", "-1": "last", "-2": "last but one" };

/** `FREQ=WEEKLY;BYDAY=TU` is `every Tuesday`; what has no words is shown as it is. */
export function repeats(rule: string): string {
  const parts = partsOf(rule);
  const unit = UNITS[parts.FREQ ?? ""];
  const isStrange = ["BYSETPOS", "BYYEARDAY", "BYWEEKNO", "BYHOUR", "BYMINUTE"].some((name) => parts[name] !== undefined);
  if (!unit || isStrange) return bare(rule);
  return [often(parts, unit), until(parts)].filter(Boolean).join(", ");
}

function often(parts: Record<string, string>, [one, many]: [string, string]): string {
  const every = Number(parts.INTERVAL ?? 1);
  const days = parts.BYDAY?.split(",").map(dayOf) ?? [];
  if (every === 1 && parts.BYDAY === WORKDAYS && parts.FREQ !== "MONTHLY") return "every weekday";
  if (every === 1 && days.length > 0 && parts.FREQ === "WEEKLY") return `every ${listed(days)}`;
  const head = every === 1 ? `every ${one}` : every === 2 ? `every other ${one}` : `every ${every} ${many}`;
  const on = days.length > 0 ? ` on ${listed(days)}` : parts.BYMONTHDAY ? ` on the ${listed(parts.BYMONTHDAY.split(",").map(ordinal))}` : "";
  return head + on;
}

function until({ UNTIL, COUNT }: Record<string, string>): string {
  if (COUNT) return plural(Number(COUNT), "time", "times");
  const day = UNTIL?.replace(/^(\d{4})(\d\d)(\d\d).*$/, "$1-$2-$3") ?? "";
  return isDay(day) ? `until ${dayName(day, "date")} ${day.slice(0, 4)}` : "";
}

/** `TU` is `Tuesday`, `2TU` is `the second Tuesday`. */
function dayOf(code: string): string {
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

/** Without the name of the property, which some write before it. */
export function bare(rule: string): string {
  return rule.trim().replace(/^RRULE:/i, "");
}

function partsOf(rule: string): Record<string, string> {
  return Object.fromEntries(bare(rule).toUpperCase().split(";").filter(Boolean).map((part) => part.split("=") as [string, string]));
}

/** The rules that are offered for something on that day. */
export function usual(day: Day): string[] {
  const code = CODES[weekdayOf(day)]!;
  return ["FREQ=DAILY", `FREQ=WEEKLY;BYDAY=${WORKDAYS}`, `FREQ=WEEKLY;BYDAY=${code}`, `FREQ=WEEKLY;INTERVAL=2;BYDAY=${code}`, `FREQ=MONTHLY;BYMONTHDAY=${Number(day.slice(8))}`, "FREQ=YEARLY"];
}
