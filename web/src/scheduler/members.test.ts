import { expect, it } from "vitest";
import { currentMember, displayTimeZone, memberColor, memberInitial, nameLookup, visibleEvents } from "./members";
import type { EventInstance, Member, Settings } from "./types";

const members: Member[] = [{ id: "mom", name: "Mom", role: "parent" }, { id: "emma", name: "Emma", role: "child", zone: "Europe/Paris" }];
const settings = { family: { id: "f", name: "F", zone: "America/New_York", week_start: "monday" }, members, resources: [{ id: "car", name: "car" }], examples: [] } as Settings;
const event = (...ids: string[]) => ({ event_id: ids.join(), participants: ids.map((id) => ({ id })) }) as EventInstance;

it("assigns colors and initials", () => {
  expect([memberColor(members, "mom"), memberColor(members, "emma"), memberColor(members, "unknown"), memberColor(members, undefined)]).toEqual(["0", "1", "none", "none"]);
  expect([memberInitial("emma"), memberInitial(" åsa"), memberInitial("")]).toEqual(["E", "Å", "?"]);
});

it("uses the time zone of the current member", () => {
  expect(currentMember({ ...settings, me: "emma" }, "mom")?.id).toBe("emma");
  expect(currentMember({ ...settings, me: members[1] }, "mom")?.id).toBe("emma");
  expect([displayTimeZone(settings, "mom"), displayTimeZone(settings, "emma")]).toEqual(["America/New_York", "Europe/Paris"]);
});

it("looks up names of members, resources and values", () => {
  const names = nameLookup(settings);
  expect([names.of("emma"), names.of("car"), names.of("unknown"), names.word("priority", "high"), names.word("intent", "modify")]).toEqual(["Emma", "car", "unknown", "high", "change"]);
});

it("hides events whose participants are all hidden", () => {
  const all = [event("mom"), event("mom", "emma"), event()];
  expect(visibleEvents(all, ["mom"]).map(({ event_id }) => event_id)).toEqual(["mom,emma", ""]);
  expect(visibleEvents(all, [])).toBe(all);
});
