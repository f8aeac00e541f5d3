/**
 * The suggestions page from end to end, in a browser, against a running server.
 *
 *   node e2e/suggestions.mjs [base address] [check,check…]
 *
 * See `support.mjs` for the environment. INSTANT=1: the searches may be too quick to be seen. The server needs nothing but the sample
 * it comes with, and limits that allow some twenty posts in a row.
 */
import assert from "node:assert/strict";
import { api, assertAccessible, assertNoSideways, base, MARKUP, open, runChecks, SLOW, slow } from "./support.mjs";

const QUESTION = "How do I roll back a failed AKS deployment?";
const SOURCES = ["docs", "issues", "m365", "posts"];

/** Posts one behind the page's back. */
function begin(order = {}) {
  const body = JSON.stringify({ text: QUESTION, tags: ["aks"], mode: "question", ttl: "1h", ...order });
  return api("/api/posts", { method: "POST", headers: { "Content-Type": "application/json" }, body });
}

const idOf = (page) => decodeURIComponent(new URL(page.url()).pathname.split("/").pop());
const done = (page) => page.waitForSelector(".bar [data-status=done]", SLOW);

/** The page and the server tell the same suggestions. */
async function assertSame(page) {
  const told = await api(`/api/posts/${encodeURIComponent(idOf(page))}/suggestions`);
  for (const source of SOURCES) {
    const section = page.locator(`[data-source=${source}]`);
    if (told.unavailableSources.includes(source)) {
      assert.match(await section.locator(".stands").textContent(), /not searched/);
      assert.ok((await section.locator(".why").textContent()).includes(told.reasons?.[source] ?? ""), `${source} says why`);
      continue;
    }
    const names = await section.locator(".name").allTextContents();
    assert.deepEqual(names, told[source].map((one) => one.title ?? one.text), source);
    if (names.length === 0) assert.equal(await section.locator(".empty").count(), 1, `${source} says that it is empty`);
  }
  const queries = told.queries.filter(({ tool }) => tool.startsWith("search_")).map(({ query }) => query);
  assert.deepEqual(await page.locator(".tried q").allTextContents(), queries);
  if (told.actionHint) assert.equal(await page.textContent(".hint-box .said"), told.actionHint);
  else assert.equal(await page.locator(".hint-box").count(), 0);
  assert.equal((await page.textContent(".bar .label")).trim(), told.model.label);
  return told;
}

/** No link leads anywhere but to the web or to this server, and none that the server did not give. */
async function assertLinks(page, told) {
  const links = await page.$$eval(".sources a, .hint-box a", (all) => all.map((link) => ({ href: link.getAttribute("href"), rel: link.rel, target: link.target })));
  const given = new Set([...told.docs, ...told.issues, ...told.m365].map(({ url }) => url));
  for (const { href, rel, target } of links) {
    assert.match(href, /^(https?:\/\/|\/(?!\/))/i);
    if (target) assert.match(rel, /noopener/);
    assert.ok(given.has(href) || href.startsWith("/suggestions/"), `nobody gave ${href}`);
  }
}

