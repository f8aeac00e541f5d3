/** Example inputs as buttons. */
import { text } from "./strings";

export function Examples({ examples, onSelect }: { examples: string[]; onSelect(example: string): void }) {
  return (
    <div class="examples" role="group" aria-labelledby="examples-title">
      <p id="examples-title">{text.examples}</p>
      {examples.map((example) => <button key={example} type="button" onClick={() => onSelect(example)}>{example}</button>)}
    </div>
  );
}
