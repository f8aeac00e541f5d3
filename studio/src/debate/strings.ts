/** Every word the debate page shows, and those it shares. */
import { plural, text as shared } from "../shared/strings";

export const text = {
  ...shared,

  pressed: [
    ["n", "new debate"],
    ["/", "search past debates"],
    [".", "stop the debate"],
    ["a", "answer the question that is waiting"],
    ["l", "back to live"],
    ["c", "copy the transcript"],
    ["y", "copy the link"],
  ] as [string, string][],

  form: {
    title: "What should they argue about?",
    lead: "An optimist and a skeptic take turns, a moderator sums up. You watch every word, and may end it when you have heard enough.",
    topic: "Subject",
    topicHint: "One question or statement, up to 500 characters.",
    exampleTopics: ["Should city centres be free of cars?", "Is remote work better than the office?", "Should homework be abolished?"],
    rounds: "Rounds",
    roundsHint: "1 to 10",
    approval: "Ask me",
    approvals: { off: "never", each_round: "after each round", before_summary: "before the summary" },
    factCheck: "Look up claims",
    factChecks: { off: "no", each_round: "after each round", at_end: "at the end" },
    noEvidence: "No evidence folder is configured on this server: claims can be marked, not verified.",
    evidence: (documents: number) => `Looked up in ${plural(documents, "document", "documents")} of the evidence folder.`,
    model: "Voices",
    submit: "Start the debate",
    submitting: "Starting…",
    waiting: "Still waiting for the server to take the order…",
    failed: "The debate was not started.",
  },

  past: {
    title: "Past debates",
    search: "Search",
    status: "Status",
    all: "all",
    none: "No debates yet. The first one will be listed here.",
    noneFound: "None found.",
    waiting: "Waiting for the list of debates…",
    rounds: (rounds: number) => plural(rounds, "round", "rounds"),
  },

  voice: {
    optimist: { name: "Optimist", side: "for" },
    skeptic: { name: "Skeptic", side: "against" },
    moderator: { name: "Moderator", side: "sums up" },
    you: { name: "You", side: "note" },
  },

  debate: {
    page: "Debate",
    fresh: "New debate",
    loading: "Waiting for the server to hand over the debate…",
    missing: "This debate does not exist, or no longer does.",
    round: (round: number, of: number) => `Round ${round} of ${of}`,
    starting: "Starting",
    summary: "Summary",
    turnRound: (round: number) => `round ${round}`,
    thinking: (voice: string) => `Waiting for the first words of the ${voice.toLowerCase()}…`,
    cutOff: "cut off here",
    stop: "Stop",
    stopping: "Stopping…",
    progress: "Progress",
    turns: "What was said",
  },

  approval: {
    title: "Your turn",
    note: "A note for the debate",
    noteHint: "Optional. It becomes part of the debate.",
    approve: "Go on",
    end: "End here",
    sending: "Sending…",
  },

  end: {
    stopped: "The debate was stopped. What was said is kept; it can go on from here.",
    error: "The debate broke off. What was said is kept; it can go on with the turn that failed.",
    resume: "Resume",
    resuming: "Resuming…",
    took: (seconds: string) => `took ${seconds} s`,
    tokens: (tokens: number) => plural(tokens, "token", "tokens"),
  },

  facts: {
    title: "Claims",
    none: "No claim has been looked up yet.",
    noneFound: "No claim was found that could be looked up.",
    verdict: { true: "supported", false: "contradicted", unverifiable: "not verifiable" },
    noSources: "No source found.",
    noEvidence: "Nothing could be verified, because no evidence folder is configured on this server.",
    sources: (count: number) => (count === 1 ? "Source" : "Sources"),
    where: (number: number) => `Claim ${number}, show it in the text`,
    mark: (number: number, verdict: string) => `claim ${number}, ${verdict}`,
  },
};
