/** Texts of the debate page. */
import { plural, text as shared } from "../shared/strings";

export const text = {
  ...shared,

  shortcuts: [
    ["n", "new debate"],
    ["/", "search past debates"],
    [".", "stop the debate"],
    ["a", "answer the open question"],
    ["l", "back to live"],
    ["c", "copy the transcript"],
    ["y", "copy the link"],
  ] as [string, string][],

  form: {
    title: "What should they debate?",
    lead: "An optimist and a skeptic debate your topic, and a moderator sums up. Watch it live and stop at any time.",
    topic: "Topic",
    topicHint: "One question or statement, up to 500 characters.",
    exampleTopics: ["Should city centres be free of cars?", "Is remote work better than the office?", "Should homework be abolished?"],
    rounds: "Rounds",
    roundsHint: "1 to 10",
    approval: "Ask for my approval",
    approvals: { off: "never", each_round: "after each round", before_summary: "before the summary" },
    factCheck: "Check facts",
    factChecks: { off: "no", each_round: "after each round", at_end: "at the end" },
    noEvidence: "No evidence folder is configured, so claims cannot be verified.",
    evidence: (documents: number) => `Claims are checked against ${plural(documents, "document", "documents")} in the evidence folder.`,
    model: "Model",
    submit: "Start the debate",
    submitting: "Starting…",
    waiting: "Starting the debate…",
    failed: "The debate could not be started.",
  },

  debates: {
    title: "Past debates",
    search: "Search",
    status: "Status",
    all: "all",
    none: "No debates yet. Debates you start appear here.",
    noneFound: "No matching debates.",
    waiting: "Loading debates…",
    rounds: (rounds: number) => plural(rounds, "round", "rounds"),
  },

  agents: {
    optimist: { name: "Optimist", side: "for" },
    skeptic: { name: "Skeptic", side: "against" },
    moderator: { name: "Moderator", side: "sums up" },
    you: { name: "You", side: "note" },
  },

  debate: {
    page: "Debate",
    newDebate: "New debate",
    loading: "Loading the debate…",
    missing: "Debate not found.",
    round: (round: number, of: number) => `Round ${round} of ${of}`,
    starting: "Starting",
    summary: "Summary",
    turnRound: (round: number) => `round ${round}`,
    thinking: (agent: string) => `${agent} is thinking…`,
    interrupted: "interrupted",
    stop: "Stop",
    stopping: "Stopping…",
    progress: "Progress",
    turns: "Transcript",
  },

  approval: {
    title: "Your turn",
    note: "A note for the debate",
    noteHint: "Optional. It is added to the debate.",
    approve: "Continue",
    end: "End debate",
    sending: "Sending…",
  },

  end: {
    stopped: "Debate stopped. You can resume it at any time.",
    error: "The debate failed. Everything so far is saved; resume to retry the failed turn.",
    resume: "Resume",
    resuming: "Resuming…",
    duration: (seconds: string) => `took ${seconds} s`,
    tokens: (tokens: number) => plural(tokens, "token", "tokens"),
  },

  facts: {
    title: "Claims",
    none: "No claims checked yet.",
    noneFound: "No claims to check were found.",
    verdict: { true: "supported", false: "contradicted", unverifiable: "not verifiable" },
    noSources: "No source found.",
    noEvidence: "No claims could be verified because no evidence folder is configured on this server.",
    sources: (count: number) => (count === 1 ? "Source" : "Sources"),
    showClaim: (number: number) => `Show claim ${number} in the text`,
    claimLabel: (number: number, verdict: string) => `claim ${number}, ${verdict}`,
  },
};
