/**
 * The assistant page from end to end, in a browser, against a running server.
 *
 *   node e2e/assistant.mjs [base address] [check,check…]
 *
 * See `support.mjs` for the environment. INSTANT=1: answers are there before a page can hear their words one by one, so only the plan
 * is seen to grow. The server needs nothing but the sample it comes with. What is put on is what rules do not do on demand: to plan
 * something destructive, and to run for as long as it takes to stop them.
 */
import assert from "node:assert/strict";
import { api, assertAccessible, assertNoSideways, base, brittle, MARKUP, open, runChecks, slow, SLOW } from "./support.mjs";

const LATE = "How many orders shipped late in October?";
const MILLER = "Orders of Miller";

/** Who asks when a check does not care. */
async function anyone() {
  return (await api("/api/assistant/settings")).users[0].id;
}

/** Asks behind the page's back; gives the id of the conversation. */
async function begin(message, userId) {
  const response = await fetch(`${base}/api/assistant`, {
    method: "POST",
    headers: { "Content-Type": "application/json", Accept: "text/event-stream" },
    body: JSON.stringify({ message, userId: userId ?? (await anyone()), detach: true }),
  });
  assert.ok(response.ok, `POST /api/assistant: ${response.status} ${response.ok ? "" : await response.text()}`);
  await response.body.cancel();
  return response.headers.get("x-thread-id");
}

/** How a conversation stands, for whoever began it. */
async function sessionOf(id, userId) {
  return api(`/api/assistant/${id}?userId=${encodeURIComponent(userId ?? (await anyone()))}`);
}

async function settled(id, userId) {
  for (let tries = 0; tries < 600; tries++) {
    const session = await sessionOf(id, userId);
    if (session.status !== "running") return session;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`conversation ${id} does not come to an end`);
}

const idOf = (page) => decodeURIComponent(new URL(page.url()).pathname.split("/").pop());
const status = (page, name) => page.waitForSelector(`.bar .status.is-${name}`, SLOW);

/** All events of a conversation, as they are stored. */
async function eventsOf(id) {
  const text = await (await fetch(`${base}/api/assistant/${id}/stream?userId=${encodeURIComponent(await anyone())}`)).text();
  return [...text.matchAll(/^data: (.*)$/gm)].map((match) => JSON.parse(match[1]));
}

/** Letters and digits only: what Markdown adds is neither, but for the addresses of links. */
const plain = (text) => text.replace(/\]\((?:[^()]|\([^()]*\))*\)/g, "]").replace(/^\s*\d+[.)]\s/gm, "").replace(/[^\p{L}\p{N}]+/gu, "");

/** The page and the server tell the same conversation. */
async function assertSame(page) {
  const id = idOf(page);
  const session = await settled(id);
  const answers = session.messages.filter(({ role }) => role === "assistant");
  assert.deepEqual((await page.locator(".answer .markdown").allTextContents()).map(plain), answers.map(({ text }) => plain(text)));
  const asked = await page.$$eval(".asked h2, .asked .also", (all) => all.map((one) => one.lastChild.textContent));
  assert.deepEqual(asked, session.messages.filter(({ role }) => role === "user").map(({ text }) => text));
  // Every number that is shown as a link leads to a source that the server gave.
  const targets = await page.$$eval("a.ref", (all) => all.map((link) => document.querySelector(link.getAttribute("href"))?.textContent ?? null));
  assert.ok(!targets.includes(null), "a reference leads nowhere");
  assert.equal(await page.locator(".cited li").count(), answers.flatMap(({ references }) => references ?? []).length);
  assert.equal((await page.textContent(".bar .label")).trim(), session.model.label);
  const events = await eventsOf(id);
  const retries = events.filter(({ event, data }) => event === "on_custom_event" && data.status === "planning_retry").length;
  assert.equal(await page.locator(".note.is-planning_retry").count(), retries, "second tries");
  return session;
}

/** With keys only: the field has the focus, Enter sends. */
async function order(page, message, at = base) {
  await page.goto(`${at}/assistant`);
  await page.waitForSelector("#user option", { state: "attached", ...SLOW });
  await page.focus("#message");
  await page.keyboard.insertText(message);
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/assistant\/[^/]+$/, SLOW);
}

