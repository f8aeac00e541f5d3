/** What one could ask, to be taken with one press. */
import { text } from "./strings";

export function Examples({ list, take }: { list: string[]; take(example: string): void }) {
  return (
    <div class="examples" role="group" aria-labelledby="examples-title">
      <p id="examples-title">{text.examples}</p>
      {list.map((example) => <button key={example} type="button" onClick={() => take(example)}>{example}</button>)}
    </div>
  );
}
