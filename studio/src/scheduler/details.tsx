/** One event, opened: all of it, a form to change it, and the way to delete it. */
import { useEffect, useRef, useState } from "react";
import type { Problem } from "../shared/api";
import { api, problemOf } from "./api";
import { EventForm, WhichOf } from "./event-form";
import { repeats } from "./repeat";
import { stretch } from "./said";
import { Letter, Sign } from "./signs";
import { text } from "./strings";
import type { Instance, Settings, Which } from "./types";

const words = text.event;

interface Props {
  event: Instance;
  settings: Settings;
  userId: string;
  zone: string;
  close(): void;
  /** Something was changed, in words. */
  changed(what: string): void;
}

export function Details({ event, ...props }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [mode, setMode] = useState<"look" | "edit" | "remove">("look");
  useEffect(() => dialog.current?.showModal(), []);
  const close = () => dialog.current?.close();
  const changed = (what: string) => {
    close();
    props.changed(what);
  };
  return (
    <dialog ref={dialog} class="details" aria-labelledby="details-title" data-mode={mode} onClose={props.close}
      // Outside of the box there is only its backdrop.
      onClick={(press) => { if (press.target === dialog.current) close(); }}>
      <div class="details-box">
        <header>
          <h2 id="details-title" dir="auto">{event.is_busy ? words.busy : event.title}</h2>
          <button type="button" class="quiet square" aria-label={words.close} onClick={close}><Sign of="close" /></button>
        </header>
        {mode === "look" && <Look event={event} settings={props.settings} edit={() => setMode("edit")} remove={() => setMode("remove")} />}
        {mode === "edit" && <EventForm event={event} settings={props.settings} userId={props.userId} zone={props.zone} back={() => setMode("look")} changed={changed} />}
        {mode === "remove" && <Remove event={event} userId={props.userId} back={() => setMode("look")} changed={changed} />}
      </div>
    </dialog>
  );
}

function Look({ event, settings, edit, remove }: { event: Instance; settings: Settings; edit(): void; remove(): void }) {
  const nameOf = (id: string | null | undefined) => settings.members.find((member) => member.id === id)?.name;
  const calendar = settings.calendars?.find(({ id }) => id === event.calendar)?.name;
  const facts: [string, string | null | undefined][] = [
    [words.recurrence, event.recurrence_rule && repeats(event.recurrence_rule)],
    [words.resources, event.resources.map(({ name }) => name).join(", ")],
    [words.location, event.location],
    [words.priority, event.priority && event.priority !== "medium" ? words.priorities[event.priority] : undefined],
    [words.flexibility, event.flexibility && event.flexibility !== "preferred" ? words.flexibilities[event.flexibility] : undefined],
    [words.calendar, (settings.calendars?.length ?? 0) > 1 ? calendar : undefined],
    [words.owner, nameOf(event.owner)],
    [words.notes, event.notes],
  ];
  return (
    <>
      <p class="when">{stretch(event.start, event.end, event.is_all_day)} {event.is_tentative && <span class="badge">{words.tentative}</span>}</p>
      {event.is_busy && <p class="hint">{words.private}</p>}
      <ul class="people" aria-label={words.people}>
        {event.participants.map(({ id, name, is_required }) => (
          <li key={id}><Letter id={id} name={name} members={settings.members} /> <span dir="auto">{name}</span> {!is_required && <span class="hint">{words.optional}</span>}</li>
        ))}
      </ul>
      {!event.is_busy && (
        <dl>
          {facts.filter(([, value]) => value).map(([name, value]) => <div key={name}><dt>{name}</dt><dd dir="auto">{value}</dd></div>)}
        </dl>
      )}
      {event.may_change ? (
        <div class="row">
          <button type="button" data-act="edit" onClick={edit}>{words.edit}</button>
          <button type="button" class="quiet danger" data-act="remove" onClick={remove}>{words.remove}</button>
        </div>
      ) : !event.is_busy && <p class="hint">{words.notYours}</p>}
    </>
  );
}

function Remove({ event, userId, back, changed }: { event: Instance; userId: string; back(): void; changed(what: string): void }) {
  const [which, setWhich] = useState<Which>("this");
  const [problem, setProblem] = useState<Problem>();
  const [isSending, setSending] = useState(false);
  const isSeries = event.recurrence_rule !== null && event.occurrence !== null;
  const remove = async (submit: Event) => {
    submit.preventDefault();
    if (isSending) return;
    setSending(true);
    try {
      await (isSeries ? api.remove(userId, event.event_id, which, event.occurrence!) : api.remove(userId, event.event_id));
      changed(words.removed(event.title));
    } catch (cause) {
      setProblem(problemOf(cause));
      setSending(false);
    }
  };
  return (
    <form onSubmit={remove}>
      <p>{words.sure(event.title)}</p>
      {isSeries && <WhichOf which={which} choose={setWhich} />}
      {problem && <p class="problem" role="alert">{problem.message || text.nobodyThere}</p>}
      <div class="row">
        <button class="danger" autoFocus data-act="really" disabled={isSending}>{words.remove}</button>
        <button type="button" onClick={back}>{words.back}</button>
      </div>
    </form>
  );
}
