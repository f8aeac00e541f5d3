import { describe, expect, it } from "vitest";
import type { Told } from "../shared/follow";
import { answerTo, fresh, reduce, type Debate } from "./state";
import type { DebateEvent, Fact, Snapshot } from "./types";

const model = { name: "local/rules", kind: "rules", label: "rule-based voices, no language model" };
const start: DebateEvent = { type: "debate_start", id: "d", topic: "Tea", maxRounds: 2, model };
const fact: Fact = { claim: "Tea has 2 leaves.", verdict: "true", sources: ["tea.md#leaves"] };

function told(debate: Debate, ...events: DebateEvent[]): Debate {
  const from = debate.last;
  return reduce(debate, { type: "told", events: events.map((event, index): Told<DebateEvent> => ({ number: from + index + 1, event })) });
}

function snapshot(more: Partial<Snapshot>): Snapshot {
  return {
    id: "d", topic: "Tea", maxRounds: 2, round: 0, status: "running", model, approval: "off", factCheck: "off",
    messages: [{ name: null, content: "Debate topic: Tea" }], factCheckResults: [], tokenUsage: 0, lastEventId: 0, ...more,
  };
}

const speak = (agent: "optimist" | "skeptic" | "moderator", round: number, text: string): DebateEvent[] => [
  { type: "agent_start", agent, round },
  ...text.split(/(?<= )/).map((content): DebateEvent => ({ type: "token", agent, content })),
  { type: "agent_end", agent, round, message: text, tokens: 3 },
];

describe("an answer", () => {
  it("names the question that was read", () => {
    const asked = told(fresh("d"), start, { type: "approval_required", interruptId: "i", question: "Go on?", round: 1 });
    expect(answerTo(asked.question, true, " ")).toEqual({ approved: true, interruptId: "i" });
    expect(answerTo(asked.question, false, " Enough. ")).toEqual({ approved: false, note: "Enough.", interruptId: "i" });
    expect(answerTo(undefined, true, "")).toEqual({ approved: true });
  });
});

describe("events", () => {
  it("grow a turn word by word and end it with the whole message", () => {
    const half = told(fresh("d"), start, ...speak("optimist", 1, "Tea is good.").slice(0, 3));
    expect(half.turns).toEqual([{ key: "optimist-1", speaker: "optimist", round: 1, text: "Tea is ", done: false }]);
    const whole = told(half, { type: "agent_end", agent: "optimist", round: 1, message: { content: "Tea is good." }, tokens: 3 });
    expect(whole.turns[0]).toMatchObject({ text: "Tea is good.", done: true });
    expect(whole.tokens).toBe(3);
  });

  it("a second start of a turn replaces what was heard of it, in its place", () => {
    const heard = told(fresh("d"), start, ...speak("optimist", 1, "One."), ...speak("skeptic", 1, "Two and a half").slice(0, 3));
    const again = told(heard, ...speak("skeptic", 1, "Three."));
    expect(again.turns.map((turn) => turn.text)).toEqual(["One.", "Three."]);
  });

  it("drop words whose turn was not opened, and what was already told", () => {
    const debate = told(fresh("d"), start, { type: "token", agent: "skeptic", content: "lost" });
    expect(debate.turns).toEqual([]);
    const later = { ...debate, last: 40 };
    expect(reduce(later, { type: "told", events: [{ number: 39, event: { type: "stopped", round: 1 } }] })).toBe(later);
  });

  it("several events of one number all count", () => {
    const events: Told<DebateEvent>[] = [
      { number: 5, event: { type: "round_complete", round: 1, totalRounds: 2 } },
      { number: 5, event: { type: "approval_required", interruptId: "i", question: "Go on?", round: 1 } },
    ];
    expect(reduce(fresh("d"), { type: "told", events })).toMatchObject({ round: 1, status: "waiting", last: 5 });
  });

  it("a question is gone once it is answered or someone speaks", () => {
    const asked = told(fresh("d"), start, { type: "approval_required", interruptId: "i", question: "Go on?", round: 1 });
    expect(reduce(asked, { type: "answered" })).toMatchObject({ status: "running", question: undefined });
    expect(told(asked, { type: "agent_start", agent: "optimist", round: 2 })).toMatchObject({ status: "running", question: undefined });
  });

  it("an error keeps the transcript, and going on clears it", () => {
    const failed = told(fresh("d"), start, ...speak("optimist", 1, "One."), { type: "error", code: "ModelTimeout", message: "late" });
    expect(failed).toMatchObject({ status: "error", failure: { code: "ModelTimeout" } });
    expect(failed.turns).toHaveLength(1);
    expect(told(failed, { type: "agent_start", agent: "skeptic", round: 1 }).failure).toBeUndefined();
  });

  it("facts are told once, however often they come", () => {
    const debate = told(fresh("d"), start, { type: "fact_check", results: [fact] }, { type: "fact_check", results: [fact] });
    expect(debate.facts).toEqual([fact]);
  });

  it("an unknown event changes nothing but the number", () => {
    const debate = told(fresh("d"), { type: "weather", sun: true } as unknown as DebateEvent);
    expect(debate).toEqual({ ...fresh("d"), last: 1 });
  });
});

