/** Every word that several pages show; the rest stands in the `strings.ts` of its page. */

export const plural = (count: number, one: string, many: string) => `${count} ${count === 1 ? one : many}`;

export const text = {
  brand: "superstep",
  skip: "Skip to the content",
  theme: { label: "Colours", system: "as the system", light: "light", dark: "dark" },
  nobodyThere: "The server does not answer. It may have been stopped, or the network is down.",
  tryAgain: "Try again",
  more: "Show more",
  examples: "Or take one of these:",

  field: {
    seeFields: "Please look at the marked fields.",
    retryAfter: (seconds: number) => `Try again in ${plural(Math.ceil(seconds / 60), "minute", "minutes")}.`,
    notConfigured: "not configured",
  },

  line: {
    reconnecting: (attempt: number) => `Reconnecting (${attempt})…`,
    caughtUp: "Connected again. Nothing was missed.",
    wentWrong: "That did not work.",
    live: "Back to live",
  },

  keys: {
    title: "Keys",
    open: "Keys",
    close: "Close",
    isOn: "Single keys are on",
    list: [["?", "this list"], ["Esc", "close what is open"]] as [string, string][],
  },

  start: {
    title: "Agents you can watch think",
    lead: "superstep runs agent graphs: every step is saved, can be stopped, resumed and looked at. These applications run on it, on this machine, with nothing to sign up for.",
    open: "Open",
    next: "comes next",
    apps: [
      { name: "Debate", line: "Two voices argue a subject round by round, a moderator sums up. Claims are looked up as they are made.", href: "/debate" },
      { name: "Scheduler", line: "Type “soccer Saturday 2pm with the car” and see it land in the family's week, conflicts first.", href: "/scheduler" },
      { name: "Suggestions", line: "A hint for a post, with the document and the paragraph it comes from.", href: "/suggestions" },
      { name: "Assistant", line: "Ask the shop's data: a plan that ticks itself off, numbers with the query behind them.", href: "/assistant" },
    ] as { name: string; line: string; href?: string }[],
  },

  status: { running: "running", waiting: "waits for you", completed: "completed", error: "failed", stopped: "stopped" },

  keep: {
    title: "Keep it",
    copy: "Copy as Markdown",
    link: "Copy link",
    print: "Print",
    copied: "Copied",
    notCopied: "The browser did not allow copying",
    download: "Download",
    formats: { md: "Markdown", json: "JSON", txt: "Plain text" },
  },
};
