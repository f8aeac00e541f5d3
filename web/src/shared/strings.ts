/** Texts that several pages share. Each page has its own `strings.ts` for the rest. */

export const plural = (count: number, one: string, many: string) => `${count} ${count === 1 ? one : many}`;

export const text = {
  brand: "superstep",
  skip: "Skip to content",
  theme: { label: "Theme", system: "system", light: "light", dark: "dark" },
  unreachable: "Cannot reach the server. Check that it is running and that you are online.",
  tryAgain: "Try again",
  more: "Show more",
  examples: "Examples",

  field: {
    correctFields: "Please correct the highlighted fields.",
    retryAfter: (seconds: number) => `Try again in ${plural(Math.ceil(seconds / 60), "minute", "minutes")}.`,
    notConfigured: "not configured",
  },

  connection: {
    reconnecting: (attempt: number) => `Reconnecting (${attempt})…`,
    reconnected: "Reconnected.",
    failed: "Something went wrong.",
    backToLive: "Back to live",
  },

  shortcutDialog: {
    title: "Keyboard shortcuts",
    open: "Keyboard shortcuts",
    close: "Close",
    enable: "Enable single-key shortcuts",
    list: [["?", "show this list"], ["Esc", "close the dialog"]] as [string, string][],
  },

  start: {
    title: "Durable agent graphs, live",
    lead: "superstep runs agent graphs whose steps can be saved, stopped and resumed. No account is needed.",
    open: "Open",
    next: "Coming soon",
    apps: [
      { name: "Debate", description: "Two agents debate a topic round by round, and a moderator sums up. Claims can be checked against documents.", href: "/debate" },
      { name: "Scheduler", description: "Type “soccer Saturday 2pm with the car” and add it to the family calendar, with conflicts resolved first.", href: "/scheduler" },
      { name: "Suggestions", description: "Post a question and get a suggested next step, with the document and the passage it comes from.", href: "/suggestions" },
      { name: "Assistant", description: "Ask questions about your data. See the plan, each query and its sources.", href: "/assistant" },
    ] as { name: string; description: string; href?: string }[],
  },

  status: { running: "running", waiting: "needs your answer", completed: "completed", error: "failed", stopped: "stopped" },

  share: {
    title: "Share and export",
    copy: "Copy as Markdown",
    link: "Copy link",
    print: "Print",
    copied: "Copied",
    copyFailed: "The browser blocked copying",
    download: "Download",
    formats: { md: "Markdown", json: "JSON", txt: "Plain text" },
  },
};
