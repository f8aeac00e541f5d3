import { expect, it } from "vitest";
import { hueOf, initialOf, meOf, namesOf, shownOf, zoneOf } from "./family";
import type { Instance, Member, Settings } from "./types";

const members: Member[] = [{ id: "mom", name: "Mom", role: "parent" }, { id: "emma", name: "Emma", role: "child", zone: "Europe/Paris" }];
const settings = { family: { id: "f", name: "F", zone: "America/New_York", week_start: "monday" }, members, resources: [{ id: "car", name: "car" }], examples: [] } as Settings;
const event = (...ids: string[]) => ({ event_id: ids.join(), participants: ids.map((id) => ({ id })) }) as Instance;

it("everybody has a colour and a letter", () => {
  expect([hueOf(members, "mom"), hueOf(members, "emma"), hueOf(members, "nobody"), hueOf(members, undefined)]).toEqual(["0", "1", "none", "none"]);
  expect([initialOf("emma"), initialOf(" åsa"), initialOf("")]).toEqual(["E", "Å", "?"]);
});

it("times are those of who asks, wherever the server names them", () => {
  expect(meOf({ ...settings, me: "emma" }, "mom")?.id).toBe("emma");
  expect(meOf({ ...settings, me: members[1] }, "mom")?.id).toBe("emma");
  expect([zoneOf(settings, "mom"), zoneOf(settings, "emma")]).toEqual(["America/New_York", "Europe/Paris"]);
});

it("calls people and things by their names", () => {
  const names = namesOf(settings);
  expect([names.of("emma"), names.of("car"), names.of("ghost"), names.word("priority", "high"), names.word("intent", "modify")]).toEqual(["Emma", "car", "ghost", "high", "change"]);
});

it("hides only what concerns nobody else", () => {
  const all = [event("mom"), event("mom", "emma"), event()];
  expect(shownOf(all, ["mom"]).map(({ event_id }) => event_id)).toEqual(["mom,emma", ""]);
  expect(shownOf(all, [])).toBe(all);
});