/** A conversation that stands like this, and takes down what is posted to it: where, as whom, and what. */
async function putOn(page, stands) {
  const posted = [];
  const session = {
    sessionId: "put-on", userId: await anyone(), status: "running", messages: [{ role: "user", text: "Forget my units" }], plan: [], waiting: null, summary: "",
    model: { name: "local/rules", kind: "rules", label: "rule-based, no language model" }, lastEventId: 0, ...stands,
  };
  await page.route("**/api/assistant/put-on**", async (route) => {
    const { pathname, searchParams } = new URL(route.request().url());
    if (searchParams.get("userId") !== session.userId) return route.fulfill({ status: 403, body: "{}" });
    const what = /\/(answer|stop)$/.exec(pathname)?.[1];
    if (what) {
      posted.push([what, route.request().postDataJSON()]);
      session.status = what === "stop" ? "stopped" : "completed";
      session.waiting = null;
      if (what === "answer") session.messages = [...session.messages, { role: "assistant", text: "Done." }];
      return route.fulfill({ status: 202, body: "" });
    }
    if (!pathname.endsWith("/stream")) return route.fulfill({ json: session });
    // A stream says nothing for as long as the run goes on.
    while (session.status === "running") await new Promise((resolve) => setTimeout(resolve, 50));
    return route.fulfill({ contentType: "text/event-stream", body: ": the end\n\n" });
  });
  await page.goto(`${base}/assistant/put-on`);
  return posted;
}

