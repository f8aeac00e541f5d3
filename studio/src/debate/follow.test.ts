import { afterEach, expect, it, vi } from "vitest";
import { follow, type Listener } from "../shared/follow";
import { debateSource } from "./follow";
import { parser } from "../shared/sse";
import type { DebateEvent } from "./types";

afterEach(() => { vi.unstubAllGlobals(); });

/** One answer of the server after another; `break` ends it with a fault. */
function server(...answers: (string | { break: string } | { status: number })[]) {
  const asked: string[] = [];
  vi.stubGlobal("fetch", async (path: string) => {
    asked.push(path);
    const answer = answers.shift();
    if (answer === undefined) throw new TypeError("nobody there");
    if (typeof answer === "string") return new Response(answer);
    if ("status" in answer) return new Response("{}", { status: answer.status });
    let isTold = false;
    return new Response(new ReadableStream({
      pull(out) {
        if (isTold) out.error(new Error("cut"));
        else out.enqueue(new TextEncoder().encode(answer.break));
        isTold = true;
      },
    }));
  });
  return asked;
}

function listener(isRunning = false) {
  const heard: string[] = [];
  const told: Listener<DebateEvent> = {
    tell: ({ number, event }) => heard.push(`${number} ${event.type}`),
    trying: (attempt) => heard.push(`try ${attempt}`),
    refused: (problem) => heard.push(`refused ${problem.status}`),
    ended: async () => isRunning,
  };
  return { heard, told };
}

const at = async () => {};
const go = (told: Listener<DebateEvent>, after = 0) => follow(debateSource("d 1"), after, told, new AbortController().signal, at);
const event = (id: number, name: string) => `id: ${id}\nevent: ${name}\ndata: {}\n\n`;

it("comes back after a cut with the number of the last event", async () => {
  const asked = server({ break: event(3, "agent_start") + "id: 4\nevent: tok" }, { status: 503 }, event(4, "debate_complete"));
  const { heard, told } = listener();
  await go(told);
  expect(asked).toEqual([
    "/api/debate/d%201/stream?format=debate",
    "/api/debate/d%201/stream?format=debate&after=3",
    "/api/debate/d%201/stream?format=debate&after=3",
  ]);
  expect(heard).toEqual(["3 agent_start", "try 1", "try 2", "try 0", "4 debate_complete"]);
});

it("does not come back after the end, even when the line breaks then", async () => {
  const asked = server({ break: event(9, "stopped") });
  const { heard, told } = listener();
  await go(told, 8);
  expect(asked).toEqual(["/api/debate/d%201/stream?format=debate&after=8"]);
  expect(heard).toEqual(["9 stopped"]);
});

it("an earlier end in the past of a debate that goes on is no end", async () => {
  const asked = server(event(1, "approval_required") + event(2, "agent_start"), event(3, "debate_complete"));
  const { told } = listener(true);
  await go(told);
  expect(asked).toHaveLength(2);
});

it("a stream that ends without a word is over when the debate is", async () => {
  const asked = server(": quiet\n\n");
  const { heard, told } = listener(false);
  await go(told);
  expect(asked).toHaveLength(1);
  expect(heard).toEqual([]);
});

it("gives up when the server refuses", async () => {
  server({ status: 404 });
  const { heard, told } = listener();
  await go(told);
  expect(heard).toEqual(["refused 404"]);
});

it("reads events cut anywhere, comments, joined data and all line ends", () => {
  const text = ": hello\r\nid: 7\r\nevent: token\r\ndata: {\"a\":\r\ndata: 1}\r\n\r\ndata:x\n\nevent: empty\n\n";
  const whole = [{ id: "7", event: "token", data: "{\"a\":\n1}" }, { id: "7", event: "message", data: "x" }];
  for (let cut = 0; cut <= text.length; cut++) {
    const parse = parser();
    expect([...parse(text.slice(0, cut)), ...parse(text.slice(cut))]).toEqual(whole);
  }
});
