import { expect, it } from "vitest";
import { fresh, type Conversation, type Note, type Step, type Turn } from "./state";
import { markdownOf, noteText } from "./written";

const step = (id: string, attempt: number, args: unknown, state: Step["state"]): Step => ({ id, attempt, tool: "bq_query", args, why: `because ${id}`, state });
const note = (reason: string): Note => ({ attempt: 1, status: "planning_retry", reason, tried: ["status = 'LATE'"] });
const turn: Turn = {
  key: "t0", asked: ["How many\nlate?", "In October"], phase: "generate", status: "completed", isStored: true, isTold: true,
  steps: [step("a", 1, { sql: "SELECT 1" }, "empty"), step("b", 2, { sql: "SELECT 2\nFROM o WHERE shipped_at > due_at" }, "done")],
  notes: [note("empty"), { attempt: 2, status: "verified", reason: "", tried: [] }],
  text: "**7** [1].", references: [{ n: 1, tool: "bq_query", source: "orders", query: "SELECT 2" }],
};

it("says the second try in one sentence: what found nothing, and what is tried instead", () => {
  expect(noteText(note("empty"), turn)).toBe("Nothing found with “status = 'LATE'”, trying “shipped_at > due_at”.");
  expect(noteText(note("error"), turn)).toBe("This failed: “status = 'LATE'”, trying “shipped_at > due_at”.");
  expect(noteText(note("too old"), turn)).toBe("too old: “status = 'LATE'”, trying “shipped_at > due_at”.");
  const first = { ...turn, steps: turn.steps.slice(0, 1) };
  expect(noteText(note("empty"), { ...first, status: "running" })).toBe("Nothing found with “status = 'LATE'”, looking for another way…");
  expect(noteText(note("empty"), first)).toBe("Nothing found with “status = 'LATE'”.");
});

it("writes question, plan, second try, answer, sources and the label", () => {
  const conversation: Conversation = { ...fresh("s"), turns: [turn], model: { name: "r", kind: "rules", label: "rule-based, no language model" } };
  expect(markdownOf(conversation)).toBe([
    "## How many late?", "", "> In October", "", "**Plan**", "",
    "- [ ] because a (`bq_query`, nothing found): `SELECT 1`", "- Nothing found with “status = 'LATE'”, trying “shipped_at > due_at”.",
    "- [x] because b (`bq_query`, done): `SELECT 2 FROM o WHERE shipped_at > due_at`", "",
    "**7** [1].", "", "**Sources**", "", "- [1] `bq_query` orders: `SELECT 2`", "", "_rule-based, no language model_", "",
  ].join("\n"));
});