const checks = {
  async lobby(browser) {
    const { page, faults } = await open(browser);
    const first = await begin();
    const second = await begin({ text: "Who can help with helm?", tags: ["helm"], mode: "offer" });
    await page.goto(`${base}/suggestions`);
    await page.waitForSelector("[data-post]", SLOW);
    const { posts } = await api("/api/posts?limit=50");
    assert.deepEqual(await page.$$eval("[data-post]", (all) => all.map((one) => one.dataset.post)), posts.map(({ id }) => id));
    const shown = await page.$$eval("[data-post]", (all) => all.map((one) => one.dataset.post));
    assert.ok(shown.indexOf(second.id) < shown.indexOf(first.id), "newest first");
    assert.match(await page.textContent(`[data-post="${first.id}"] .meta`), /question.*expires in \d+ minutes/s);
    await page.getByLabel("Kind").last().selectOption("offer");
    await page.waitForFunction((id) => !document.querySelector(`[data-post="${id}"]`), first.id, SLOW);
    assert.equal(await page.locator(`[data-post="${second.id}"]`).count(), 1);
    await assertAccessible(page);
    return faults;
  },

  async counting(browser) {
    const { page, faults } = await open(browser);
    await page.goto(`${base}/suggestions`);
    await page.fill("#text", "See https://example.org/a.b.c… It broke. Twice.");
    assert.match(await page.textContent("#text-hint"), /^47 of 500 characters, 2 of 3 sentences$/);
    assert.equal(await page.getAttribute("#text", "aria-invalid"), null);
    await page.fill("#text", "Das geht z.B. am 3. Mai bzw. ca. im Juni mit Dr. Lee.");
    assert.match(await page.textContent("#text-hint"), /a post with more than 3 is refused/);
    assert.equal(await page.getAttribute("#text", "aria-invalid"), null, "only the server knows what a sentence is");
    await page.fill("#text", "x".repeat(501));
    assert.match(await page.textContent("#text-error"), /1 character too many/);
    await page.fill("#tags", "a, b, c, d, e, f");
    assert.match(await page.textContent("#tags-error"), /At most 5/);
    await page.fill("#tags", "a".repeat(21));
    assert.match(await page.textContent("#tags-error"), /more than 20/);
    await page.click(".order .primary");
    await page.waitForFunction(() => document.activeElement?.id === "text");
    assert.equal(new URL(page.url()).pathname, "/suggestions", "nothing was posted");
    await assertAccessible(page);
    return faults;
  },

  async post(browser) {
    const { page, faults } = await open(browser);
    await page.goto(`${base}/suggestions`);
    await page.waitForSelector("#text");
    // With keys only: the field has the focus, Enter posts.
    await page.keyboard.insertText(QUESTION);
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/suggestions\/[^/]+$/, SLOW);
    await page.waitForSelector(".tried li", SLOW);
    await done(page);
    assert.equal(await page.textContent("h1"), QUESTION);
    const told = await assertSame(page);
    assert.ok(!told.posts.some(({ id }) => id === idOf(page)), "the post itself is not among the earlier ones");
    await assertLinks(page, told);
    await assertAccessible(page);
    return faults;
  },

  async streaming(browser) {
    const line = await slow(120);
    const { page, faults, context } = await open(browser, { at: line.address });
    const { id } = await begin();
    await page.addInitScript(() => {
      window.states = new Set();
      new MutationObserver(() => document.querySelectorAll(".tried li").forEach((one) => window.states.add(one.dataset.state))).observe(document, { subtree: true, childList: true, attributes: true });
    });
    try {
      await page.goto(`${line.address}/suggestions/${id}`);
      // A run has some 800 events, most of them pieces of what the model says: the end of the first query is enough.
      await page.waitForFunction(() => [...window.states].some((state) => state !== "running"), null, SLOW);
      const states = await page.evaluate(() => [...window.states]);
      assert.ok(states.includes("running"), "no query was seen while it ran");
      assert.ok(states.some((state) => state !== "running"), `queries ended as ${states}`);
    } finally {
      await context.close();
      line.close();
    }
    return faults;
  },

  async reload(browser) {
    const { page, faults } = await open(browser);
    const { id } = await begin();
    await page.goto(`${base}/suggestions/${id}`);
    for (let times = 0; times < 3; times++) {
      await page.waitForSelector(".bar", SLOW);
      await page.waitForTimeout(100);
      await page.reload();
    }
    await done(page);
    await page.waitForSelector("h1:not(.hidden)", SLOW);
    await assertSame(page);
    // The browser itself logs requests that a reload cuts off.
    return faults.filter((fault) => !/ERR_ABORTED|network/i.test(fault));
  },

  async offline(browser) {
    const { page, context } = await open(browser);
    const { id } = await begin();
    await page.route("**/suggestions?stream=1", (route) => route.abort());
    await page.goto(`${base}/suggestions/${id}`);
    await page.waitForSelector(".line.is-trying", SLOW);
    await page.unroute("**/suggestions?stream=1");
    await done(page);
    await assertSame(page);
    await context.close();
    return [];
  },

  async engagement(browser) {
    const { page, faults } = await open(browser);
    const { id } = await begin();
    await page.goto(`${base}/suggestions/${id}`);
    const button = page.locator(".asked [data-kind=join]");
    await button.click(SLOW);
    await page.waitForFunction(() => document.querySelector(".asked [data-kind=join] .number").textContent === "1", null, SLOW);
    assert.equal(await button.getAttribute("aria-pressed"), "true");
    await button.click();
    await page.reload();
    await page.waitForSelector(".asked [data-kind=join][aria-pressed=true]", SLOW);
    assert.equal(await page.textContent(".asked [data-kind=join] .number"), "1", "each browser counts once");
    return faults;
  },

  async search(browser) {
    const { page, faults } = await open(browser);
    await begin();
    await page.goto(`${base}/suggestions`);
    await page.waitForSelector("[data-post]", SLOW);
    await page.evaluate(() => document.activeElement?.blur());
    await page.keyboard.press("/");
    await page.keyboard.type("rollback");
    await page.waitForSelector(".source", SLOW);
    const told = await api("/api/search?q=rollback");
    assert.deepEqual(await page.locator("[data-source=docs] .name").allTextContents(), told.docs.map(({ title }) => title));
    await assertLinks(page, told);
    await assertAccessible(page);
    await page.fill("#search", "");
    await page.waitForSelector("[data-post]", SLOW);
    return faults;
  },

  async keep(browser) {
    const { page, faults, context } = await open(browser);
    await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: base });
    const { id } = await begin();
    await page.goto(`${base}/suggestions/${id}`);
    await page.waitForSelector(".keep", SLOW);
    await page.keyboard.press("y");
    await page.waitForFunction(() => document.querySelector(".said-so").textContent !== "");
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), `${base}/suggestions/${id}`);
    await page.keyboard.press("c");
    await page.waitForFunction(async () => (await navigator.clipboard.readText()).includes("\n"), null, SLOW);
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    const told = await assertSame(page);
    for (const { title } of told.docs) assert.ok(copied.includes(title.replace(/[[\]]/g, "\\$&")), `the copy lacks ${title}`);
    assert.ok(copied.includes(told.model.label), "the copy lacks the label of the model");
    return faults;
  },

  async errors(browser) {
    const { page, faults } = await open(browser, { isRefused: true });
    await page.goto(`${base}/suggestions/00000000-0000-0000-0000-000000000000`);
    await page.waitForSelector("text=does not exist", SLOW);
    await assertAccessible(page);
    // What only the server knows to be wrong is said at the field, too.
    const problem = { title: "Invalid", status: 422, detail: "1 problem", errors: [{ pointer: "/tags", message: "this tag is not allowed" }] };
    await page.route("**/api/posts", (route) => route.fulfill({ status: 422, contentType: "application/problem+json", body: JSON.stringify(problem) }));
    await page.goto(`${base}/suggestions`);
    await page.fill("#text", QUESTION);
    await page.click(".order .primary");
    await page.waitForSelector("#tags[aria-invalid=true]", SLOW);
    assert.match(await page.textContent("#tags-error"), /not allowed/);
    return faults;
  },

  async markup(browser) {
    const { page, faults } = await open(browser);
    const { id } = await begin({ text: MARKUP, tags: ["<b>"] });
    await page.goto(`${base}/suggestions/${id}`);
    await done(page);
    await page.waitForSelector("h1:not(.hidden)", SLOW);
    assert.equal(await page.textContent("h1"), MARKUP);
    await page.goto(`${base}/suggestions`);
    await page.waitForSelector(`[data-post="${id}"]`, SLOW);
    assert.equal(await page.textContent(`[data-post="${id}"] .words`), MARKUP);
    assert.equal(await page.locator("main img, main b").count(), 0);
    assert.notEqual(await page.title(), "pwned");
    return faults;
  },

  async dark(browser) {
    const { page, faults } = await open(browser, { colorScheme: "dark" });
    const { id } = await begin();
    await page.goto(`${base}/suggestions/${id}`);
    await done(page);
    await page.waitForSelector(".keep", SLOW);
    await assertAccessible(page);
    await page.goto(`${base}/suggestions`);
    await page.waitForSelector("[data-post]", SLOW);
    await assertAccessible(page);
    return faults;
  },

  async phone(browser) {
    const { page, faults } = await open(browser, { viewport: { width: 320, height: 640 }, hasTouch: true, isMobile: true });
    const { id } = await begin({ text: `${"Incomprehensibilities".repeat(5)}?`, tags: ["a".repeat(20), "b".repeat(20), "c".repeat(20)] });
    await page.goto(`${base}/suggestions`);
    await page.waitForSelector(`[data-post="${id}"]`, SLOW);
    await assertNoSideways(page);
    await page.goto(`${base}/suggestions/${id}`);
    await done(page);
    await page.waitForSelector(".keep", SLOW);
    await assertNoSideways(page);
    assert.ok(await page.isVisible(".bar .label"));
    assert.equal(await page.$eval(".planner span", (label) => label.getClientRects().length), 1, "the name of a choice stands on one line");
    await assertAccessible(page);
    return faults;
  },
};

await runChecks(checks);
