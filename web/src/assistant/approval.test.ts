import { expect, it } from "vitest";
import { approvalTitle, hasUnknownOutcome, isDecisionOffered } from "./approval";
import type { Approval } from "./types";

const plain: Approval = { id: "q1", kind: "approval", tool: "forget_memory" };
const unknown: Approval = {
  ...plain,
  why: "whether `forget_memory` was carried out is not known",
  outcome: "unknown",
  decisions: ["allow_once", "deny"],
};

it("offers the decisions that the server allows", () => {
  const kinds = ["allow_once", "allow_session", "change", "deny"] as const;
  expect(kinds.filter((kind) => isDecisionOffered(unknown, kind))).toEqual(["allow_once", "deny"]);
  expect(kinds.filter((kind) => isDecisionOffered({ ...plain, decisions: ["allow_once", "allow_session", "edit", "deny"] }, kind))).toEqual([...kinds]);
  expect(kinds.filter((kind) => isDecisionOffered(plain, kind))).toEqual([...kinds]);
});

it("uses another title when the call may already have run", () => {
  expect([hasUnknownOutcome(plain), hasUnknownOutcome(unknown)]).toEqual([false, true]);
  expect(approvalTitle(plain)).toBe("Allow forget_memory to run?");
  expect(approvalTitle(unknown)).toBe("forget_memory may already have run. Run it again?");
});