describe("snapshots", () => {
  const stored = snapshot({
    status: "completed", round: 1, lastEventId: 100, tokenUsage: 9, factCheckResults: [fact],
    messages: [
      { id: "0", content: "Debate topic: Tea" },
      { id: "1", name: "optimist", content: "One.", round: 1 },
      { id: "2", name: "skeptic", content: "Two.", round: 1 },
      { id: "3", content: "Enough." },
      { id: "4", name: "moderator", content: "Sum.", round: 1 },
    ],
  });

  it("bring the notes that events do not tell, without the opening line", () => {
    const debate = reduce(fresh("d"), { type: "snapshot", snapshot: stored });
    expect(debate.turns.map(({ speaker, text }) => [speaker, text])).toEqual([
      ["optimist", "One."], ["skeptic", "Two."], ["you", "Enough."], ["moderator", "Sum."],
    ]);
  });

  it("are not undone by the same past told again", () => {
    const opened = reduce(fresh("d"), { type: "snapshot", snapshot: stored });
    const half = told(opened, start, { type: "agent_start", agent: "optimist", round: 1 });
    expect(half).toMatchObject({ status: "completed", tokens: 9 });
    expect(half.turns).toEqual(opened.turns);
    const all = told(half, ...speak("skeptic", 1, "Two."), { type: "fact_check", results: [fact] }, ...speak("moderator", 2, "Sum."));
    expect({ ...all, last: 0 }).toEqual(opened);
  });

  it("that are older than what was told leave the live turn and the status alone", () => {
    const live = told(fresh("d"), start, ...speak("optimist", 1, "One."), ...speak("skeptic", 1, "Two and").slice(0, 2));
    const merged = reduce(live, { type: "snapshot", snapshot: snapshot({ status: "stopped", lastEventId: 1 }) });
    expect(merged.status).toBe("running");
    expect(merged.turns.map((turn) => turn.text)).toEqual(["One.", "Two "]);
  });

  it("asked for after the end are right, whatever their number", () => {
    const live = told(fresh("d"), start, ...speak("optimist", 1, "One two").slice(0, 2));
    const merged = reduce(live, { type: "snapshot", isLast: true, snapshot: snapshot({ status: "stopped", lastEventId: 1 }) });
    expect(merged).toMatchObject({ status: "stopped", turns: [{ text: "One ", done: false }] });
  });

  it("tell how long it took", () => {
    const times = snapshot({ startTime: "2026-01-01T00:00:00Z", endTime: "2026-01-01T00:00:02.500Z" });
    expect(reduce(fresh("d"), { type: "snapshot", snapshot: times }).durationMs).toBe(2500);
  });
});
