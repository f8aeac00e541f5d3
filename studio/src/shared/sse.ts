/**
 * Server-sent events over `fetch`. `EventSource` would do for the words, but it hides the status of an answer,
 * the comments that show a quiet line is alive, and it takes the end of a stream for a fault.
 */

export interface Line {
  id?: string;
  event: string;
  data: string;
}

/** Takes text in pieces, gives back whole events. */
export function parser(): (piece: string) => Line[] {
  let rest = "";
  let id: string | undefined;
  let event = "";
  let data: string[] = [];
  const take = (line: string, found: Line[]) => {
    if (line === "") {
      if (data.length > 0) found.push({ id, event: event || "message", data: data.join("\n") });
      event = "";
      data = [];
      return;
    }
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "data") data.push(value);
    else if (name === "event") event = value;
    else if (name === "id") id = value;
  };
  return (piece) => {
    const found: Line[] = [];
    const lines = (rest + piece).split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop() ?? "";
    for (const line of lines) take(line, found);
    return found;
  };
}

/** Reads to the end of the answer; fails when the line breaks or stays silent for longer than `silenceMs`. */
export async function read(response: Response, silenceMs: number, tell: (line: Line) => void): Promise<void> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  if (!reader) return;
  const parse = parser();
  for (;;) {
    const silence = timer(silenceMs);
    const { done, value } = await Promise.race([reader.read(), silence.over]).finally(silence.clear);
    if (done) return;
    for (const line of parse(value ?? "")) tell(line);
  }
}

function timer(milliseconds: number) {
  let clear = () => {};
  const over = new Promise<never>((_, fail) => {
    const handle = setTimeout(() => fail(new Error("silence")), milliseconds);
    clear = () => clearTimeout(handle);
  });
  return { over, clear };
}
