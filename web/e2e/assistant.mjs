/**
 * Browser checks of the assistant page against a running server.
 *
 *   node e2e/assistant.mjs [base address] [check,check…]
 *
 * See `support.mjs` for the environment. The server needs only its sample data. Situations that the rule model does not create on
 * demand are mocked: destructive calls, and runs that last until they are stopped.
 */
import assert from "node:assert/strict";
import { api, assertAccessible, assertNoHorizontalScroll, base, delayResponses, dropConnections, MARKUP, openPage, recordRun, replayRun, request, runChecks, SLOW, start } from "./support.mjs";

const LATE = "How many orders shipped late in October?";
const MILLER = "Orders of Miller";

/** Returns the default user. */
async function defaultUser() {
  return (await api("/api/assistant/settings")).users[0].id;
}

/** Starts a conversation through the API and returns its id. */
async function createSession(message, userId) {
  return start("/api/assistant", { message, userId: userId ?? (await defaultUser()), detach: true }, "x-thread-id");
}

/** Returns a conversation as its owner sees it. */
async function fetchSession(id, userId) {
  return api(`/api/assistant/${id}?userId=${encodeURIComponent(userId ?? (await defaultUser()))}`);
}

async function waitUntilSettled(id, userId) {
  for (let tries = 0; tries < 600; tries++) {
    const session = await fetchSession(id, userId);
    if (session.status !== "running") return session;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`conversation ${id} does not end`);
}

const idOf = (page) => decodeURIComponent(new URL(page.url()).pathname.split("/").pop());
const status = (page, name) => page.waitForSelector(`.status-bar .status.is-${name}`, SLOW);

/** Returns all stored events of a conversation. */
async function fetchEvents(id) {
  const text = await (await request(`/api/assistant/${id}/stream?userId=${encodeURIComponent(await defaultUser())}`)).text();
  return [...text.matchAll(/^data: (.*)$/gm)].map((match) => JSON.parse(match[1]));
}

/** Removes Markdown syntax: link URLs, list numbers, and everything but letters and digits. */
const lettersOnly = (text) => text.replace(/\]\((?:[^()]|\([^()]*\))*\)/g, "]").replace(/^\s*\d+[.)]\s/gm, "").replace(/[^\p{L}\p{N}]+/gu, "");

/** Asserts that the page shows the conversation that the server returns. */
async function assertMatchesServer(page) {
  const id = idOf(page);
  const session = await waitUntilSettled(id);
  const answers = session.messages.filter(({ role }) => role === "assistant");
  assert.deepEqual((await page.locator(".answer .markdown").allTextContents()).map(lettersOnly), answers.map(({ text }) => lettersOnly(text)));
  const actual = await page.$$eval(".user-message h2, .user-message .follow-up", (elements) => elements.map((element) => element.lastChild.textContent));
  assert.deepEqual(actual, session.messages.filter(({ role }) => role === "user").map(({ text }) => text));
  // Every citation links to a source of the server.
  const targets = await page.$$eval("a.citation", (elements) => elements.map((link) => document.querySelector(link.getAttribute("href"))?.textContent ?? null));
  assert.ok(!targets.includes(null), "a citation has no source");
  assert.equal(await page.locator(".source-list li").count(), answers.flatMap(({ references }) => references ?? []).length);
  assert.equal((await page.textContent(".status-bar .label")).trim(), session.model.label);
  const events = await fetchEvents(id);
  const retries = events.filter(({ event, data }) => event === "on_custom_event" && data.status === "planning_retry").length;
  assert.equal(await page.locator(".note.is-planning_retry").count(), retries, "number of retry notes");
  return session;
}

/** Submits a message with the keyboard. */
async function submitMessage(page, message, origin = base) {
  await page.goto(`${origin}/assistant`);
  await page.waitForSelector("#user option", { state: "attached", ...SLOW });
  await page.focus("#message");
  await page.keyboard.insertText(message);
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/assistant\/[^/]+$/, SLOW);
}

