import { expect, it } from "vitest";
import { isOffered, isUnknown, titleOf } from "./approval";
import type { Approval } from "./types";

const plain: Approval = { id: "q1", kind: "approval", tool: "forget_memory" };
const unknown: Approval = {
  ...plain,
  why: "whether `forget_memory` was carried out is not known",
  outcome: "unknown",
  decisions: ["allow_once", "deny"],
};

it("offers what the server offers", () => {
  const kinds = ["allow_once", "allow_session", "change", "deny"] as const;
  expect(kinds.filter((kind) => isOffered(unknown, kind))).toEqual(["allow_once", "deny"]);
  expect(kinds.filter((kind) => isOffered({ ...plain, decisions: ["allow_once", "allow_session", "edit", "deny"] }, kind))).toEqual([...kinds]);
  expect(kinds.filter((kind) => isOffered(plain, kind))).toEqual([...kinds]);
});

it("asks otherwise where the call may have been carried out", () => {
  expect([isUnknown(plain), isUnknown(unknown)]).toEqual([false, true]);
  expect(titleOf(plain)).toBe("May forget_memory be run?");
  expect(titleOf(unknown)).toBe("forget_memory may already have been carried out. Run it again?");
});
