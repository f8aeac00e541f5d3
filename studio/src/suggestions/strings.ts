/** Every word the suggestions page shows, and those it shares. */
import { plural, text as shared } from "../shared/strings";
import { LONGEST_TAG, MOST_CHARACTERS, MOST_SENTENCES, MOST_TAGS } from "./count";

export const text = {
  ...shared,

  pressed: [
    ["n", "new post"],
    ["/", "search everything"],
    [".", "stop searching"],
    ["c", "copy as Markdown"],
    ["y", "copy the link"],
  ] as [string, string][],

  page: "Suggestions",
  fresh: "All posts",
  title: "What are you stuck on?",
  lead: "Post it. Documentation, issues, Microsoft 365 and earlier posts are searched at once, and you see every query that was tried.",

  form: {
    title: "New post",
    text: "Your post",
    counts: (characters: number, sentences: number) => `${characters} of ${MOST_CHARACTERS} characters, ${sentences} of ${MOST_SENTENCES} sentences`,
    tooLong: (over: number) => `${plural(over, "character", "characters")} too many.`,
    tooMany: `; a post with more than ${MOST_SENTENCES} is refused`,
    empty: "Write a sentence first.",
    tags: "Tags",
    tagsHint: (tags: number) => `${tags} of ${MOST_TAGS}, parted by commas`,
    tooManyTags: `At most ${MOST_TAGS} tags.`,
    longTag: (tag: string) => `“${tag}” has more than ${LONGEST_TAG} characters.`,
    mode: "Kind",
    ttl: "Shown for",
    lives: { "1h": "1 hour", "24h": "1 day", "72h": "3 days", "7d": "7 days" },
    author: "Your name",
    authorHint: "Optional",
    submit: "Post and search",
    submitting: "Posting…",
    waiting: "Still waiting for the server to take the post…",
    failed: "The post was not taken.",
    examplePosts: ["How do I roll back a failed AKS deployment?", "Who can show me how to read slow queries?", "Where is the runbook for a full disk?"],
  },

  modes: { question: "question", offer: "offer", event: "event" },

  list: {
    title: "Posts",
    mode: "Kind",
    tag: "Tag",
    all: "all",
    none: "No posts yet. The first one will be listed here.",
    noneFound: "No post fits.",
    waiting: "Waiting for the list of posts…",
    tagged: (tag: string) => `Only posts with the tag ${tag}`,
    noTag: "Show all tags",
  },

  post: {
    by: (name: string) => `by ${name}`,
    expires: (when: string) => `expires ${when}`,
    expired: "expired",
    interested: "Interested",
    join: "Join",
    people: (count: number) => plural(count, "person", "people"),
    tags: "Tags",
  },

  search: {
    label: "Search everything",
    results: (query: string) => `Found for “${query}”`,
    waiting: "Still searching…",
    clear: "Back to the posts",
  },

  room: {
    missing: "This post does not exist, or has expired.",
    loading: "Waiting for the server to hand over the post…",
    notListed: "The post itself is no longer listed.",
    phase: { planning: "Choosing what to search for…", searching: "Searching…", hint: "Writing the hint…" },
    status: { searching: "searching", done: "done", stopped: "stopped" },
    stop: "Stop",
    again: "Search again",
    stopped: "The search was stopped.",
    hint: "Next step",
    noHint: "No hint: nothing was found that it could name.",
    found: "What was found",
    nothing: "Nothing was found in any source. The queries that were tried stand below.",
    model: "Planner",
    spoken: (count: number, hint: string) => `${plural(count, "result", "results")} found. ${hint}`,
  },

  source: {
    docs: "Documentation",
    issues: "Issues",
    m365: "Microsoft 365",
    posts: "Earlier posts",
    count: (count: number) => plural(count, "result", "results"),
    empty: "Nothing found here.",
    searching: "searching…",
    unavailable: "not searched",
    noReason: "The server gave no reason.",
    gone: "no longer available",
    kinds: { onedrive: "OneDrive", sharepoint: "SharePoint", email: "E-mail" },
  },

  warnings: "Warnings",

  tried: {
    title: "Queries tried",
    none: "No query was tried.",
    state: { running: "searching", ok: "found", empty: "nothing found", error: "failed" },
    found: (count: number) => `${count} found`,
  },
};
