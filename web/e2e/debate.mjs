/**
 * Browser checks of the debate page against a running server.
 *
 *   node e2e/debate.mjs [base address] [check,check…]
 *
 * See `support.mjs` for the environment. The server needs only the rule-based model, and limits that allow about twenty debates in a
 * row.
 */
import assert from "node:assert/strict";
import { api, assertAccessible, assertNoHorizontalScroll, base, dropConnections, MARKUP, openPage, recordRun, replayRun, request, runChecks, SLOW, start } from "./support.mjs";

/** Starts a debate through the API and returns its id. */
async function createDebate(body) {
  return start("/api/debate", { format: "debate", detach: true, ...body }, "x-debate-id");
}

async function waitUntilSettled(id) {
  for (let attempts = 0; attempts < 600; attempts++) {
    const debate = await api(`/api/debate/${id}`);
    if (debate.status !== "running") return debate;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`debate ${id} does not end`);
}

const idOf = (page) => new URL(page.url()).pathname.split("/").pop();
const status = (page, name) => page.waitForSelector(`.status-bar .status.is-${name}`, SLOW);

/** Returns the turns on the page without claim markers. */
function shownTurns(page) {
  return page.$$eval(".turn", (turns) =>
    turns.map((turn) => {
      const content = turn.querySelector(".turn-text").cloneNode(true);
      content.querySelectorAll(".claim-marker, .visually-hidden, .caret").forEach((mark) => mark.remove());
      return { name: turn.dataset.speaker, content: content.textContent };
    }),
  );
}

/** Asserts that the page shows the debate that the server returns. */
async function assertMatchesServer(page) {
  const debate = await api(`/api/debate/${idOf(page)}`);
  const agents = ["optimist", "skeptic", "moderator"];
  const expected = debate.messages.slice(1).map(({ name, content }) => ({ name: agents.includes(name) ? name : "you", content }));
  assert.deepEqual(await shownTurns(page), expected);
  const claims = await page.$$eval(".fact-check .claim-text", (elements) => elements.map((element) => element.textContent));
  assert.deepEqual(new Set(claims), new Set(debate.factCheckResults.map(({ claim }) => claim)));
  assert.equal((await page.textContent(".status-bar .label")).trim(), debate.model.label);
  return debate;
}

/** Fills in and submits the form with the keyboard. */
async function submitForm(page, topic, { rounds = 2, approval = 0, factCheck = 0 } = {}) {
  await page.goto(`${base}/debate`);
  await page.waitForSelector("#model option", { state: "attached" });
  for (let presses = 0; presses < 20; presses++) {
    if (await page.evaluate(() => document.activeElement?.id === "topic")) break;
    await page.keyboard.press("Tab");
  }
  await page.keyboard.insertText(topic);
  await page.keyboard.press("Tab");
  await page.keyboard.press("Control+A");
  await page.keyboard.type(String(rounds));
  for (const steps of [approval, factCheck]) {
    await page.keyboard.press("Tab");
    for (let step = 0; step < steps; step++) await page.keyboard.press("ArrowDown");
  }
  await page.keyboard.press("Tab");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/debate\/[^/]+$/, SLOW);
}

/** Returns the ids of the events of a stream until the event `last`. Runs in the page. */
function readWithEventSource({ path, names, last }) {
  return new Promise((resolve) => {
    const ids = [];
    const source = new EventSource(path);
    for (const name of names) {
      source.addEventListener(name, ({ lastEventId }) => {
        ids.push(lastEventId);
        if (lastEventId !== last) return;
        source.close();
        resolve(ids);
      });
    }
  });
}

