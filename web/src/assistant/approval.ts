/** Decisions on a tool approval. A call with an unknown outcome may already have run. */
import { text } from "./strings";
import type { Approval, Decision } from "./types";

type DecisionKind = Decision["decision"];

/** Returns whether a decision is offered. Without a list, all are. The server calls changed arguments an edit. */
export function isDecisionOffered(question: Approval, kind: DecisionKind): boolean {
  const name = kind === "change" ? "edit" : kind;
  return question.decisions?.some((decision) => decision === name || decision === kind) ?? true;
}

/** Returns whether an earlier attempt of the call may have run. */
export function hasUnknownOutcome(question: Approval): boolean {
  return question.outcome === "unknown";
}

/** Returns the title of the approval form. */
export function approvalTitle(question: Approval): string {
  return hasUnknownOutcome(question) ? text.interrupt.approveAgain(question.tool) : text.interrupt.approve(question.tool);
}
