/** What is shown of the calendar, and the way to the rest of it. */
import type { View } from "./place";
import { dayName, weekTitle } from "./said";
import { Sign } from "./signs";
import { text } from "./strings";
import type { Day } from "./wall";

const words = text.view;

interface Props {
  view: View;
  days: Day[];
  day: Day;
  zone: string;
  /** Who understands the sentences. */
  label?: string;
  turn(view: View): void;
  step(by: 1 | -1): void;
  today(): void;
}

export function Toolbar({ view, days, day, zone, label, turn, step, today }: Props) {
  return (
    <div class="toolbar">
      <h2 id="calendar-title" aria-live="polite">{view === "week" ? weekTitle(days) : dayName(day, "month")}</h2>
      <div class="steps-row">
        <button type="button" class="square" data-go="previous" aria-label={words.previous[view]} title={words.previous[view]} onClick={() => step(-1)}><Sign of="back" /></button>
        <button type="button" data-go="today" onClick={today}>{words.today}</button>
        <button type="button" class="square" data-go="next" aria-label={words.next[view]} title={words.next[view]} onClick={() => step(1)}><Sign of="on" /></button>
      </div>
      <div class="switch" role="group" aria-label={words.switch}>
        {(["week", "month"] as const).map((one) => <button key={one} type="button" data-view={one} aria-pressed={view === one} onClick={() => turn(one)}>{words[one]}</button>)}
      </div>
      <button type="button" class="square print" aria-label={words.print} title={words.print} onClick={() => print()}><Sign of="print" /></button>
      <p class="about"><span>{words.zone(zone)}</span> {label && <span class="label" data-kind="parser">{label}</span>}</p>
    </div>
  );
}
