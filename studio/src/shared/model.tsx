/** Who answers: named wherever it does, and chosen where there is a choice. */
import type { Attributes } from "./field";
import { text } from "./strings";

export interface Model {
  name: string;
  kind: string;
  label: string;
}

export type ModelChoice = Model & { configured: boolean; hint?: string | null };

export function ModelLabel({ model }: { model: Model }) {
  return <p class="label" data-kind={model.kind}>{model.label}</p>;
}

/** What is named, else the first that can be asked. */
export function chosenOf(models: ModelChoice[] | undefined, name: string): ModelChoice | undefined {
  return models?.find((model) => model.name === name) ?? models?.find(({ configured }) => configured);
}

interface Props extends Attributes {
  models?: ModelChoice[];
  chosen?: ModelChoice;
  choose(name: string): void;
}

export function ModelSelect({ models, chosen, choose, ...more }: Props) {
  return (
    <select {...more} value={chosen?.name ?? ""} onChange={(event) => choose(event.currentTarget.value)}>
      {models?.map(({ name, configured }) => (
        <option key={name} value={name}>{configured ? name : `${name} (${text.field.notConfigured})`}</option>
      ))}
    </select>
  );
}
