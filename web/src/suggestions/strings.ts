/** Texts of the suggestions page. */
import { plural, text as shared } from "../shared/strings";
import { MAX_CHARACTERS, MAX_SENTENCES, MAX_TAG_LENGTH, MAX_TAGS } from "./post-limits";

export const text = {
  ...shared,

  shortcuts: [
    ["n", "new post"],
    ["/", "search everything"],
    [".", "stop searching"],
    ["c", "copy as Markdown"],
    ["y", "copy the link"],
  ] as [string, string][],

  page: "Suggestions",
  allPosts: "All posts",
  title: "What are you stuck on?",
  lead: "Post a question to search documentation, issues, Microsoft 365 and earlier posts. Every query is shown.",

  form: {
    title: "New post",
    text: "Your post",
    counts: (characters: number, sentences: number) => `${characters} of ${MAX_CHARACTERS} characters, ${sentences} of ${MAX_SENTENCES} sentences`,
    tooLong: (over: number) => `${plural(over, "character", "characters")} too many.`,
    tooMany: `; a post can have at most ${MAX_SENTENCES}`,
    empty: "Enter the text of the post.",
    tags: "Tags",
    tagsHint: (tags: number) => `${tags} of ${MAX_TAGS}, separated by commas`,
    tooManyTags: `At most ${MAX_TAGS} tags.`,
    longTag: (tag: string) => `“${tag}” has more than ${MAX_TAG_LENGTH} characters.`,
    mode: "Type",
    ttl: "Expires after",
    ttls: { "1h": "1 hour", "24h": "1 day", "72h": "3 days", "7d": "7 days" },
    author: "Your name",
    authorHint: "Optional",
    submit: "Post and search",
    submitting: "Posting…",
    waiting: "Saving the post…",
    failed: "The post could not be saved.",
    examplePosts: ["How do I roll back a failed AKS deployment?", "Who can show me how to read slow queries?", "Where is the runbook for a full disk?"],
  },

  modes: { question: "question", offer: "offer", event: "event" },

  list: {
    title: "Posts",
    mode: "Type",
    tag: "Tag",
    all: "all",
    none: "No posts yet. New posts appear here.",
    noneFound: "No matching posts.",
    waiting: "Loading posts…",
    tagged: (tag: string) => `Show only posts tagged ${tag}`,
    clearTag: "Show all tags",
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
    results: (query: string) => `Results for “${query}”`,
    waiting: "Still searching…",
  },

  postPage: {
    missing: "Post not found. It may have expired.",
    loading: "Loading the post…",
    notListed: "The post is no longer listed.",
    phase: { planning: "Planning the search…", searching: "Searching…", hint: "Writing the next step…" },
    status: { searching: "searching", done: "done", stopped: "stopped" },
    stop: "Stop",
    restart: "Search again",
    stopped: "Search stopped.",
    hint: "Next step",
    noHint: "No suggestion: no results found.",
    found: "Results",
    nothing: "No results. The queries are listed below.",
    model: "Planner",
    announcement: (count: number, hint: string) => `${plural(count, "result", "results")} found. ${hint}`,
  },

  source: {
    docs: "Documentation",
    issues: "Issues",
    m365: "Microsoft 365",
    posts: "Earlier posts",
    count: (count: number) => plural(count, "result", "results"),
    empty: "No results.",
    searching: "searching…",
    unavailable: "unavailable",
    noReason: "No reason given.",
    noLongerAvailable: "no longer available",
    kinds: { onedrive: "OneDrive", sharepoint: "SharePoint", email: "E-mail" },
  },

  warnings: "Warnings",

  queries: {
    title: "Queries",
    none: "No queries were run.",
    state: { running: "searching", ok: "found", empty: "no results", error: "failed" },
    found: (count: number) => `${count} found`,
  },
};
