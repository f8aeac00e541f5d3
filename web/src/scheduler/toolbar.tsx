/** Toolbar of the calendar: title, navigation, view. */
import type { CalendarViewMode } from "./url-state";
import { formatDay, formatWeek } from "./date-format";
import { Icon } from "./icons";
import { text } from "./strings";
import type { Day } from "./local-time";

const strings = text.view;

interface Props {
  view: CalendarViewMode;
  days: Day[];
  day: Day;
  zone: string;
  /** Label of the parser. */
  label?: string;
  onViewChange(view: CalendarViewMode): void;
  step(by: 1 | -1): void;
  today(): void;
}

export function Toolbar({ view, days, day, zone, label, onViewChange, step, today }: Props) {
  return (
    <div class="toolbar">
      <h2 id="calendar-title" aria-live="polite">{view === "week" ? formatWeek(days) : formatDay(day, "month")}</h2>
      <div class="step-buttons">
        <button type="button" class="square" data-go="previous" aria-label={strings.previous[view]} title={strings.previous[view]} onClick={() => step(-1)}><Icon name="back" /></button>
        <button type="button" data-go="today" onClick={today}>{strings.today}</button>
        <button type="button" class="square" data-go="next" aria-label={strings.next[view]} title={strings.next[view]} onClick={() => step(1)}><Icon name="forward" /></button>
      </div>
      <div class="view-switch" role="group" aria-label={strings.switch}>
        {(["week", "month"] as const).map((option) => <button key={option} type="button" data-view={option} aria-pressed={view === option} onClick={() => onViewChange(option)}>{strings[option]}</button>)}
      </div>
      <button type="button" class="square print" aria-label={strings.print} title={strings.print} onClick={() => print()}><Icon name="print" /></button>
      <p class="calendar-meta"><span>{strings.zone(zone)}</span> {label && <span class="label" data-kind="parser">{label}</span>}</p>
    </div>
  );
}