/** Mocks a conversation and records what is posted to it. */
async function mockSession(page, overrides) {
  const posted = [];
  const session = {
    sessionId: "put-on", userId: await defaultUser(), status: "running", messages: [{ role: "user", text: "Forget my units" }], plan: [], waiting: null, summary: "",
    model: { name: "local/rules", kind: "rules", label: "rule-based, no language model" }, lastEventId: 0, ...overrides,
  };
  await page.route("**/api/assistant/put-on**", async (route) => {
    const { pathname, searchParams } = new URL(route.request().url());
    if (searchParams.get("userId") !== session.userId) return route.fulfill({ status: 403, body: "{}" });
    const action = /\/(answer|stop)$/.exec(pathname)?.[1];
    if (action) {
      posted.push([action, route.request().postDataJSON()]);
      session.status = action === "stop" ? "stopped" : "completed";
      session.waiting = null;
      if (action === "answer") session.messages = [...session.messages, { role: "assistant", text: "Done." }];
      return route.fulfill({ status: 202, body: "" });
    }
    if (!pathname.endsWith("/stream")) return route.fulfill({ json: session });
    // The stream stays silent while the run is in progress and the page is open.
    while (session.status === "running" && !page.isClosed()) await new Promise((resolve) => setTimeout(resolve, 50));
    return route.fulfill({ contentType: "text/event-stream", body: ": end of stream\n\n" }).catch(() => {});
  });
  await page.goto(`${base}/assistant/put-on`);
  return posted;
}

/** Replays a run, paused after the first event that `isPause` selects. `check` gets the page and a function that resumes the replay. */
async function replaySession(browser, isPause, check) {
  const { id, events } = await recordRun("/api/assistant", { message: LATE, userId: await defaultUser() }, "x-thread-id");
  const running = ({ messages }) => ({ status: "running", lastEventId: 0, plan: [], messages: messages.filter(({ role }) => role === "user") });
  const proxy = await replayRun({ path: `/api/assistant/${id}`, events, running, isPause });
  const { page, pageErrors, context } = await openPage(browser, { at: proxy.url });
  try {
    await page.goto(`${proxy.url}/assistant/${id}`);
    await check(page, proxy.resume);
  } finally {
    await context.close();
    proxy.close();
  }
  return pageErrors;
}

