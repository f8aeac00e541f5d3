/** Changes an event that is on the calendar. */
import { useRef, useState } from "react";
import type { Problem } from "../shared/api";
import { Choice, Field, goToFirstError } from "../shared/field";
import { api, problemOf, Refusal } from "./api";
import { RepeatSelect } from "./correct";
import { changesOf, editedOf, ofSeries, withStart, wrongOf, type Edited } from "./edited";
import { Letter } from "./signs";
import { text } from "./strings";
import type { Flexibility, Instance, Priority, Settings, Which } from "./types";

const words = text.event;

interface Props {
  event: Instance;
  settings: Settings;
  userId: string;
  zone: string;
  back(): void;
  changed(what: string): void;
}

export function EventForm({ event, settings, userId, zone, back, changed }: Props) {
  const [edited, setEdited] = useState(() => editedOf(event));
  const [which, setWhich] = useState<Which>("this");
  const [isAsked, setAsked] = useState(false);
  const [problem, setProblem] = useState<Problem>();
  const [isSending, setSending] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  const isSeries = event.recurrence_rule !== null && event.occurrence !== null;
  const wrong = isAsked ? wrongOf(edited, event.is_all_day) : undefined;
  const put = (more: Partial<Edited>) => setEdited({ ...edited, ...more });

  const save = async (isForced: boolean) => {
    setAsked(true);
    setProblem(undefined);
    if (isSending) return;
    if (wrongOf(edited, event.is_all_day)) return goToFirstError(form.current);
    const patch = changesOf(event, edited, zone);
    if (!patch) return back();
    setSending(true);
    try {
      await api.change(userId, event.event_id, { ...ofSeries(event, patch, which), ...(isForced ? { force: true } : {}) });
      changed(words.changed(edited.title.trim()));
    } catch (cause) {
      setProblem(problemOf(cause));
      setSending(false);
      goToFirstError(form.current);
    }
  };
  const submit = (press: Event) => {
    press.preventDefault();
    void save(false);
  };
  const at = (pointer: string) => problem?.at(pointer);
  const timeWrong = wrong === "endFirst" || wrong === "noDay" ? words[wrong] : undefined;

  return (
    <form class="event-form" ref={form} onSubmit={submit} noValidate>
      <Field name="title" label={words.title} error={wrong === "noTitle" ? words.noTitle : at("/title")}>
        {(more) => <input {...more} dir="auto" autoFocus autoComplete="off" value={edited.title} onInput={(press) => put({ title: press.currentTarget.value })} />}
      </Field>
      <div class="pair">
        <Field name="startDay" label={words.starts} error={at("/start")}>
          {(more) => <input {...more} type="date" value={edited.startDay} onInput={(press) => setEdited(withStart(edited, press.currentTarget.value, edited.startTime))} />}
        </Field>
        {!event.is_all_day && (
          <Field name="startTime" label={words.startTime}>
            {(more) => <input {...more} type="time" value={edited.startTime} onInput={(press) => setEdited(withStart(edited, edited.startDay, press.currentTarget.value))} />}
          </Field>
        )}
      </div>
      <div class="pair">
        <Field name="endDay" label={words.ends} error={timeWrong ?? at("/end")}>
          {(more) => <input {...more} type="date" value={edited.endDay} onInput={(press) => put({ endDay: press.currentTarget.value })} />}
        </Field>
        {!event.is_all_day && (
          <Field name="endTime" label={words.endTime}>
            {(more) => <input {...more} type="time" value={edited.endTime} onInput={(press) => put({ endTime: press.currentTarget.value })} />}
          </Field>
        )}
      </div>
      <People edited={edited} put={put} settings={settings} />
      {(settings.resources?.length ?? 0) > 0 && (
        <fieldset>
          <legend>{words.resources}</legend>
          {settings.resources!.map(({ id, name }) => (
            <label key={id} class="check">
              <input type="checkbox" checked={edited.resources.includes(id)} onChange={() => put({ resources: edited.resources.includes(id) ? edited.resources.filter((one) => one !== id) : [...edited.resources, id] })} /> <span dir="auto">{name}</span>
            </label>
          ))}
        </fieldset>
      )}
      <Field name="recurrence" label={words.recurrence} error={at("/recurrence_rule")}>
        {(more) => <RepeatSelect id={more.id} day={edited.startDay || editedOf(event).startDay} rule={edited.rule} choose={(rule) => put({ rule })} />}
      </Field>
      <div class="pair">
        <Field name="priority" label={words.priority}>
          {(more) => <Choice<Priority> {...more} value={edited.priority} options={words.priorities} choose={(priority) => put({ priority })} />}
        </Field>
        <Field name="flexibility" label={words.flexibility}>
          {(more) => <Choice<Flexibility> {...more} value={edited.flexibility} options={words.flexibilities} choose={(flexibility) => put({ flexibility })} />}
        </Field>
      </div>
      <Field name="location" label={words.location}>
        {(more) => <input {...more} dir="auto" autoComplete="off" value={edited.location} onInput={(press) => put({ location: press.currentTarget.value })} />}
      </Field>
      <Field name="notes" label={words.notes}>
        {(more) => <textarea {...more} dir="auto" rows={2} value={edited.notes} onInput={(press) => put({ notes: press.currentTarget.value })} />}
      </Field>
      {isSeries && <WhichOf which={which} choose={setWhich} />}
      {problem && <NotSaved problem={problem} />}
      <div class="row">
        <button class="primary" data-act="save" disabled={isSending}>{isSending ? words.saving : words.save}</button>
        {problem instanceof Refusal && mayForce(problem) && <button type="button" data-act="force" disabled={isSending} onClick={() => void save(true)}>{words.force}</button>}
        <button type="button" onClick={back}>{words.cancel}</button>
      </div>
    </form>
  );
}

