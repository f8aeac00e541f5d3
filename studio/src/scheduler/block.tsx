/** One event as it stands on the calendar: a block of hours, a bar of days, a line of a list; and what would be there. */
import type { ReactNode } from "react";
import { hueOf } from "./family";
import { daysOf, isLong, type Laned, type Placed } from "./lay";
import { clock, clocks, stretch } from "./said";
import { Letter, Sign } from "./signs";
import { text } from "./strings";
import type { Instance, Member } from "./types";
import { wallOf, type Day } from "./wall";
import type { Ghost } from "./ways";

const words = text.event;

/** What all views know about what they show. */
export interface Scene {
  members: Member[];
  /** Events of the last answer: shown with a frame. */
  marked: string[];
  /** Events that a way out would take away. */
  gone: string[];
  /** Events that are in conflict with others. */
  clashing: string[];
  open(event: Instance): void;
}

export type Item = Instance | Ghost;

export function isGhost(item: Item): item is Ghost {
  return "key" in item;
}

export function keyOf(item: Item): string {
  return isGhost(item) ? `ghost/${item.key}` : `${item.event_id}/${item.occurrence ?? ""}/${item.start}`;
}

function classesOf(item: Item, scene: Scene): string {
  if (isGhost(item)) return `hue-${hueOf(scene.members, item.participants[0])} is-ghost`;
  const is = {
    busy: item.is_busy, tentative: item.is_tentative, marked: scene.marked.includes(item.event_id),
    gone: scene.gone.includes(item.event_id), clashing: scene.clashing.includes(item.event_id),
  };
  const hue = item.is_busy ? "none" : hueOf(scene.members, item.participants[0]?.id);
  return [`hue-${hue}`, ...Object.entries(is).filter(([, does]) => does).map(([name]) => `is-${name}`)].join(" ");
}

const titleOf = (item: Item) => (!isGhost(item) && item.is_busy ? words.busy : item.title);

/** All of it in words, for those who do not see where it stands. */
function labelOf(item: Item, scene: Scene): string {
  const time = stretch(item.start, item.end, item.is_all_day);
  if (isGhost(item)) return [item.title, time, words.proposed].join(", ");
  const marks = [
    item.is_tentative && words.tentative, scene.gone.includes(item.event_id) && words.gone,
    scene.clashing.includes(item.event_id) && words.conflict, item.recurrence_rule && words.repeats,
  ];
  return [titleOf(item), time, ...item.participants.map(({ name }) => name), ...marks].filter(Boolean).join(", ");
}

/** What the checks and the eye of a developer look for. */
function dataOf(item: Item) {
  return { "data-event": isGhost(item) ? undefined : item.event_id, "data-ghost": isGhost(item) ? item.key : undefined, "data-start": item.start, "data-end": item.end };
}

/** Opens what it is; what only would be cannot be opened. What is drawn is for the eye, all of it in words for the ear. */
function Press({ item, scene, more = "", children }: { item: Item; scene: Scene; more?: string; children: ReactNode }) {
  const inside = (
    <>
      <span class="inside" aria-hidden="true">{children}</span>
      <span class="hidden">{labelOf(item, scene)}</span>
    </>
  );
  const classes = `event ${more} ${classesOf(item, scene)}`;
  if (isGhost(item)) return <div class={classes} {...dataOf(item)}>{inside}</div>;
  return <button type="button" class={classes} {...dataOf(item)} onClick={() => scene.open(item)}>{inside}</button>;
}

function Letters({ item, members }: { item: Item; members: Member[] }) {
  if (isGhost(item) || item.participants.length === 0) return null;
  return <span class="letters">{item.participants.slice(0, 4).map(({ id, name }) => <Letter key={id} id={id} name={name} members={members} />)}</span>;
}

function Marks({ item, scene, isBrief = false }: { item: Item; scene: Scene; isBrief?: boolean }) {
  if (isGhost(item)) return null;
  return (
    <>
      {scene.clashing.includes(item.event_id) && <Sign of="conflict" />}
      {item.recurrence_rule && !isBrief && <Sign of="repeat" />}
    </>
  );
}

export function Block({ placed, scene, hours: [first, last] }: { placed: Placed<Item>; scene: Scene; hours: [number, number] }) {
  const { of: item, from, to, column, columns, over } = placed;
  const share = (minutes: number) => `${((minutes - first * 60) / ((last - first) * 60)) * 100}%`;
  const minutes = to - from;
  const size = minutes <= 30 ? "is-short" : minutes <= 75 ? "is-low" : minutes >= 150 ? "is-tall" : "";
  // Set through the object model, which the content policy allows; there is no style in the markup.
  const style = { "--top": share(from), "--bottom": share(to), "--left": `${(column / columns) * 100}%`, "--width": `${(over / columns) * 100}%` };
  return (
    <li class={`slot ${size}`} style={style}>
      <Press item={item} scene={scene}>
        <span class="title" dir="auto">{titleOf(item)}</span>
        <span class="foot">
          <span class="time">{clocks(wallOf(item.start).minutes, wallOf(item.end).minutes)} <Marks item={item} scene={scene} /></span>
          <Letters item={item} members={scene.members} />
        </span>
      </Press>
    </li>
  );
}

/** A piece of a bar over several days; its name stands where it begins, and where what is shown begins. */
export function Bar({ laned, scene, isStart }: { laned: Laned<Item>; scene: Scene; isStart: boolean }) {
  const { of: item, lane, isFirst, isLast } = laned;
  return (
    <li class="bar-slot" style={{ "--lane": String(lane + 1) }}>
      <Press item={item} scene={scene} more={`bar-event ${isFirst ? "is-first" : ""} ${isLast ? "is-last" : ""}`}>
        <span class="title" dir="auto">{isFirst || isStart ? titleOf(item) : "\u00a0"}</span>
      </Press>
    </li>
  );
}

/** In a cell of a month. */
export function Line({ item, day, scene }: { item: Item; day: Day; scene: Scene }) {
  const isWhole = isLong(item);
  return (
    <li>
      <Press item={item} scene={scene} more={isWhole ? "line-event is-whole" : "line-event"}>
        {!isWhole && <span class="time">{daysOf(item)[0] === day ? clock(wallOf(item.start).minutes, true) : ""}</span>}
        <span class="title" dir="auto">{titleOf(item)}</span>
        <Marks item={item} scene={scene} isBrief />
      </Press>
    </li>
  );
}

/** In the list of a day, on a phone. */
export function Row({ item, day, scene }: { item: Item; day: Day; scene: Scene }) {
  const [from, to] = [wallOf(item.start), wallOf(item.end)];
  const isHere = daysOf(item)[0] === day;
  return (
    <li>
      <Press item={item} scene={scene} more="row-event">
        <span class="time">
          {isLong(item) ? text.view.allDay : isHere ? clock(from.minutes, true) : text.view.until(clock(to.minutes, true))}
          {!isLong(item) && isHere && <span class="ends">{clock(to.minutes, true)}</span>}
        </span>
        <span class="title" dir="auto">{titleOf(item)} <Marks item={item} scene={scene} /></span>
        <Letters item={item} members={scene.members} />
      </Press>
    </li>
  );
}
