/** A field with its label, its hint and what is wrong with it; and why an order was refused. */
import type { ReactNode } from "react";
import type { Problem } from "./api";
import { text } from "./strings";

export interface Attributes {
  id: string;
  name: string;
  "aria-invalid"?: boolean;
  "aria-describedby"?: string;
}

interface Props {
  name: string;
  label: string;
  hint?: ReactNode;
  error?: string;
  children(more: Attributes): ReactNode;
}

export function Field({ name, label, hint, error, children }: Props) {
  const described = [error && `${name}-error`, hint && `${name}-hint`].filter(Boolean).join(" ");
  return (
    <div class={`field is-${name}`}>
      <label for={name}>{label}</label>
      {children({ id: name, name, "aria-invalid": error ? true : undefined, "aria-describedby": described || undefined })}
      {error && <p class="wrong" id={`${name}-error`}><span aria-hidden="true">⚠ </span>{error}</p>}
      {hint && <p class="hint" id={`${name}-hint`}>{hint}</p>}
    </div>
  );
}

export function Choice<T extends string>(props: Attributes & { value: T; options: Record<T, string>; choose(value: T): void }) {
  const { value, options, choose, ...more } = props;
  return (
    <select {...more} value={value} onChange={(event) => choose(event.currentTarget.value as T)}>
      {(Object.keys(options) as T[]).map((name) => <option key={name} value={name}>{options[name]}</option>)}
    </select>
  );
}

/** `fields`: pointers of what the form shows; what is wrong there is said there. */
export function Refused({ problem, what, fields }: { problem: Problem; what: string; fields: string[] }) {
  const isAtField = fields.some((pointer) => problem.at(pointer));
  return (
    <div class="problem" role="alert">
      <p>
        <strong>{what}</strong> {isAtField ? text.field.seeFields : problem.message || text.nobodyThere}
      </p>
      {problem.hint && <p>{problem.hint}</p>}
      {problem.retryAfter && <p>{text.field.retryAfter(problem.retryAfter)}</p>}
    </div>
  );
}

/** After the errors are drawn, the first of them is where to go on. */
export function goToFirstError(form: HTMLFormElement | null): void {
  requestAnimationFrame(() => form?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus());
}
