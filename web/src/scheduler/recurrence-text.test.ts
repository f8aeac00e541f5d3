import { expect, it } from "vitest";
import { commonRules, describeRule, stripRrulePrefix } from "./recurrence-text";

it("describes recurrence rules", () => {
  const cases: Record<string, string> = {
    "FREQ=WEEKLY;BYDAY=TU": "every Tuesday",
    "RRULE:FREQ=WEEKLY;BYDAY=MO,WE": "every Monday and Wednesday",
    "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR": "every weekday",
    "FREQ=DAILY": "every day",
    "FREQ=WEEKLY;INTERVAL=2;BYDAY=SA": "every other week on Saturday",
    "FREQ=MONTHLY;BYMONTHDAY=15": "every month on the 15th",
    "FREQ=MONTHLY;BYDAY=2TU": "every month on the second Tuesday",
    "FREQ=MONTHLY;BYDAY=-1FR;COUNT=1": "every month on the last Friday, 1 time",
    "FREQ=DAILY;INTERVAL=3;COUNT=10": "every 3 days, 10 times",
    "FREQ=WEEKLY;BYDAY=TU;UNTIL=20260630T210000Z": "every Tuesday, until 30 Jun 2026",
    "FREQ=YEARLY": "every year",
  };
  for (const [rule, expected] of Object.entries(cases)) expect(describeRule(rule)).toBe(expected);
});

it("keeps unsupported rules as they are", () => {
  expect(describeRule("FREQ=MONTHLY;BYDAY=MO,TU;BYSETPOS=-1")).toBe("FREQ=MONTHLY;BYDAY=MO,TU;BYSETPOS=-1");
  expect(describeRule("nonsense")).toBe("nonsense");
  expect(stripRrulePrefix(" rrule:FREQ=DAILY ")).toBe("FREQ=DAILY");
});

it("lists common rules for a day", () => {
  expect(commonRules("2026-01-10").map(describeRule)).toEqual(["every day", "every weekday", "every Saturday", "every other week on Saturday", "every month on the 10th", "every year"]);
});
