/**
 * The debate page from end to end, in a browser, against a running server.
 *
 *   node e2e/debate.mjs [base address] [check,check…]
 *
 * See `support.mjs` for the environment. INSTANT=1: the voices may be too quick to be seen growing. The server needs nothing but the
 * rule-based voices, and limits that allow some twenty debates in a row.
 */
import assert from "node:assert/strict";
import { api, assertAccessible, assertNoSideways, base, brittle, MARKUP, open, runChecks, SLOW } from "./support.mjs";

/** Starts one behind the page's back; gives its id. */
async function begin(order) {
  const response = await fetch(`${base}/api/debate`, {
    method: "POST",
    headers: { "Content-Type": "application/json", Accept: "text/event-stream" },
    body: JSON.stringify({ format: "debate", detach: true, ...order }),
  });
  assert.ok(response.ok, `POST /api/debate: ${response.status} ${response.ok ? "" : await response.text()}`);
  await response.body.cancel();
  return response.headers.get("x-debate-id");
}

async function settled(id) {
  for (let tries = 0; tries < 600; tries++) {
    const debate = await api(`/api/debate/${id}`);
    if (debate.status !== "running") return debate;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`debate ${id} does not come to an end`);
}

const idOf = (page) => new URL(page.url()).pathname.split("/").pop();
const status = (page, name) => page.waitForSelector(`.bar .status.is-${name}`, SLOW);

/** What the page shows as said, without the marks of claims. */
function shown(page) {
  return page.$$eval(".turn", (turns) =>
    turns.map((turn) => {
      const said = turn.querySelector(".said").cloneNode(true);
      said.querySelectorAll(".mark, .hidden, .caret").forEach((mark) => mark.remove());
      return { name: turn.dataset.speaker, content: said.textContent };
    }),
  );
}

/** The page and the server tell the same debate. */
async function assertSame(page) {
  const debate = await api(`/api/debate/${idOf(page)}`);
  const voices = ["optimist", "skeptic", "moderator"];
  const told = debate.messages.slice(1).map(({ name, content }) => ({ name: voices.includes(name) ? name : "you", content }));
  assert.deepEqual(await shown(page), told);
  const claims = await page.$$eval(".fact .words", (words) => words.map((word) => word.textContent));
  assert.deepEqual(new Set(claims), new Set(debate.factCheckResults.map(({ claim }) => claim)));
  assert.equal((await page.textContent(".bar .label")).trim(), debate.model.label);
  return debate;
}

