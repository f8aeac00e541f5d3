import { expect, it } from "vitest";
import { clock, clocks, dayLong, dayShort, length, listed, near, stretch, weekTitle } from "./said";
import { weekOf } from "./wall";

it("says times as the server does", () => {
  expect([clock(0), clock(845), clock(720), clock(840, true), clock(870, true)]).toEqual(["12:00 am", "2:05 pm", "12:00 pm", "2 pm", "2:30 pm"]);
  expect(clocks(840, 900)).toBe("2 – 3 pm");
  expect(clocks(660, 750)).toBe("11 am – 12:30 pm");
  expect(clocks(23 * 60, 24 * 60)).toBe("11 pm – 12 am");
});

it("says days and stretches", () => {
  expect([dayShort("2026-01-10"), dayLong("2026-01-10")]).toEqual(["Sat 10 Jan", "Saturday 10 January"]);
  expect(stretch("2026-01-10T14:00:00-05:00", "2026-01-10T15:00:00-05:00")).toBe("Sat 10 Jan, 2 – 3 pm");
  expect(stretch("2026-01-10T22:00:00-05:00", "2026-01-11T00:00:00-05:00")).toBe("Sat 10 Jan, 10 pm – 12 am");
  expect(stretch("2026-01-10T22:00:00-05:00", "2026-01-11T01:00:00-05:00")).toBe("Sat 10 Jan, 10 pm – Sun 11 Jan, 1 am");
  expect(stretch("2026-01-10T00:00:00-05:00", "2026-01-11T00:00:00-05:00", true)).toBe("Sat 10 Jan");
  expect(stretch("2026-01-10T00:00:00-05:00", "2026-01-12T00:00:00-05:00", true)).toBe("Sat 10 Jan – Sun 11 Jan");
  expect(weekTitle(weekOf("2026-01-08", "monday"))).toBe("5 – 11 January 2026");
  expect(weekTitle(weekOf("2026-01-01", "monday"))).toBe("29 December – 4 January 2026");
});

it("says lengths, names and near days", () => {
  expect([length(60), length(90), length(1440), length(0)]).toEqual(["1 hour", "1 hour 30 minutes", "1 day", "0 minutes"]);
  expect([listed([]), listed(["Mom"]), listed(["Mom", "Dad", "Emma"])]).toEqual(["", "Mom", "Mom, Dad and Emma"]);
  expect([near("2026-01-08", "2026-01-08"), near("2026-01-09", "2026-01-08"), near("2026-01-20", "2026-01-08")]).toEqual(["today", "tomorrow", undefined]);
});
