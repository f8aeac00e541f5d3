/** Every word the pages show, in one place. */

const plural = (count: number, one: string, many: string) => `${count} ${count === 1 ? one : many}`;

export const text = {
  brand: "superstep",
  skip: "Skip to the content",
  theme: { label: "Colours", system: "as the system", light: "light", dark: "dark" },
  nobodyThere: "The server does not answer. It may have been stopped, or the network is down.",
  tryAgain: "Try again",

  keys: {
    title: "Keys",
    open: "Keys",
    close: "Close",
    isOn: "Single keys are on",
    list: [
      ["?", "this list"],
      ["n", "new debate"],
      ["/", "search past debates"],
      [".", "stop the debate"],
      ["a", "answer the question that is waiting"],
      ["l", "back to live"],
      ["c", "copy the transcript"],
      ["y", "copy the link"],
      ["Esc", "close what is open"],
    ] as [string, string][],
  },

  start: {
    title: "Agents you can watch think",
    lead: "superstep runs agent graphs: every step is saved, can be stopped, resumed and looked at. These applications run on it, on this machine, with nothing to sign up for.",
    open: "Open",
    next: "comes next",
    apps: [
      { name: "Debate", line: "Two voices argue a subject round by round, a moderator sums up. Claims are looked up as they are made.", href: "/debate" },
      { name: "Scheduler", line: "Type “soccer Saturday 2pm with the car” and see it land in the family's week, conflicts first." },
      { name: "Suggestions", line: "A hint for a post, with the document and the paragraph it comes from." },
      { name: "Assistant", line: "Ask the shop's data: a plan that ticks itself off, numbers with the query behind them." },
    ] as { name: string; line: string; href?: string }[],
  },

  form: {
    title: "What should they argue about?",
    lead: "An optimist and a skeptic take turns, a moderator sums up. You watch every word, and may end it when you have heard enough.",
    topic: "Subject",
    topicHint: "One question or statement, up to 500 characters.",
    examples: "Or take one of these:",
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
    notConfigured: "not configured",
    submit: "Start the debate",
    submitting: "Starting…",
    waiting: "Still waiting for the server to take the order…",
    failed: "The debate was not started.",
    seeFields: "Please look at the marked fields.",
    retryAfter: (seconds: number) => `Try again in ${plural(Math.ceil(seconds / 60), "minute", "minutes")}.`,
  },

  past: {
    title: "Past debates",
    search: "Search",
    status: "Status",
    all: "all",
    none: "No debates yet. The first one will be listed here.",
    noneFound: "None found.",
    more: "Show more",
    waiting: "Waiting for the list of debates…",
    rounds: (rounds: number) => plural(rounds, "round", "rounds"),
  },

  status: { running: "running", waiting: "waits for you", completed: "completed", error: "failed", stopped: "stopped" },

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
    live: "Back to live",
    reconnecting: (attempt: number) => `Reconnecting (${attempt})…`,
    caughtUp: "Connected again. Nothing was missed.",
    progress: "Progress",
    turns: "What was said",
    wentWrong: "That did not work.",
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

  keep: {
    title: "Keep it",
    copy: "Copy as Markdown",
    link: "Copy link",
    copied: "Copied",
    notCopied: "The browser did not allow copying",
    download: "Download",
    formats: { md: "Markdown", json: "JSON", txt: "Plain text" },
  },
};
