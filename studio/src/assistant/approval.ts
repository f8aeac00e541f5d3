/** What may be answered to an approval, and what has to be known before: that the call may have been carried out already. */
import { text } from "./strings";
import type { Approval, Decision } from "./types";

type Kind = Decision["decision"];

/** Whether an answer is offered; one that says nothing about it offers all. The server calls a change of arguments an edit. */
export function isOffered(question: Approval, kind: Kind): boolean {
  const name = kind === "change" ? "edit" : kind;
  return question.decisions?.some((offered) => offered === name || offered === kind) ?? true;
}

/** Whether nobody knows how the call ended when it was made before. */
export function isUnknown(question: Approval): boolean {
  return question.outcome === "unknown";
}

/** What is asked. */
export function titleOf(question: Approval): string {
  return isUnknown(question) ? text.ask.again(question.tool) : text.ask.approve(question.tool);
}
