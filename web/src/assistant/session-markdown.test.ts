import { expect, it } from "vitest";
import { initialState, type SessionViewState, type Step, type Turn, type VerifierNote } from "./state";
import { sessionToMarkdown, verifierNoteText } from "./session-markdown";

const step = (id: string, attempt: number, args: unknown, state: Step["state"]): Step => ({ id, attempt, tool: "bq_query", args, why: `because ${id}`, state });
const note = (reason: string): VerifierNote => ({ attempt: 1, status: "planning_retry", reason, calls: ["status = 'LATE'"] });
const turn: Turn = {
  key: "t0", userMessages: ["How many\nlate?", "In October"], phase: "generate", status: "completed", isStored: true, hasEvents: true,
  steps: [step("a", 1, { sql: "SELECT 1" }, "empty"), step("b", 2, { sql: "SELECT 2\nFROM o WHERE shipped_at > due_at" }, "done")],
  notes: [note("empty"), { attempt: 2, status: "verified", reason: "", calls: [] }],
  text: "**7** [1].", references: [{ n: 1, tool: "bq_query", source: "orders", query: "SELECT 2" }],
};

it("describes a second plan in one sentence", () => {
  expect(verifierNoteText(note("empty"), turn)).toBe("No results for “status = 'LATE'”, trying “shipped_at > due_at”.");
  expect(verifierNoteText(note("error"), turn)).toBe("Failed: “status = 'LATE'”, trying “shipped_at > due_at”.");
  expect(verifierNoteText(note("too old"), turn)).toBe("too old: “status = 'LATE'”, trying “shipped_at > due_at”.");
  const first = { ...turn, steps: turn.steps.slice(0, 1) };
  expect(verifierNoteText(note("empty"), { ...first, status: "running" })).toBe("No results for “status = 'LATE'”, trying a different plan…");
  expect(verifierNoteText(note("empty"), first)).toBe("No results for “status = 'LATE'”.");
});

it("exports messages, plans, answer, sources and model", () => {
  const conversation: SessionViewState = { ...initialState("s"), turns: [turn], model: { name: "r", kind: "rules", label: "rule-based, no language model" } };
  expect(sessionToMarkdown(conversation)).toBe([
    "## How many late?", "", "> In October", "", "**Plan**", "",
    "- [ ] because a (`bq_query`, no results): `SELECT 1`", "- No results for “status = 'LATE'”, trying “shipped_at > due_at”.",
    "- [x] because b (`bq_query`, done): `SELECT 2 FROM o WHERE shipped_at > due_at`", "",
    "**7** [1].", "", "**Sources**", "", "- [1] `bq_query` orders: `SELECT 2`", "", "_rule-based, no language model_", "",
  ].join("\n"));
});