const checks = {
  async lobby(browser) {
    const { page, faults } = await open(browser);
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
    return faults;
  },

  async ask(browser) {
    const line = await slow(250);
    const { page, faults, context } = await open(browser, { at: line.address });
    await page.addInitScript(() => {
      window.states = new Set();
      window.lengths = new Set();
      new MutationObserver(() => {
        document.querySelectorAll(".step").forEach((one) => window.states.add(one.dataset.state));
        window.lengths.add(document.querySelector(".answer .markdown")?.textContent.length ?? 0);
      }).observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
    });
    let looked;
    page.on("response", (response) => {
      if (/\/api\/assistant\/(?!memory|settings)[^/?]+\?/.test(response.url())) looked ??= response.json();
    });
    try {
      await order(page, LATE, line.address);
      await page.waitForSelector(".step", SLOW);
      await status(page, "completed");
      await page.waitForSelector(".cited", SLOW);
      await page.waitForSelector(".note.is-verified", SLOW);
      const session = await assertSame(page);
      assert.ok(session.messages.at(-1).references.length > 0, "the answer has sources");
      // The plan is told in words; the query behind the number can be opened.
      const step = page.locator(".step[data-tool=bq_query]").last();
      const words = await page.locator(".step > details > summary .why").allTextContents();
      assert.ok(words.length > 0 && words.every((one) => one.length > 0 && !/\b(select|from|where|substr)\b|[<>=]/i.test(one)), `a plan of ${words}`);
      assert.ok(!(await step.locator("pre").first().isVisible()), "the query is folded");
      await step.locator("summary").first().click();
      assert.ok(!(await step.locator(".behind pre").first().isVisible()), "what came of it is not hidden behind the query");
      await step.locator(".behind summary").click();
      assert.match(await step.locator(".behind pre").first().innerText(), /SELECT/i);
      await page.locator("a.ref").first().click();
      assert.equal(await page.locator(".cited li:target").count(), 1);
      await assertAccessible(page);
      const { states, lengths } = await page.evaluate(() => ({ states: [...window.states], lengths: window.lengths.size }));
      assert.ok(states.includes("running") && states.includes("done"), `steps were seen ${states}`);
      // Where the run was over before the page first looked, the answer is there whole.
      if ((await looked)?.status === "running" && lengths <= 2) faults.push("the answer was not seen growing");
    } finally {
      await context.close();
      line.close();
    }
    return faults;
  },

  async conversation(browser) {
    const { page, faults } = await open(browser);
    const id = await begin(LATE);
    await settled(id);
    await page.goto(`${base}/assistant/${id}`);
    await status(page, "completed");
    await page.keyboard.press("/");
    await page.keyboard.insertText("Thanks!");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.querySelectorAll(".turn[data-status=completed] .answer").length === 2, null, SLOW);
    await assertSame(page);
    await page.waitForSelector(`.sessions a[aria-current=page]`, { state: "attached", ...SLOW });
    return faults;
  },

  async reload(browser) {
    const { page, faults } = await open(browser);
    const id = await begin(LATE);
    await page.goto(`${base}/assistant/${id}`);
    for (let times = 0; times < 3; times++) {
      await page.waitForSelector(".turn", SLOW);
      await page.waitForTimeout(150);
      await page.reload();
    }
    await status(page, "completed");
    await page.waitForSelector(".step", SLOW);
    await page.waitForSelector(".cited", SLOW);
    await assertSame(page);
    assert.equal(await page.locator(".turn").count(), 1);
    // The browser itself logs requests that a reload cuts off.
    return faults.filter((fault) => !/ERR_ABORTED|network/i.test(fault));
  },

  async cut(browser) {
    const id = await begin(LATE);
    const line = await brittle(2, 1500);
    const { page, faults, context } = await open(browser, { at: line.address, isBroken: true });
    try {
      await page.goto(`${line.address}/assistant/${id}`);
      await page.waitForSelector(".line.is-trying", SLOW);
      await status(page, "completed");
      await page.waitForSelector(".cited", SLOW);
      await page.waitForFunction(() => !document.querySelector(".line.is-trying"), null, SLOW);
      await assertSame(page);
      const asked = line.streams.map((path) => Number(new URL(path, base).searchParams.get("after") ?? 0));
      assert.equal(asked[0], 0);
      assert.ok(asked.at(-1) > 0 && asked.every((after, index) => index === 0 || after >= asked[index - 1]), `asked after ${asked}`);
    } finally {
      await context.close();
      line.close();
    }
    return faults;
  },

  async clarification(browser) {
    const { page, faults } = await open(browser);
    await order(page, MILLER);
    await page.waitForSelector(".choices", SLOW);
    const { waiting: question } = await sessionOf(idOf(page));
    assert.equal(await page.locator(".choices button").count(), question.choices.length);
    await assertAccessible(page);
    await page.reload();
    await page.waitForSelector(".choices", SLOW);
    await page.keyboard.press("2");
    await status(page, "completed");
    await page.waitForSelector(".answer", SLOW);
    await assertSame(page);
    assert.equal(await page.locator(".turn").count(), 1, "question and answer are one turn");
    return faults;
  },

  async approval(browser) {
    const { page, faults } = await open(browser);
    const value = { id: "q7", kind: "approval", tool: "forget_memory", arguments: { key: "unit" }, effect: "Deletes one fact." };
    const waits = { status: "waiting", waiting: value };
    const buttons = { "Allow once": { decision: "allow_once" }, "Allow for this session": { decision: "allow_session" }, Deny: { decision: "deny" } };
    // The one that is put on last answers; those before it stay, because the page may still ask when the next one comes.
    for (const [name, decision] of Object.entries(buttons)) {
      const posted = await putOn(page, waits);
      await page.getByRole("button", { name, exact: true }).click(SLOW);
      await status(page, "completed");
      assert.deepEqual(posted, [["answer", { questionId: "q7", answer: decision }]]);
    }
    const posted = await putOn(page, waits);
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
    return faults;
  },

  /** A call that may have been carried out before is asked about as such, with what the server offers and nothing else. */
  async again(browser) {
    const { page, faults } = await open(browser);
    const why = "whether `forget_memory` was carried out is not known: the process ended while it ran";
    const value = {
      id: "q8", kind: "approval", tool: "forget_memory", arguments: { key: "unit" }, effect: "Runs it once more.",
      why, outcome: "unknown", decisions: ["allow_once", "deny"],
    };
    const posted = await putOn(page, { status: "waiting", waiting: value });
    await page.waitForSelector(".approval", SLOW);
    assert.match(await page.textContent("#ask-title"), /may already have been carried out/);
    assert.ok((await page.textContent(".approval")).includes(why));
    assert.deepEqual(await page.locator(".approval button").allTextContents(), ["Run it again", "Do not run it again"]);
    await assertAccessible(page);
    await page.getByRole("button", { name: "Do not run it again" }).click(SLOW);
    await status(page, "completed");
    assert.deepEqual(posted, [["answer", { questionId: "q8", answer: { decision: "deny" } }]]);
    return faults;
  },

  /** Two tabs answer the same question: one is heard, the other is told and sees where the conversation stands. */
  async twice(browser) {
    const { page, faults, context } = await open(browser, { isRefused: true });
    const id = await begin(MILLER);
    const { waiting: question } = await settled(id);
    const other = await context.newPage();
    for (const tab of [page, other]) {
      // Neither tab looks by itself whether the other has answered.
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
    const session = await assertSame(other);
    assert.equal(session.messages.filter(({ role }) => role === "user").at(-1).text, question.choices[1]);
    return faults;
  },

  /** A conversation is shown to whoever began it; who was chosen before does not matter to the address. */
  async owner(browser) {
    const { page, faults } = await open(browser, { isRefused: true });
    const { users } = await api("/api/assistant/settings");
    const { id: userId } = users.at(-1);
    const id = await begin("Thanks!", userId);
    const session = await settled(id, userId);
    await page.goto(`${base}/assistant/${id}`);
    await page.waitForSelector("text=belongs to somebody else", SLOW);
    assert.equal(await page.locator(".turn").count(), 0);
    await assertAccessible(page);
    await page.selectOption("#user", userId);
    await status(page, "completed");
    assert.equal(plain(await page.textContent(".answer .markdown")), plain(session.messages.at(-1).text));
    assert.equal(await page.inputValue("#user"), userId);
    const told = await api(`/api/assistant/settings?userId=${encodeURIComponent(userId)}`);
    await page.waitForFunction((count) => document.querySelectorAll(".tools li").length === count, told.tools.length, SLOW);
    assert.deepEqual(await page.locator(".tools code").allTextContents(), told.tools.map(({ name }) => name));
    return faults;
  },

  async stop(browser) {
    const { page, faults } = await open(browser);
    const id = await begin(MILLER);
    await settled(id);
    await page.goto(`${base}/assistant/${id}`);
    await page.waitForSelector(".choices", SLOW);
    await page.keyboard.press(".");
    await status(page, "stopped");
    assert.equal((await sessionOf(id)).status, "stopped");
    const posted = await putOn(page, { status: "running" });
    await status(page, "running");
    await page.keyboard.press(".");
    await status(page, "stopped");
    assert.deepEqual(posted, [["stop", {}]]);
    return faults;
  },

  async memory(browser) {
    const { page, faults } = await open(browser);
    // Which facts there are depends on what was said; the page's part is to show and to delete them.
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
    // The real list can be read, whatever is in it.
    await api(`/api/assistant/memory?userId=${encodeURIComponent(await anyone())}`);
    return faults;
  },

  async keep(browser) {
    const { page, faults, context } = await open(browser);
    await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: base });
    const id = await begin(LATE);
    const session = await settled(id);
    await page.goto(`${base}/assistant/${id}`);
    await page.waitForSelector(".keep", SLOW);
    await page.waitForSelector(".step", SLOW);
    await page.keyboard.press("y");
    await page.waitForFunction(() => document.querySelector(".keep .said-so").textContent !== "");
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), `${base}/assistant/${id}`);
    await page.keyboard.press("c");
    await page.waitForFunction(async () => (await navigator.clipboard.readText()).includes("\n"), null, SLOW);
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    assert.ok(copied.includes(session.messages.at(-1).text.trim()) && copied.includes(LATE), "the copy lacks question or answer");
    assert.ok(copied.includes(session.model.label), "the copy lacks the label of the model");
    return faults;
  },

  async errors(browser) {
    const { page, faults } = await open(browser, { isRefused: true });
    await page.goto(`${base}/assistant/00000000-0000-0000-0000-000000000000`);
    await page.waitForSelector("text=does not exist", SLOW);
    await assertAccessible(page);
    await page.goto(`${base}/assistant`);
    await page.waitForSelector("#user option", { state: "attached", ...SLOW });
    await page.fill("#message", "x".repeat(40_000));
    await page.click(".composer .primary");
    await page.waitForSelector(".problem", SLOW);
    assert.ok((await page.textContent(".problem")).length > 30, "it says what is wrong");
    return faults;
  },

  async markup(browser) {
    const { page, faults } = await open(browser);
    await order(page, MARKUP);
    await page.waitForSelector(".bar .status.is-completed, .approval", SLOW);
    assert.equal(await page.$eval(".asked h2", (one) => one.lastChild.textContent), MARKUP);
    assert.equal(await page.locator("main img, main b").count(), 0);
    assert.notEqual(await page.title(), "pwned");
    return faults;
  },

  async dark(browser) {
    const { page, faults } = await open(browser, { colorScheme: "dark" });
    await page.goto(`${base}/assistant`);
    await page.waitForSelector(".examples button", SLOW);
    await assertAccessible(page);
    const id = await begin(LATE);
    await settled(id);
    await page.goto(`${base}/assistant/${id}`);
    await page.waitForSelector(".cited", SLOW);
    await page.waitForSelector(".step", SLOW);
    await assertAccessible(page);
    return faults;
  },

  async phone(browser) {
    const { page, faults } = await open(browser, { viewport: { width: 320, height: 640 }, hasTouch: true, isMobile: true });
    await page.goto(`${base}/assistant`);
    await page.waitForSelector(".examples button", SLOW);
    await assertNoSideways(page);
    const id = await begin(LATE);
    await settled(id);
    await page.goto(`${base}/assistant/${id}`);
    await page.waitForSelector(".cited", SLOW);
    await page.waitForSelector(".step", SLOW);
    for (const summary of await page.locator(".step summary").all()) await summary.click();
    await assertNoSideways(page);
    assert.ok(await page.isVisible(".bar .label"));
    await assertAccessible(page);
    return faults;
  },
};

await runChecks(checks);
