/**
 * Server-sent events over `fetch`. `EventSource` hides the response status and the keep-alive comments, and treats the end of a
 * stream as an error.
 */

export interface SseMessage {
  id?: string;
  event: string;
  data: string;
}

/** Returns a parser that takes chunks and returns complete messages. */
export function createSseParser(): (chunk: string) => SseMessage[] {
  let rest = "";
  let id: string | undefined;
  let event = "";
  let data: string[] = [];
  const handleLine = (line: string, messages: SseMessage[]) => {
    if (line === "") {
      if (data.length > 0) messages.push({ id, event: event || "message", data: data.join("\n") });
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
  return (chunk) => {
    const messages: SseMessage[] = [];
    const lines = (rest + chunk).split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop() ?? "";
    for (const line of lines) handleLine(line, messages);
    return messages;
  };
}

/** Reads a response to its end. Fails on a connection error or after `timeoutMs` without data. */
export async function readSse(response: Response, timeoutMs: number, onMessage: (message: SseMessage) => void): Promise<void> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  if (!reader) return;
  const parse = createSseParser();
  for (;;) {
    const timeout = startTimer(timeoutMs);
    const { done, value } = await Promise.race([reader.read(), timeout.over]).finally(timeout.clear);
    if (done) return;
    for (const message of parse(value ?? "")) onMessage(message);
  }
}

function startTimer(milliseconds: number) {
  let clear = () => {};
  const expired = new Promise<never>((_, reject) => {
    const handle = setTimeout(() => reject(new Error("silence")), milliseconds);
    clear = () => clearTimeout(handle);
  });
  return { over: expired, clear };
}