const checks = {
  async newSession(browser) {
    const { page, pageErrors } = await openPage(browser);
    const settings = await api("/api/assistant/settings");
    await page.goto(`${base}/assistant`);
    await page.waitForSelector(".examples button", SLOW);
    assert.deepEqual(await page.locator(".examples button").allTextContents(), settings.examples);
    assert.equal(await page.locator("#user option").count(), settings.users.length);
    await page.click(".examples button");
    assert.equal(await page.inputValue("#message"), settings.examples[0]);
    await page.fill("#message", " ");
    await page.keyboard.press("Enter");
    await page.waitForSelector("#message[aria-invalid=true]");
    await assertAccessible(page);
    return pageErrors;
  },

  async streaming(browser) {
    const proxy = await delayResponses(250);
    const { page, pageErrors, context } = await openPage(browser, { at: proxy.url });
    await page.addInitScript(() => {
      window.states = new Set();
      new MutationObserver(() => document.querySelectorAll(".step").forEach((element) => window.states.add(element.dataset.state))).observe(document, { subtree: true, childList: true, attributes: true });
    });
    try {
      await submitMessage(page, LATE, proxy.url);
      await page.waitForSelector(".step", SLOW);
      await status(page, "completed");
      await page.waitForSelector(".source-list", SLOW);
      await page.waitForSelector(".note.is-verified", SLOW);
      const session = await assertMatchesServer(page);
      assert.ok(session.messages.at(-1).references.length > 0, "the answer has sources");
      // Steps are described in words, and their SQL can be expanded.
      const step = page.locator(".step[data-tool=bq_query]").last();
      const descriptions = await page.locator(".step > details > summary .step-description").allTextContents();
      assert.ok(descriptions.length > 0 && descriptions.every((element) => element.length > 0 && !/\b(select|from|where|substr)\b|[<>=]/i.test(element)), `a plan of ${descriptions}`);
      assert.ok(!(await step.locator("pre").first().isVisible()), "the query is collapsed");
      await step.locator("summary").first().click();
      assert.ok(!(await step.locator(".step-query pre").first().isVisible()), "the output is shown before the query");
      await step.locator(".step-query summary").click();
      assert.match(await step.locator(".step-query pre").first().innerText(), /SELECT/i);
      await page.locator("a.citation").first().click();
      assert.equal(await page.locator(".source-list li:target").count(), 1);
      await assertAccessible(page);
      const states = await page.evaluate(() => [...window.states]);
      assert.ok(states.includes("done"), `step states: ${states}`);
    } finally {
      await context.close();
      proxy.close();
    }
    return pageErrors;
  },

  async partialAnswer(browser) {
    const isAnswerChunk = (event) => /^event: on_chat_model_stream$/m.test(event) && event.includes('"generator"');
    return replaySession(browser, isAnswerChunk, async (page, resume) => {
      await page.waitForSelector(".answer .markdown:not(:empty)", SLOW);
      const partial = await page.textContent(".answer .markdown");
      assert.equal(await page.locator(".status-bar .status.is-running").count(), 1);
      resume();
      await status(page, "completed");
      await page.waitForSelector(".source-list", SLOW);
      await assertMatchesServer(page);
      const complete = await page.textContent(".answer .markdown");
      assert.ok(partial.length < complete.length, `the answer did not stream: ${partial}`);
    });
  },

  async runningStep(browser) {
    return replaySession(browser, (event) => /^event: on_tool_start$/m.test(event), async (page, resume) => {
      await page.waitForSelector(".step[data-state=running]", SLOW);
      resume();
      await status(page, "completed");
      await page.waitForFunction(() => document.querySelectorAll(".step[data-state=done]").length > 0, null, SLOW);
      assert.equal(await page.locator(".step[data-state=running]").count(), 0);
    });
  },

  async conversation(browser) {
    const { page, pageErrors } = await openPage(browser);
    const id = await createSession(LATE);
    await waitUntilSettled(id);
    await page.goto(`${base}/assistant/${id}`);
    await status(page, "completed");
    await page.keyboard.press("/");
    await page.keyboard.insertText("Thanks!");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.querySelectorAll(".turn[data-status=completed] .answer").length === 2, null, SLOW);
    await assertMatchesServer(page);
    await page.waitForSelector(`.sessions a[aria-current=page]`, { state: "attached", ...SLOW });
    return pageErrors;
  },

  async reload(browser) {
    const { page, pageErrors } = await openPage(browser);
    const id = await createSession(LATE);
    await page.goto(`${base}/assistant/${id}`);
    for (let times = 0; times < 3; times++) {
      await page.waitForSelector(".turn", SLOW);
      await page.waitForTimeout(150);
      await page.reload();
    }
    await status(page, "completed");
    await page.waitForSelector(".step", SLOW);
    await page.waitForSelector(".source-list", SLOW);
    await assertMatchesServer(page);
    assert.equal(await page.locator(".turn").count(), 1);
    // The browser logs requests that a reload aborts.
    return pageErrors.filter((error) => !/ERR_ABORTED|network/i.test(error));
  },

  async reconnect(browser) {
    const id = await createSession(LATE);
    const proxy = await dropConnections(2, 1500);
    const { page, pageErrors, context } = await openPage(browser, { at: proxy.url, isBroken: true });
    try {
      await page.goto(`${proxy.url}/assistant/${id}`);
      await page.waitForSelector(".connection-status.is-reconnecting", SLOW);
      await status(page, "completed");
      await page.waitForSelector(".source-list", SLOW);
      await page.waitForFunction(() => !document.querySelector(".connection-status.is-reconnecting"), null, SLOW);
      await assertMatchesServer(page);
      const actual = proxy.streams.map((path) => Number(new URL(path, base).searchParams.get("after") ?? 0));
      assert.equal(actual[0], 0);
      assert.ok(actual.at(-1) > 0 && actual.every((after, index) => index === 0 || after >= actual[index - 1]), `requested after ${actual}`);
    } finally {
      await context.close();
      proxy.close();
    }
    return pageErrors;
  },

  async clarification(browser) {
    const { page, pageErrors } = await openPage(browser);
    await submitMessage(page, MILLER);
    await page.waitForSelector(".choices", SLOW);
    const { waiting: question } = await fetchSession(idOf(page));
    assert.equal(await page.locator(".choices button").count(), question.choices.length);
    await assertAccessible(page);
    await page.reload();
    await page.waitForSelector(".choices", SLOW);
    await page.keyboard.press("2");
    await status(page, "completed");
    await page.waitForSelector(".answer", SLOW);
    await assertMatchesServer(page);
    assert.equal(await page.locator(".turn").count(), 1, "question and answer are one turn");
    return pageErrors;
  },

  async approval(browser) {
    const { page, pageErrors } = await openPage(browser);
    const value = { id: "q7", kind: "approval", tool: "forget_memory", arguments: { key: "unit" }, effect: "Deletes one fact." };
    const interrupt = { status: "waiting", waiting: value };
    const buttons = { "Allow once": { decision: "allow_once" }, "Allow for this session": { decision: "allow_session" }, Deny: { decision: "deny" } };
    // The latest mock responds. Older ones stay registered for late requests of the page.
    for (const [name, decision] of Object.entries(buttons)) {
      const posted = await mockSession(page, interrupt);
      await page.getByRole("button", { name, exact: true }).click(SLOW);
      await status(page, "completed");
      assert.deepEqual(posted, [["answer", { questionId: "q7", answer: decision }]]);
    }
    const posted = await mockSession(page, interrupt);
    await page.waitForSelector(".approval", SLOW);
    await page.keyboard.press("a");
    assert.equal(await page.evaluate(() => document.activeElement?.id), "allow");
    await page.getByRole("button", { name: "Change arguments" }).click();
    await page.fill("#arguments", "{");
    await page.click("#allow");
    await page.waitForSelector("#arguments[aria-invalid=true]");
    await assertAccessible(page);
    await page.fill("#arguments", "{\"key\": \"zone\"}");
    await page.click("#allow");
    await status(page, "completed");
    assert.deepEqual(posted, [["answer", { questionId: "q7", answer: { decision: "change", arguments: { key: "zone" } } }]]);
    return pageErrors;
  },

  /** A call with an unknown outcome has its own title and only the decisions that the server allows. */
  async unknownOutcome(browser) {
    const { page, pageErrors } = await openPage(browser);
    const why = "whether `forget_memory` was carried out is not known: the process ended while it ran";
    const value = {
      id: "q8", kind: "approval", tool: "forget_memory", arguments: { key: "unit" }, effect: "Runs it once more.",
      why, outcome: "unknown", decisions: ["allow_once", "deny"],
    };
    const posted = await mockSession(page, { status: "waiting", waiting: value });
    await page.waitForSelector(".approval", SLOW);
    assert.match(await page.textContent("#interrupt-title"), /may already have run/);
    assert.ok((await page.textContent(".approval")).includes(why));
    assert.deepEqual(await page.locator(".approval button").allTextContents(), ["Run it again", "Do not run it again"]);
    await assertAccessible(page);
    await page.getByRole("button", { name: "Do not run it again" }).click(SLOW);
    await status(page, "completed");
    assert.deepEqual(posted, [["answer", { questionId: "q8", answer: { decision: "deny" } }]]);
    return pageErrors;
  },

  /** Two tabs answer the same interrupt: the second gets a conflict and the new state. */
  async concurrentAnswers(browser) {
    const { page, pageErrors, context } = await openPage(browser, { isRejected: true });
    const id = await createSession(MILLER);
    const { waiting: question } = await waitUntilSettled(id);
    const other = await context.newPage();
    for (const tab of [page, other]) {
      // Disables polling, so that neither tab sees the answer of the other.
      await tab.addInitScript(() => (window.setInterval = () => 0));
      await tab.goto(`${base}/assistant/${id}`);
      await tab.waitForSelector(".choices", SLOW);
    }
    await page.bringToFront();
    await page.locator(".choices button").nth(1).click();
    await status(page, "completed");
    await other.bringToFront();
    const refused = other.waitForResponse((response) => response.url().includes("/answer"), SLOW);
    await other.locator(".choices button").first().click();
    assert.equal((await refused).status(), 409);
    await status(other, "completed");
    const session = await assertMatchesServer(other);
    assert.equal(session.messages.filter(({ role }) => role === "user").at(-1).text, question.choices[1]);
    return pageErrors;
  },

  /** A conversation is visible only to its owner, whichever user was selected before. */
  async owner(browser) {
    const { page, pageErrors } = await openPage(browser, { isRejected: true });
    const { users } = await api("/api/assistant/settings");
    const { id: userId } = users.at(-1);
    const id = await createSession("Thanks!", userId);
    const session = await waitUntilSettled(id, userId);
    await page.goto(`${base}/assistant/${id}`);
    await page.waitForSelector("text=You do not have access", SLOW);
    assert.equal(await page.locator(".turn").count(), 0);
    await assertAccessible(page);
    await page.selectOption("#user", userId);
    await status(page, "completed");
    assert.equal(lettersOnly(await page.textContent(".answer .markdown")), lettersOnly(session.messages.at(-1).text));
    assert.equal(await page.inputValue("#user"), userId);
    const userSettings = await api(`/api/assistant/settings?userId=${encodeURIComponent(userId)}`);
    await page.waitForFunction((count) => document.querySelectorAll(".tools li").length === count, userSettings.tools.length, SLOW);
    assert.deepEqual(await page.locator(".tools code").allTextContents(), userSettings.tools.map(({ name }) => name));
    return pageErrors;
  },

  async stop(browser) {
    const { page, pageErrors } = await openPage(browser);
    const id = await createSession(MILLER);
    await waitUntilSettled(id);
    await page.goto(`${base}/assistant/${id}`);
    await page.waitForSelector(".choices", SLOW);
    await page.keyboard.press(".");
    await status(page, "stopped");
    assert.equal((await fetchSession(id)).status, "stopped");
    const posted = await mockSession(page, { status: "running" });
    await status(page, "running");
    await page.keyboard.press(".");
    await status(page, "stopped");
    assert.deepEqual(posted, [["stop", {}]]);
    return pageErrors;
  },

  async memory(browser) {
    const { page, pageErrors } = await openPage(browser);
    // Mocked, because the facts depend on earlier messages.
    let facts = [{ key: "unit", text: "Prefers kilograms.", source: "message 3", date: "2026-10-01T00:00:00Z" }, { key: "team", text: MARKUP, source: null, date: null }];
    await page.route("**/api/assistant/memory**", (route) => {
      if (route.request().method() !== "DELETE") return route.fulfill({ json: { facts } });
      const key = decodeURIComponent(new URL(route.request().url()).pathname.split("/").pop());
      facts = facts.filter((fact) => fact.key !== key);
      return route.fulfill({ status: 204, body: "" });
    });
    await page.goto(`${base}/assistant`);
    await page.waitForSelector(".memory li", SLOW);
    assert.equal(await page.locator(".memory img, .memory b").count(), 0);
    await page.getByRole("button", { name: "Forget: Prefers kilograms." }).click();
    await page.waitForFunction(() => document.querySelectorAll(".memory li").length === 1);
    assert.deepEqual(facts.map(({ key }) => key), ["team"]);
    await assertAccessible(page);
    // The real list can be loaded.
    await api(`/api/assistant/memory?userId=${encodeURIComponent(await defaultUser())}`);
    return pageErrors;
  },

  async share(browser) {
    const { page, pageErrors, context } = await openPage(browser);
    await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: base });
    const id = await createSession(LATE);
    const session = await waitUntilSettled(id);
    await page.goto(`${base}/assistant/${id}`);
    await page.waitForSelector(".share-actions", SLOW);
    await page.waitForSelector(".step", SLOW);
    await page.keyboard.press("y");
    await page.waitForFunction(() => document.querySelector(".share-actions .notice").textContent !== "");
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), `${base}/assistant/${id}`);
    await page.keyboard.press("c");
    await page.waitForFunction(async () => (await navigator.clipboard.readText()).includes("\n"), null, SLOW);
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    assert.ok(copied.includes(session.messages.at(-1).text.trim()) && copied.includes(LATE), "the copy lacks the question or the answer");
    assert.ok(copied.includes(session.model.label), "the copy lacks the label of the model");
    return pageErrors;
  },

  async errors(browser) {
    const { page, pageErrors } = await openPage(browser, { isRejected: true });
    await page.goto(`${base}/assistant/00000000-0000-0000-0000-000000000000`);
    await page.waitForSelector("text=Conversation not found", SLOW);
    await assertAccessible(page);
    await page.goto(`${base}/assistant`);
    await page.waitForSelector("#user option", { state: "attached", ...SLOW });
    await page.fill("#message", "x".repeat(40_000));
    await page.click(".composer .primary");
    await page.waitForSelector(".problem", SLOW);
    assert.ok((await page.textContent(".problem")).length > 30, "shows the error");
    return pageErrors;
  },

  async markup(browser) {
    const { page, pageErrors } = await openPage(browser);
    await submitMessage(page, MARKUP);
    await page.waitForSelector(".status-bar .status.is-completed, .approval", SLOW);
    assert.equal(await page.$eval(".user-message h2", (element) => element.lastChild.textContent), MARKUP);
    assert.equal(await page.locator("main img, main b").count(), 0);
    assert.notEqual(await page.title(), "pwned");
    return pageErrors;
  },

  async dark(browser) {
    const { page, pageErrors } = await openPage(browser, { colorScheme: "dark" });
    await page.goto(`${base}/assistant`);
    await page.waitForSelector(".examples button", SLOW);
    await assertAccessible(page);
    const id = await createSession(LATE);
    await waitUntilSettled(id);
    await page.goto(`${base}/assistant/${id}`);
    await page.waitForSelector(".source-list", SLOW);
    await page.waitForSelector(".step", SLOW);
    await assertAccessible(page);
    return pageErrors;
  },

  async phone(browser) {
    const { page, pageErrors } = await openPage(browser, { viewport: { width: 320, height: 640 }, hasTouch: true, isMobile: true });
    await page.goto(`${base}/assistant`);
    await page.waitForSelector(".examples button", SLOW);
    await assertNoHorizontalScroll(page);
    const id = await createSession(LATE);
    await waitUntilSettled(id);
    await page.goto(`${base}/assistant/${id}`);
    await page.waitForSelector(".source-list", SLOW);
    await page.waitForSelector(".step", SLOW);
    for (const summary of await page.locator(".step summary").all()) await summary.click();
    await assertNoHorizontalScroll(page);
    assert.ok(await page.isVisible(".status-bar .label"));
    await assertAccessible(page);
    return pageErrors;
  },
};

await runChecks(checks);