/** What is fully taken cannot be taken anyway. */
function mayForce({ conflicts }: Refusal): boolean {
  return conflicts.length > 0 && conflicts.every(({ type }) => type !== "resource_conflict");
}

function NotSaved({ problem }: { problem: Problem }) {
  const conflicts = problem instanceof Refusal ? problem.conflicts : [];
  return (
    <div class="problem" role="alert">
      <p><strong>{words.refused}</strong> {conflicts.length > 0 ? words.inTheWay : problem.message || text.nobodyThere}</p>
      {conflicts.length > 0 && <ul>{conflicts.map(({ id, details }) => <li key={id} dir="auto">{details}</li>)}</ul>}
      {conflicts.some(({ type }) => type === "resource_conflict") && <p>{words.full}</p>}
      {problem.hint && <p>{problem.hint}</p>}
    </div>
  );
}

function People({ edited, put, settings }: { edited: Edited; put(more: Partial<Edited>): void; settings: Settings }) {
  const rest = (id: string) => edited.people.filter((one) => one.id !== id);
  return (
    <fieldset>
      <legend>{words.people}</legend>
      {settings.members.map(({ id, name }) => {
        const person = edited.people.find((one) => one.id === id);
        return (
          <div key={id} class="person">
            <label class="check">
              <input type="checkbox" checked={person !== undefined} onChange={() => put({ people: person ? rest(id) : [...edited.people, { id, is_required: true }] })} />
              <Letter id={id} name={name} members={settings.members} /> <span dir="auto">{name}</span>
            </label>
            {person && (
              <label class="check is-optional">
                <input type="checkbox" checked={!person.is_required} onChange={() => put({ people: edited.people.map((one) => (one.id === id ? { id, is_required: !one.is_required } : one)) })} /> {words.optional}<span class="hidden">: {name}</span>
              </label>
            )}
          </div>
        );
      })}
    </fieldset>
  );
}

export function WhichOf({ which, choose }: { which: Which; choose(which: Which): void }) {
  return (
    <fieldset class="which">
      <legend>{words.which}</legend>
      {(Object.keys(words.whiches) as Which[]).map((one) => (
        <label key={one}><input type="radio" name="which" value={one} checked={which === one} onChange={() => choose(one)} /> {words.whiches[one]}</label>
      ))}
    </fieldset>
  );
}