/** Fills in and sends the form with keys only. */
async function order(page, topic, { rounds = 2, approval = 0, factCheck = 0 } = {}) {
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

const checks = {
  async start(browser) {
    const { page, faults } = await open(browser);
    await page.goto(`${base}/`);
    await page.waitForSelector(".card");
    assert.equal(await page.locator(".card").count(), 4);
    assert.deepEqual(await page.$$eval(".card a", (links) => links.map((link) => link.getAttribute("href"))), ["/debate", "/scheduler", "/suggestions", "/assistant"]);
    await assertAccessible(page);
    await page.click(".card a[href='/debate']");
    await page.waitForSelector("#topic");
    return faults;
  },

  async keyboard(browser) {
    const { page, faults } = await open(browser);
    await order(page, "Should homework be abolished?", { rounds: 2, factCheck: 1 });
    // Words come while it runs: some turn is seen growing, or all are there because the voices are quick.
    await page.waitForSelector(".turn .said:not(:empty)", SLOW);
    await status(page, "completed");
    await page.waitForSelector(".keep", SLOW);
    const debate = await assertSame(page);
    assert.equal(debate.maxRounds, 2);
    assert.deepEqual((await shown(page)).map(({ name }) => name), ["optimist", "skeptic", "optimist", "skeptic", "moderator"]);
    assert.equal((await page.textContent(".bar .stands")).trim(), "Round 2 of 2");
    assert.equal(await page.locator(".beat.is-done").count(), 5);
    await assertAccessible(page);
    return faults;
  },

  async streaming(browser) {
    const { page, faults } = await open(browser);
    const id = await begin({ topic: "Is remote work better than the office?", maxRounds: 10 });
    await page.goto(`${base}/debate/${id}`, { waitUntil: "commit" });
    const lengths = new Set();
    for (let looks = 0; looks < 400; looks++) {
      lengths.add(await page.$$eval(".said", (said) => said.map((one) => one.textContent).join("").length).catch(() => 0));
      if ((await page.locator(".bar .status.is-completed").count()) > 0) break;
      await page.waitForTimeout(25);
    }
    await status(page, "completed");
    await assertSame(page);
    return [...faults, ...(lengths.size < 2 && process.env.INSTANT !== "1" ? ["nothing was seen growing"] : [])];
  },

  async approval(browser) {
    const { page, faults } = await open(browser);
    await order(page, "Should city centres be free of cars?", { rounds: 2, approval: 1 });
    await page.waitForSelector(".approval", SLOW);
    await assertAccessible(page);
    assert.equal((await shown(page)).length, 2);
    // `a` leads to the answer, the note stands before it.
    await page.keyboard.press("a");
    await page.keyboard.press("Shift+Tab");
    await page.keyboard.insertText("Think of deliveries <i>too</i>.");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.querySelectorAll(".turn[data-round='2']").length >= 2 && document.querySelector(".approval"), null, SLOW);
    await page.reload();
    await page.waitForSelector(".approval", SLOW);
    assert.ok((await shown(page)).some(({ name, content }) => name === "you" && content === "Think of deliveries <i>too</i>."));
    await page.getByRole("button", { name: "End here" }).click();
    await status(page, "completed");
    await page.waitForSelector(".turn.is-moderator", SLOW);
    await assertSame(page);
    return faults;
  },

  /** Who answers a question that somebody else has answered is shown what is asked now. */
  async twice(browser) {
    const { page, faults, context } = await open(browser, { isRefused: true });
    const id = await begin({ topic: "Should city centres be free of cars?", maxRounds: 2, approval: "each_round" });
    const other = await context.newPage();
    for (const tab of [page, other]) {
      // Neither tab looks by itself whether the other has answered.
      await tab.addInitScript(() => (window.setInterval = () => 0));
      await tab.goto(`${base}/debate/${id}`);
      await tab.waitForSelector("#approve", SLOW);
    }
    const asksAgain = (tab) => tab.waitForFunction(() => document.querySelectorAll(".turn[data-round='2']").length >= 2 && document.querySelector("#approve"), null, SLOW);
    await page.bringToFront();
    await page.click("#approve");
    await asksAgain(page);
    await other.bringToFront();
    const refused = other.waitForResponse((response) => response.url().includes("/approval"), SLOW);
    await other.click("#approve");
    assert.equal((await refused).status(), 409);
    await asksAgain(other);
    await other.getByRole("button", { name: "End here" }).click();
    await status(other, "completed");
    await assertSame(other);
    return faults;
  },

  async reload(browser) {
    const { page, faults } = await open(browser);
    const id = await begin({ topic: "Should homework be abolished?", maxRounds: 6, factCheck: "each_round" });
    await page.goto(`${base}/debate/${id}`);
    for (let times = 0; times < 3; times++) {
      await page.waitForSelector(".turn", SLOW);
      await page.waitForTimeout(150);
      await page.reload();
    }
    await status(page, "completed");
    await page.waitForSelector(".keep", SLOW);
    await assertSame(page);
    // The browser itself logs requests that a reload cuts off.
    return faults.filter((fault) => !/ERR_ABORTED|network/i.test(fault));
  },

  async offline(browser) {
    const { page, context } = await open(browser);
    const id = await begin({ topic: "Is remote work better than the office?", maxRounds: 10 });
    await page.goto(`${base}/debate/${id}`);
    await page.waitForSelector(".bar", SLOW);
    // A page that is opened while nobody answers keeps trying, and says so.
    await page.route("**/api/debate/*", (route) => route.abort());
    await page.reload();
    await page.waitForSelector(".line.is-trying", SLOW);
    assert.match(await page.textContent(".line"), /Reconnecting \(\d+\)…/);
    await page.unroute("**/api/debate/*");
    await status(page, "completed");
    await assertSame(page);
    await context.close();
    return [];
  },

  async cut(browser) {
    const id = await begin({ topic: "Should city centres be free of cars?", maxRounds: 5, factCheck: "each_round", approval: "before_summary" });
    const line = await brittle(3, 1500);
    const { page, context } = await open(browser);
    await page.addInitScript(() => {
      window.lines = [];
      new MutationObserver(() => window.lines.push(document.querySelector(".line")?.textContent)).observe(document, { subtree: true, childList: true, characterData: true });
    });
    try {
      await page.goto(`${line.address}/debate/${id}`);
      await page.waitForFunction(() => window.lines.some((text) => text?.startsWith("Reconnecting (")), null, SLOW);
      await page.waitForSelector(".approval", SLOW);
      await page.waitForFunction(() => document.querySelectorAll(".turn").length === 10 && !document.querySelector(".line.is-trying"), null, SLOW);
      for (let tries = 0; line.streams.length < 4 && tries < 100; tries++) await page.waitForTimeout(100);
      // What is found beside the question is told at once, and part of the state with the answer: only the end is the same for both.
      await api(`/api/debate/${id}/approval`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ approved: true }) });
      await status(page, "completed");
      await page.waitForSelector(".keep", SLOW);
      await assertSame(page);
      // The first time from the beginning, then each time from where it was cut off.
      await page.waitForFunction(() => window.lines.some((text) => text?.startsWith("Connected again")), null, SLOW);
      const asked = line.streams.map((path) => Number(new URL(path, base).searchParams.get("after") ?? 0));
      assert.ok(asked.length >= 4, `asked ${asked.length} times`);
      assert.equal(asked[0], 0);
      assert.ok(asked.at(-1) > 0 && asked.every((after, index) => index === 0 || after >= asked[index - 1]), `asked after ${asked}`);
    } finally {
      await context.close();
      line.close();
    }
    return [];
  },

  async stop(browser) {
    const { page, faults } = await open(browser);
    // Waiting is the one state that is sure to last until the page can stop it.
    const id = await begin({ topic: "Should city centres be free of cars?", maxRounds: 3, approval: "each_round" });
    await settled(id);
    await page.goto(`${base}/debate/${id}`);
    await page.waitForSelector(".approval", SLOW);
    await page.keyboard.press(".");
    await status(page, "stopped");
    assert.equal((await api(`/api/debate/${id}`)).status, "stopped");
    await page.getByRole("button", { name: "Resume" }).click();
    await page.waitForSelector(".approval, .bar .status.is-completed", SLOW);
    const other = await begin({ topic: "Should homework be abolished?", maxRounds: 10 });
    await page.goto(`${base}/debate/${other}`);
    await page.waitForSelector(".bar", SLOW);
    await page.keyboard.press(".");
    await page.waitForSelector(".bar .status.is-stopped, .bar .status.is-completed", SLOW);
    if ((await api(`/api/debate/${other}`)).status === "stopped") {
      await page.getByRole("button", { name: "Resume" }).click();
      await status(page, "completed");
    } else if (process.env.INSTANT !== "1") faults.push("the debate was over before it could be stopped");
    await page.waitForSelector(".keep", SLOW);
    await assertSame(page);
    return faults;
  },

  async past(browser) {
    const { page, faults } = await open(browser);
    const topic = `Is ${Date.now().toString(36)} a good name?`;
    const id = await begin({ topic, maxRounds: 1 });
    await settled(id);
    await page.goto(`${base}/debate`);
    await page.waitForSelector(".past li", SLOW);
    await page.evaluate(() => document.activeElement?.blur());
    await page.keyboard.press("/");
    await page.keyboard.type(topic.split(" ")[1]);
    await page.waitForFunction(() => document.querySelectorAll(".past li").length === 1, null, SLOW);
    assert.match(await page.textContent(".past li"), /completed/);
    await page.getByLabel("Status").selectOption("error");
    await page.waitForSelector(".past .empty");
    await page.getByLabel("Status").selectOption("completed");
    await page.click(".past li a");
    await page.waitForURL(`${base}/debate/${id}`);
    await status(page, "completed");
    assert.equal(await page.textContent("h1"), topic);
    return faults;
  },

  async keep(browser) {
    const { page, faults, context } = await open(browser);
    await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: base });
    const id = await begin({ topic: "Should homework be abolished?", maxRounds: 1 });
    const debate = await settled(id);
    await page.goto(`${base}/debate/${id}`);
    await page.waitForSelector(".keep", SLOW);
    await page.keyboard.press("y");
    await page.waitForFunction(() => document.querySelector(".said-so").textContent !== "");
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), `${base}/debate/${id}`);
    await page.keyboard.press("c");
    let copied = "";
    for (let tries = 0; !copied.includes("\n") && tries < 50; tries++) {
      await page.waitForTimeout(100);
      copied = await page.evaluate(() => navigator.clipboard.readText());
    }
    for (const { content } of debate.messages.slice(1)) assert.ok(copied.includes(content.slice(0, 40)), `the copy lacks a turn: ${copied}`);
    assert.ok(copied.includes(debate.model.label), "the copy lacks the label of the model");
    for (const format of ["md", "json", "txt"]) {
      assert.ok((await fetch(`${base}/api/debate/${id}/transcript?format=${format}`)).ok);
      assert.equal(await page.locator(`.downloads a[href$="format=${format}"]`).count(), 1);
    }
    return faults;
  },

  async errors(browser) {
    const { page, faults } = await open(browser, { isRefused: true });
    await page.goto(`${base}/debate`);
    await page.waitForSelector("#topic");
    await page.fill("#maxRounds", "11");
    await page.click(".order .primary");
    await page.waitForSelector("#topic[aria-invalid=true]", SLOW);
    assert.equal(await page.getAttribute("#maxRounds", "aria-invalid"), "true");
    assert.match(await page.getAttribute("#topic", "aria-describedby"), /topic-error/);
    assert.ok((await page.textContent("#maxRounds-error")).length > 3);
    await page.waitForFunction(() => document.activeElement?.id === "topic");
    await assertAccessible(page);
    await page.goto(`${base}/debate/00000000-0000-0000-0000-000000000000`);
    await page.waitForSelector("text=does not exist", SLOW);
    return faults;
  },

  async markup(browser) {
    const { page, faults } = await open(browser);
    await order(page, MARKUP, { rounds: 1 });
    await status(page, "completed");
    assert.equal(await page.textContent("h1"), MARKUP);
    assert.equal(await page.locator("main img, main b").count(), 0);
    assert.ok((await page.title()).includes(MARKUP));
    await assertSame(page);
    await page.goto(`${base}/debate`);
    await page.waitForSelector(".past li", SLOW);
    assert.equal(await page.textContent(".past li a"), MARKUP);
    assert.equal(await page.locator(".past img, .past b").count(), 0);
    return faults;
  },

  async dark(browser) {
    const { page, faults } = await open(browser);
    await page.goto(`${base}/debate`);
    await page.waitForSelector(".colours");
    const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const light = await paper();
    await page.emulateMedia({ colorScheme: "dark" });
    const dark = await paper();
    assert.notEqual(dark, light);
    await page.click(".colours");
    assert.equal(await paper(), light, "light is chosen");
    await page.click(".colours");
    await page.emulateMedia({ colorScheme: "light" });
    await page.reload();
    await page.waitForSelector(".colours");
    assert.equal(await paper(), dark, "dark is remembered");
    await assertAccessible(page);
    const id = await begin({ topic: "Should homework be abolished?", maxRounds: 1, factCheck: "at_end" });
    await settled(id);
    await page.goto(`${base}/debate/${id}`);
    await status(page, "completed");
    await assertAccessible(page);
    return faults;
  },

  async phone(browser) {
    const { page, faults } = await open(browser, { viewport: { width: 320, height: 640 }, hasTouch: true, isMobile: true });
    for (const path of ["/", "/debate"]) {
      await page.goto(base + path);
      await page.waitForSelector("h1");
      await assertNoSideways(page);
    }
    const id = await begin({ topic: `${"Incomprehensibilities".repeat(5)}?`, maxRounds: 10, factCheck: "each_round" });
    await settled(id);
    await page.goto(`${base}/debate/${id}`);
    await status(page, "completed");
    await assertNoSideways(page);
    assert.ok(await page.isVisible(".bar .label"));
    await assertAccessible(page);
    return faults;
  },

  async keys(browser) {
    const { page, faults } = await open(browser);
    await page.goto(`${base}/debate`);
    await page.waitForSelector("#topic");
    await page.keyboard.type("?");
    assert.equal(await page.inputValue("#topic"), "?", "a field takes the letter");
    await page.evaluate(() => document.activeElement?.blur());
    await page.keyboard.press("?");
    await page.waitForSelector("dialog[open]");
    await assertAccessible(page);
    await page.getByLabel("Single keys are on").uncheck();
    await page.keyboard.press("Escape");
    await page.evaluate(() => document.activeElement?.blur());
    await page.keyboard.press("?");
    assert.equal(await page.locator("dialog[open]").count(), 0, "keys are off");
    return faults;
  },

  async spoken(browser) {
    const { page, faults } = await open(browser);
    const id = await begin({ topic: "Should city centres be free of cars?", maxRounds: 1, approval: "before_summary" });
    await settled(id);
    await page.goto(`${base}/debate/${id}`);
    await page.waitForSelector(".approval", SLOW);
    const log = page.getByRole("log");
    assert.equal((await log.textContent()).trim(), "", "the past is not read out");
    await page.click("#approve");
    await status(page, "completed");
    await page.waitForFunction(() => document.querySelector("[role=log]").textContent.includes("Moderator:"), null, SLOW);
    assert.equal(await log.getAttribute("aria-live"), "polite");
    return faults;
  },
};

await runChecks(checks);