const checks = {
  async start(browser) {
    const { page, pageErrors } = await openPage(browser);
    await page.goto(`${base}/`);
    await page.waitForSelector(".card");
    assert.equal(await page.locator(".card").count(), 4);
    assert.deepEqual(await page.$$eval(".card a", (links) => links.map((link) => link.getAttribute("href"))), ["/debate", "/scheduler", "/suggestions", "/assistant"]);
    await assertAccessible(page);
    await page.click(".card a[href='/debate']");
    await page.waitForSelector("#topic");
    return pageErrors;
  },

  async keyboard(browser) {
    const { page, pageErrors } = await openPage(browser);
    await submitForm(page, "Should homework be abolished?", { rounds: 2, factCheck: 1 });
    // Some turn is streaming, or all are complete because the agents are fast.
    await page.waitForSelector(".turn .turn-text:not(:empty)", SLOW);
    await status(page, "completed");
    await page.waitForSelector(".share-actions", SLOW);
    const debate = await assertMatchesServer(page);
    assert.equal(debate.maxRounds, 2);
    assert.deepEqual((await shownTurns(page)).map(({ name }) => name), ["optimist", "skeptic", "optimist", "skeptic", "moderator"]);
    assert.equal((await page.textContent(".status-bar .status-text")).trim(), "Round 2 of 2");
    assert.equal(await page.locator(".progress-step.is-done").count(), 5);
    await assertAccessible(page);
    return pageErrors;
  },

  async streaming(browser) {
    const body = { topic: "Is remote work better than the office?", maxRounds: 2, format: "debate" };
    const { id, events } = await recordRun("/api/debate", body, "x-debate-id");
    const running = ({ messages }) => ({ status: "running", lastEventId: 0, messages: messages.slice(0, 1), factCheckResults: [] });
    const proxy = await replayRun({ path: `/api/debate/${id}`, events, running, isPause: (event) => /^event: token$/m.test(event) });
    const { page, pageErrors, context } = await openPage(browser, { at: proxy.url });
    try {
      await page.goto(`${proxy.url}/debate/${id}`);
      await page.waitForSelector(".turn .turn-text:not(:empty)", SLOW);
      assert.equal(await page.locator(".turn").count(), 1, "only the first turn has started");
      const [partial] = await shownTurns(page);
      proxy.resume();
      await status(page, "completed");
      await assertMatchesServer(page);
      const [complete] = await shownTurns(page);
      assert.ok(partial.content.length < complete.content.length, `the turn did not stream: ${partial.content}`);
    } finally {
      await context.close();
      proxy.close();
    }
    return pageErrors;
  },

  /** `EventSource` reads a stream, reconnects by itself with the last event id, and receives every event once. */
  async eventSource(browser) {
    const id = await createDebate({ topic: "Should homework be abolished?", maxRounds: 1 });
    await waitUntilSettled(id);
    const path = `/api/debate/${id}/stream`;
    const text = await (await request(path)).text();
    const field = (name) => [...text.matchAll(new RegExp(`^${name}: (.*)$`, "gm"))].map(([, value]) => value);
    const ids = field("id");
    const proxy = await dropConnections(1, Math.floor(text.length / 2));
    const { page, pageErrors, context } = await openPage(browser, { at: proxy.url, isBroken: true });
    try {
      await page.goto(`${proxy.url}/debate`);
      const received = await page.evaluate(readWithEventSource, { path, names: [...new Set(field("event"))], last: ids.at(-1) });
      assert.deepEqual(received, ids);
      assert.equal(proxy.streams.length, 2, "the first connection was closed");
    } finally {
      await context.close();
      proxy.close();
    }
    return pageErrors;
  },

  async approval(browser) {
    const { page, pageErrors } = await openPage(browser);
    await submitForm(page, "Should city centres be free of cars?", { rounds: 2, approval: 1 });
    await page.waitForSelector(".approval", SLOW);
    await assertAccessible(page);
    assert.equal((await shownTurns(page)).length, 2);
    // `a` focuses the answer button; the note is before it.
    await page.keyboard.press("a");
    await page.keyboard.press("Shift+Tab");
    await page.keyboard.insertText("Think of deliveries <i>too</i>.");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.querySelectorAll(".turn[data-round='2']").length >= 2 && document.querySelector(".approval"), null, SLOW);
    await page.reload();
    await page.waitForSelector(".approval", SLOW);
    assert.ok((await shownTurns(page)).some(({ name, content }) => name === "you" && content === "Think of deliveries <i>too</i>."));
    await page.getByRole("button", { name: "End debate" }).click();
    await status(page, "completed");
    await page.waitForSelector(".turn.is-moderator", SLOW);
    await assertMatchesServer(page);
    return pageErrors;
  },

  /** Two tabs answer the same interrupt: the second gets a conflict and the next interrupt. */
  async concurrentAnswers(browser) {
    const { page, pageErrors, context } = await openPage(browser, { isRejected: true });
    const id = await createDebate({ topic: "Should city centres be free of cars?", maxRounds: 2, approval: "each_round" });
    const other = await context.newPage();
    for (const tab of [page, other]) {
      // Disables polling, so that neither tab sees the answer of the other.
      await tab.addInitScript(() => (window.setInterval = () => 0));
      await tab.goto(`${base}/debate/${id}`);
      await tab.waitForSelector("#approve", SLOW);
    }
    const waitForApproval = (tab) => tab.waitForFunction(() => document.querySelectorAll(".turn[data-round='2']").length >= 2 && document.querySelector("#approve"), null, SLOW);
    await page.bringToFront();
    await page.click("#approve");
    await waitForApproval(page);
    await other.bringToFront();
    const refused = other.waitForResponse((response) => response.url().includes("/approval"), SLOW);
    await other.click("#approve");
    assert.equal((await refused).status(), 409);
    await waitForApproval(other);
    await other.getByRole("button", { name: "End debate" }).click();
    await status(other, "completed");
    await assertMatchesServer(other);
    return pageErrors;
  },

  async reload(browser) {
    const { page, pageErrors } = await openPage(browser);
    const id = await createDebate({ topic: "Should homework be abolished?", maxRounds: 6, factCheck: "each_round" });
    await page.goto(`${base}/debate/${id}`);
    for (let times = 0; times < 3; times++) {
      await page.waitForSelector(".turn", SLOW);
      await page.waitForTimeout(150);
      await page.reload();
    }
    await status(page, "completed");
    await page.waitForSelector(".share-actions", SLOW);
    await assertMatchesServer(page);
    // The browser logs requests that a reload aborts.
    return pageErrors.filter((error) => !/ERR_ABORTED|network/i.test(error));
  },

  async offline(browser) {
    const { page, context } = await openPage(browser);
    const id = await createDebate({ topic: "Is remote work better than the office?", maxRounds: 10 });
    await page.goto(`${base}/debate/${id}`);
    await page.waitForSelector(".status-bar", SLOW);
    // A page that is opened while the server is unreachable retries and shows it.
    await page.route("**/api/debate/*", (route) => route.abort());
    await page.reload();
    await page.waitForSelector(".connection-status.is-reconnecting", SLOW);
    assert.match(await page.textContent(".connection-status"), /Reconnecting \(\d+\)…/);
    await page.unroute("**/api/debate/*");
    await status(page, "completed");
    await assertMatchesServer(page);
    await context.close();
    return [];
  },

  async reconnect(browser) {
    const id = await createDebate({ topic: "Should city centres be free of cars?", maxRounds: 5, factCheck: "each_round", approval: "before_summary" });
    const proxy = await dropConnections(3, 1500);
    const { page, context } = await openPage(browser);
    await page.addInitScript(() => {
      window.lines = [];
      new MutationObserver(() => window.lines.push(document.querySelector(".connection-status")?.textContent)).observe(document, { subtree: true, childList: true, characterData: true });
    });
    try {
      await page.goto(`${proxy.url}/debate/${id}`);
      await page.waitForFunction(() => window.lines.some((text) => text?.startsWith("Reconnecting (")), null, SLOW);
      await page.waitForSelector(".approval", SLOW);
      await page.waitForFunction(() => document.querySelectorAll(".turn").length === 10 && !document.querySelector(".connection-status.is-reconnecting"), null, SLOW);
      for (let attempts = 0; proxy.streams.length < 4 && attempts < 100; attempts++) await page.waitForTimeout(100);
      // Fact checks are sent at once but become part of the state with the answer, so the debate is compared at its end.
      await api(`/api/debate/${id}/approval`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ approved: true }) });
      await status(page, "completed");
      await page.waitForSelector(".share-actions", SLOW);
      await assertMatchesServer(page);
      // The first request starts at 0, the others at the last event id.
      await page.waitForFunction(() => window.lines.some((text) => text?.startsWith("Reconnected")), null, SLOW);
      const offsets = proxy.streams.map((path) => Number(new URL(path, base).searchParams.get("after") ?? 0));
      assert.ok(offsets.length >= 4, `${offsets.length} stream requests`);
      assert.equal(offsets[0], 0);
      assert.ok(offsets.at(-1) > 0 && offsets.every((after, index) => index === 0 || after >= offsets[index - 1]), `requested after ${offsets}`);
    } finally {
      await context.close();
      proxy.close();
    }
    return [];
  },

  async stop(browser) {
    const { page, pageErrors } = await openPage(browser);
    // Only an interrupted debate is certain not to end before it is stopped.
    const id = await createDebate({ topic: "Should city centres be free of cars?", maxRounds: 3, approval: "each_round" });
    await waitUntilSettled(id);
    await page.goto(`${base}/debate/${id}`);
    await page.waitForSelector(".approval", SLOW);
    await page.keyboard.press(".");
    await status(page, "stopped");
    assert.equal((await api(`/api/debate/${id}`)).status, "stopped");
    await page.getByRole("button", { name: "Resume" }).click();
    await page.waitForSelector(".approval, .status-bar .status.is-completed", SLOW);
    const other = await createDebate({ topic: "Should homework be abolished?", maxRounds: 10 });
    await page.goto(`${base}/debate/${other}`);
    await page.waitForSelector(".status-bar", SLOW);
    await page.keyboard.press(".");
    await page.waitForSelector(".status-bar .status.is-stopped, .status-bar .status.is-completed", SLOW);
    if ((await api(`/api/debate/${other}`)).status === "stopped") {
      await page.getByRole("button", { name: "Resume" }).click();
      await status(page, "completed");
    }
    await page.waitForSelector(".share-actions", SLOW);
    await assertMatchesServer(page);
    return pageErrors;
  },

  async list(browser) {
    const { page, pageErrors } = await openPage(browser);
    const topic = `Is ${Date.now().toString(36)} a good name?`;
    const id = await createDebate({ topic, maxRounds: 1 });
    await waitUntilSettled(id);
    await page.goto(`${base}/debate`);
    await page.waitForSelector(".debate-list li", SLOW);
    await page.evaluate(() => document.activeElement?.blur());
    await page.keyboard.press("/");
    await page.keyboard.type(topic.split(" ")[1]);
    await page.waitForFunction(() => document.querySelectorAll(".debate-list li").length === 1, null, SLOW);
    assert.match(await page.textContent(".debate-list li"), /completed/);
    await page.getByLabel("Status").selectOption("error");
    await page.waitForSelector(".debate-list .empty");
    await page.getByLabel("Status").selectOption("completed");
    await page.click(".debate-list li a");
    await page.waitForURL(`${base}/debate/${id}`);
    await status(page, "completed");
    assert.equal(await page.textContent("h1"), topic);
    return pageErrors;
  },

  async share(browser) {
    const { page, pageErrors, context } = await openPage(browser);
    await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: base });
    const id = await createDebate({ topic: "Should homework be abolished?", maxRounds: 1 });
    const debate = await waitUntilSettled(id);
    await page.goto(`${base}/debate/${id}`);
    await page.waitForSelector(".share-actions", SLOW);
    await page.keyboard.press("y");
    await page.waitForFunction(() => document.querySelector(".notice").textContent !== "");
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), `${base}/debate/${id}`);
    await page.keyboard.press("c");
    let copied = "";
    for (let attempts = 0; !copied.includes("\n") && attempts < 50; attempts++) {
      await page.waitForTimeout(100);
      copied = await page.evaluate(() => navigator.clipboard.readText());
    }
    for (const { content } of debate.messages.slice(1)) assert.ok(copied.includes(content.slice(0, 40)), `the copy lacks a turn: ${copied}`);
    assert.ok(copied.includes(debate.model.label), "the copy lacks the label of the model");
    for (const format of ["md", "json", "txt"]) {
      assert.ok((await request(`/api/debate/${id}/transcript?format=${format}`)).ok);
      assert.equal(await page.locator(`.downloads a[href$="format=${format}"]`).count(), 1);
    }
    return pageErrors;
  },

  async errors(browser) {
    const { page, pageErrors } = await openPage(browser, { isRejected: true });
    await page.goto(`${base}/debate`);
    await page.waitForSelector("#topic");
    await page.fill("#maxRounds", "11");
    await page.click(".start-form .primary");
    await page.waitForSelector("#topic[aria-invalid=true]", SLOW);
    assert.equal(await page.getAttribute("#maxRounds", "aria-invalid"), "true");
    assert.match(await page.getAttribute("#topic", "aria-describedby"), /topic-error/);
    assert.ok((await page.textContent("#maxRounds-error")).length > 3);
    await page.waitForFunction(() => document.activeElement?.id === "topic");
    await assertAccessible(page);
    await page.goto(`${base}/debate/00000000-0000-0000-0000-000000000000`);
    await page.waitForSelector("text=Debate not found", SLOW);
    return pageErrors;
  },

  async markup(browser) {
    const { page, pageErrors } = await openPage(browser);
    await submitForm(page, MARKUP, { rounds: 1 });
    await status(page, "completed");
    assert.equal(await page.textContent("h1"), MARKUP);
    assert.equal(await page.locator("main img, main b").count(), 0);
    assert.ok((await page.title()).includes(MARKUP));
    await assertMatchesServer(page);
    await page.goto(`${base}/debate`);
    await page.waitForSelector(".debate-list li", SLOW);
    assert.equal(await page.textContent(".debate-list li a"), MARKUP);
    assert.equal(await page.locator(".debate-list img, .debate-list b").count(), 0);
    return pageErrors;
  },

  async dark(browser) {
    const { page, pageErrors } = await openPage(browser);
    await page.goto(`${base}/debate`);
    await page.waitForSelector(".theme-toggle");
    const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const light = await paper();
    await page.emulateMedia({ colorScheme: "dark" });
    const dark = await paper();
    assert.notEqual(dark, light);
    await page.click(".theme-toggle");
    assert.equal(await paper(), light, "the light theme is selected");
    await page.click(".theme-toggle");
    await page.emulateMedia({ colorScheme: "light" });
    await page.reload();
    await page.waitForSelector(".theme-toggle");
    assert.equal(await paper(), dark, "the dark theme is saved");
    await assertAccessible(page);
    const id = await createDebate({ topic: "Should homework be abolished?", maxRounds: 1, factCheck: "at_end" });
    await waitUntilSettled(id);
    await page.goto(`${base}/debate/${id}`);
    await status(page, "completed");
    await assertAccessible(page);
    return pageErrors;
  },

  async phone(browser) {
    const { page, pageErrors } = await openPage(browser, { viewport: { width: 320, height: 640 }, hasTouch: true, isMobile: true });
    for (const path of ["/", "/debate"]) {
      await page.goto(base + path);
      await page.waitForSelector("h1");
      await assertNoHorizontalScroll(page);
    }
    const id = await createDebate({ topic: `${"Incomprehensibilities".repeat(5)}?`, maxRounds: 10, factCheck: "each_round" });
    await waitUntilSettled(id);
    await page.goto(`${base}/debate/${id}`);
    await status(page, "completed");
    await assertNoHorizontalScroll(page);
    assert.ok(await page.isVisible(".status-bar .label"));
    await assertAccessible(page);
    return pageErrors;
  },

  async shortcuts(browser) {
    const { page, pageErrors } = await openPage(browser);
    await page.goto(`${base}/debate`);
    await page.waitForSelector("#topic");
    await page.keyboard.type("?");
    assert.equal(await page.inputValue("#topic"), "?", "a text field receives the key");
    await page.evaluate(() => document.activeElement?.blur());
    await page.keyboard.press("?");
    await page.waitForSelector("dialog[open]");
    await assertAccessible(page);
    await page.getByLabel("Enable single-key shortcuts").uncheck();
    await page.keyboard.press("Escape");
    await page.evaluate(() => document.activeElement?.blur());
    await page.keyboard.press("?");
    assert.equal(await page.locator("dialog[open]").count(), 0, "shortcuts are disabled");
    return pageErrors;
  },

  async announcements(browser) {
    const { page, pageErrors } = await openPage(browser);
    const id = await createDebate({ topic: "Should city centres be free of cars?", maxRounds: 1, approval: "before_summary" });
    await waitUntilSettled(id);
    await page.goto(`${base}/debate/${id}`);
    await page.waitForSelector(".approval", SLOW);
    const log = page.getByRole("log");
    assert.equal((await log.textContent()).trim(), "", "history is not announced");
    await page.click("#approve");
    await status(page, "completed");
    await page.waitForFunction(() => document.querySelector("[role=log]").textContent.includes("Moderator:"), null, SLOW);
    assert.equal(await log.getAttribute("aria-live"), "polite");
    return pageErrors;
  },
};

await runChecks(checks);
