/** Dialog of one event: details, edit form, delete form. */
import { useEffect, useRef, useState } from "react";
import type { Problem } from "../shared/api";
import { api, toProblem } from "./api";
import { EventForm, SeriesScopeSelect } from "./event-form";
import { describeRule } from "./recurrence-text";
import { formatRange } from "./date-format";
import { Icon, MemberBadge } from "./icons";
import { text } from "./strings";
import type { EventInstance, SeriesScope, Settings } from "./types";

const strings = text.event;

interface Props {
  event: EventInstance;
  settings: Settings;
  userId: string;
  zone: string;
  close(): void;
  /** Called with a message after a change. */
  onChanged(message: string): void;
}

export function EventDialog({ event, ...props }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [mode, setMode] = useState<"view" | "edit" | "remove">("view");
  useEffect(() => dialog.current?.showModal(), []);
  const close = () => dialog.current?.close();
  const onChanged = (message: string) => {
    close();
    props.onChanged(message);
  };
  return (
    <dialog ref={dialog} class="event-dialog" aria-labelledby="event-dialog-title" data-mode={mode} onClose={props.close}
      // A click on the dialog element itself is a click on the backdrop.
      onClick={(click) => { if (click.target === dialog.current) close(); }}>
      <div class="event-dialog-content">
        <header>
          <h2 id="event-dialog-title" dir="auto">{event.is_busy ? strings.busy : event.title}</h2>
          <button type="button" class="quiet square" aria-label={strings.close} onClick={close}><Icon name="close" /></button>
        </header>
        {mode === "view" && <EventDetails event={event} settings={props.settings} edit={() => setMode("edit")} remove={() => setMode("remove")} />}
        {mode === "edit" && <EventForm event={event} settings={props.settings} userId={props.userId} zone={props.zone} back={() => setMode("view")} onChanged={onChanged} />}
        {mode === "remove" && <DeleteEventForm event={event} userId={props.userId} back={() => setMode("view")} onChanged={onChanged} />}
      </div>
    </dialog>
  );
}

function EventDetails({ event, settings, edit, remove }: { event: EventInstance; settings: Settings; edit(): void; remove(): void }) {
  const nameOf = (id: string | null | undefined) => settings.members.find((member) => member.id === id)?.name;
  const calendar = settings.calendars?.find(({ id }) => id === event.calendar)?.name;
  const details: [string, string | null | undefined][] = [
    [strings.recurrence, event.recurrence_rule && describeRule(event.recurrence_rule)],
    [strings.resources, event.resources.map(({ name }) => name).join(", ")],
    [strings.location, event.location],
    [strings.priority, event.priority && event.priority !== "medium" ? strings.priorities[event.priority] : undefined],
    [strings.flexibility, event.flexibility && event.flexibility !== "preferred" ? strings.flexibilities[event.flexibility] : undefined],
    [strings.calendar, (settings.calendars?.length ?? 0) > 1 ? calendar : undefined],
    [strings.owner, nameOf(event.owner)],
    [strings.notes, event.notes],
  ];
  return (
    <>
      <p class="event-time">{formatRange(event.start, event.end, event.is_all_day)} {event.is_tentative && <span class="badge">{strings.tentative}</span>}</p>
      {event.is_busy && <p class="hint">{strings.private}</p>}
      <ul class="people" aria-label={strings.people}>
        {event.participants.map(({ id, name, is_required }) => (
          <li key={id}><MemberBadge id={id} name={name} members={settings.members} /> <span dir="auto">{name}</span> {!is_required && <span class="hint">{strings.optional}</span>}</li>
        ))}
      </ul>
      {!event.is_busy && (
        <dl>
          {details.filter(([, value]) => value).map(([name, value]) => <div key={name}><dt>{name}</dt><dd dir="auto">{value}</dd></div>)}
        </dl>
      )}
      {event.may_change ? (
        <div class="row">
          <button type="button" data-action="edit" onClick={edit}>{strings.edit}</button>
          <button type="button" class="quiet danger" data-action="remove" onClick={remove}>{strings.remove}</button>
        </div>
      ) : !event.is_busy && <p class="hint">{strings.notYours}</p>}
    </>
  );
}

function DeleteEventForm({ event, userId, back, onChanged }: { event: EventInstance; userId: string; back(): void; onChanged(message: string): void }) {
  const [which, setWhich] = useState<SeriesScope>("this");
  const [problem, setProblem] = useState<Problem>();
  const [isSending, setSending] = useState(false);
  const isSeries = event.recurrence_rule !== null && event.occurrence !== null;
  const remove = async (submit: Event) => {
    submit.preventDefault();
    if (isSending) return;
    setSending(true);
    try {
      await (isSeries ? api.remove(userId, event.event_id, which, event.occurrence!) : api.remove(userId, event.event_id));
      onChanged(strings.removed(event.title));
    } catch (cause) {
      setProblem(toProblem(cause));
      setSending(false);
    }
  };
  return (
    <form onSubmit={remove}>
      <p>{strings.confirmDelete(event.title)}</p>
      {isSeries && <SeriesScopeSelect which={which} onSelect={setWhich} />}
      {problem && <p class="problem" role="alert">{problem.message || text.unreachable}</p>}
      <div class="row">
        <button class="danger" autoFocus data-action="really" disabled={isSending}>{strings.remove}</button>
        <button type="button" onClick={back}>{strings.back}</button>
      </div>
    </form>
  );
}
