import { afterEach, expect, it, vi } from "vitest";
import { followEventStream, type StreamListener } from "../shared/event-stream";
import { debateEventSource } from "./debate-events";
import { createSseParser } from "../shared/sse";
import type { DebateEvent } from "./types";

afterEach(() => { vi.unstubAllGlobals(); });

/** Stubs `fetch` with a list of responses. `break` fails after the given text. */
function server(...responses: (string | { break: string } | { status: number })[]) {
  const requests: string[] = [];
  vi.stubGlobal("fetch", async (path: string) => {
    requests.push(path);
    const response = responses.shift();
    if (response === undefined) throw new TypeError("unreachable");
    if (typeof response === "string") return new Response(response);
    if ("status" in response) return new Response("{}", { status: response.status });
    let isSent = false;
    return new Response(new ReadableStream({
      pull(out) {
        if (isSent) out.error(new Error("cut"));
        else out.enqueue(new TextEncoder().encode(response.break));
        isSent = true;
      },
    }));
  });
  return requests;
}

function createListener(isRunning = false) {
  const log: string[] = [];
  const listener: StreamListener<DebateEvent> = {
    onEvent: ({ number, event }) => log.push(`${number} ${event.type}`),
    onRetry: (attempt) => log.push(`try ${attempt}`),
    onError: (problem) => log.push(`refused ${problem.status}`),
    onEnd: async () => isRunning,
  };
  return { log, listener };
}

const noWait = async () => {};
const run = (listener: StreamListener<DebateEvent>, after = 0) => followEventStream(debateEventSource("d 1"), after, listener, new AbortController().signal, noWait);
const event = (id: number, name: string) => `id: ${id}\nevent: ${name}\ndata: {}\n\n`;

it("reconnects with the id of the last event", async () => {
  const requests = server({ break: event(3, "agent_start") + "id: 4\nevent: tok" }, { status: 503 }, event(4, "debate_complete"));
  const { log, listener } = createListener();
  await run(listener);
  expect(requests).toEqual([
    "/api/debate/d%201/stream?format=debate",
    "/api/debate/d%201/stream?format=debate&after=3",
    "/api/debate/d%201/stream?format=debate&after=3",
  ]);
  expect(log).toEqual(["3 agent_start", "try 1", "try 2", "try 0", "4 debate_complete"]);
});

it("does not reconnect after a terminal event", async () => {
  const requests = server({ break: event(9, "stopped") });
  const { log, listener } = createListener();
  await run(listener, 8);
  expect(requests).toEqual(["/api/debate/d%201/stream?format=debate&after=8"]);
  expect(log).toEqual(["9 stopped"]);
});

it("continues after a terminal event of an earlier run", async () => {
  const requests = server(event(1, "approval_required") + event(2, "agent_start"), event(3, "debate_complete"));
  const { listener } = createListener(true);
  await run(listener);
  expect(requests).toHaveLength(2);
});

it("ends with an empty stream when the debate is completed", async () => {
  const requests = server(": quiet\n\n");
  const { log, listener } = createListener(false);
  await run(listener);
  expect(requests).toHaveLength(1);
  expect(log).toEqual([]);
});

it("stops on a permanent error", async () => {
  server({ status: 404 });
  const { log, listener } = createListener();
  await run(listener);
  expect(log).toEqual(["refused 404"]);
});

it("parses events at any chunk boundary, comments, multi-line data and all line endings", () => {
  const text = ": hello\r\nid: 7\r\nevent: token\r\ndata: {\"a\":\r\ndata: 1}\r\n\r\ndata:x\n\nevent: empty\n\n";
  const expected = [{ id: "7", event: "token", data: "{\"a\":\n1}" }, { id: "7", event: "message", data: "x" }];
  for (let position = 0; position <= text.length; position++) {
    const parse = createSseParser();
    expect([...parse(text.slice(0, position)), ...parse(text.slice(position))]).toEqual(expected);
  }
});
