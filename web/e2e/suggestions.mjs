/**
 * Browser checks of the suggestions page against a running server.
 *
 *   node e2e/suggestions.mjs [base address] [check,check…]
 *
 * See `support.mjs` for the environment. The server needs only its sample data, and limits that allow about twenty posts in a row.
 */
import assert from "node:assert/strict";
import { api, assertAccessible, assertNoHorizontalScroll, base, delayResponses, MARKUP, openPage, runChecks, SLOW } from "./support.mjs";

const QUESTION = "How do I roll back a failed AKS deployment?";
const SOURCES = ["docs", "issues", "m365", "posts"];

/** Creates a post through the API. */
function createPost(post = {}) {
  const body = JSON.stringify({ text: QUESTION, tags: ["aks"], mode: "question", ttl: "1h", ...post });
  return api("/api/posts", { method: "POST", headers: { "Content-Type": "application/json" }, body });
}

const idOf = (page) => decodeURIComponent(new URL(page.url()).pathname.split("/").pop());
const waitUntilDone = (page) => page.waitForSelector(".status-bar [data-status=done]", SLOW);

/** Asserts that the page shows the suggestions that the server returns. */
async function assertMatchesServer(page) {
  const response = await api(`/api/posts/${encodeURIComponent(idOf(page))}/suggestions`);
  for (const source of SOURCES) {
    const section = page.locator(`[data-source=${source}]`);
    if (response.unavailableSources.includes(source)) {
      assert.match(await section.locator(".status-text").textContent(), /unavailable/);
      assert.ok((await section.locator(".reason").textContent()).includes(response.reasons?.[source] ?? ""), `${source} shows the reason`);
      continue;
    }
    const names = await section.locator(".name").allTextContents();
    assert.deepEqual(names, response[source].map((element) => element.title ?? element.text), source);
    if (names.length === 0) assert.equal(await section.locator(".empty").count(), 1, `${source} shows that it is empty`);
  }
  const queries = response.queries.filter(({ tool }) => tool.startsWith("search_")).map(({ query }) => query);
  assert.deepEqual(await page.locator(".query-list q").allTextContents(), queries);
  if (response.actionHint) assert.equal(await page.textContent(".action-hint .hint-text"), response.actionHint);
  else assert.equal(await page.locator(".action-hint").count(), 0);
  assert.equal((await page.textContent(".status-bar .label")).trim(), response.model.label);
  return response;
}

/** Asserts that all links are safe and come from the server. */
async function assertLinks(page, response) {
  const links = await page.$$eval(".sources a, .action-hint a", (elements) => elements.map((link) => ({ href: link.getAttribute("href"), rel: link.rel, target: link.target })));
  const knownUrls = new Set([...response.docs, ...response.issues, ...response.m365].map(({ url }) => url));
  for (const { href, rel, target } of links) {
    assert.match(href, /^(https?:\/\/|\/(?!\/))/i);
    if (target) assert.match(rel, /noopener/);
    assert.ok(knownUrls.has(href) || href.startsWith("/suggestions/"), `${href} is not from the server`);
  }
}

const checks = {
  async list(browser) {
    const { page, pageErrors } = await openPage(browser);
    const first = await createPost();
    const second = await createPost({ text: "Who can help with helm?", tags: ["helm"], mode: "offer" });
    await page.goto(`${base}/suggestions`);
    await page.waitForSelector("[data-post]", SLOW);
    const { posts } = await api("/api/posts?limit=50");
    assert.deepEqual(await page.$$eval("[data-post]", (elements) => elements.map((element) => element.dataset.post)), posts.map(({ id }) => id));
    const shown = await page.$$eval("[data-post]", (elements) => elements.map((element) => element.dataset.post));
    assert.ok(shown.indexOf(second.id) < shown.indexOf(first.id), "newest first");
    assert.match(await page.textContent(`[data-post="${first.id}"] .meta`), /question.*expires in \d+ minutes/s);
    await page.getByLabel("Type").last().selectOption("offer");
    await page.waitForFunction((id) => !document.querySelector(`[data-post="${id}"]`), first.id, SLOW);
    assert.equal(await page.locator(`[data-post="${second.id}"]`).count(), 1);
    await assertAccessible(page);
    return pageErrors;
  },

  async lengthCounter(browser) {
    const { page, pageErrors } = await openPage(browser);
    await page.goto(`${base}/suggestions`);
    await page.fill("#text", "See https://example.org/a.b.c… It broke. Twice.");
    assert.match(await page.textContent("#text-hint"), /^47 of 500 characters, 2 of 3 sentences$/);
    assert.equal(await page.getAttribute("#text", "aria-invalid"), null);
    await page.fill("#text", "Das geht z.B. am 3. Mai bzw. ca. im Juni mit Dr. Lee.");
    assert.match(await page.textContent("#text-hint"), /a post can have at most 3/);
    assert.equal(await page.getAttribute("#text", "aria-invalid"), null, "only the server decides about sentences");
    await page.fill("#text", "x".repeat(501));
    assert.match(await page.textContent("#text-error"), /1 character too many/);
    await page.fill("#tags", "a, b, c, d, e, f");
    assert.match(await page.textContent("#tags-error"), /At most 5/);
    await page.fill("#tags", "a".repeat(21));
    assert.match(await page.textContent("#tags-error"), /more than 20/);
    await page.click(".start-form .primary");
    await page.waitForFunction(() => document.activeElement?.id === "text");
    assert.equal(new URL(page.url()).pathname, "/suggestions", "nothing was posted");
    await assertAccessible(page);
    return pageErrors;
  },

  async post(browser) {
    const { page, pageErrors } = await openPage(browser);
    await page.goto(`${base}/suggestions`);
    await page.waitForSelector("#text");
    // With the keyboard only: the field has the focus, Enter submits.
    await page.keyboard.insertText(QUESTION);
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/suggestions\/[^/]+$/, SLOW);
    await page.waitForSelector(".query-list li", SLOW);
    await waitUntilDone(page);
    assert.equal(await page.textContent("h1"), QUESTION);
    const response = await assertMatchesServer(page);
    assert.ok(!response.posts.some(({ id }) => id === idOf(page)), "the post itself is not among the earlier ones");
    await assertLinks(page, response);
    await assertAccessible(page);
    return pageErrors;
  },

  async streaming(browser) {
    const proxy = await delayResponses(120);
    const { page, pageErrors, context } = await openPage(browser, { at: proxy.url });
    const { id } = await createPost();
    await page.addInitScript(() => {
      window.states = new Set();
      new MutationObserver(() => document.querySelectorAll(".query-list li").forEach((element) => window.states.add(element.dataset.state))).observe(document, { subtree: true, childList: true, attributes: true });
    });
    try {
      await page.goto(`${proxy.url}/suggestions/${id}`);
      // A run has about 800 events, so only the end of the first query is awaited.
      await page.waitForFunction(() => [...window.states].some((state) => state !== "running"), null, SLOW);
      const states = await page.evaluate(() => [...window.states]);
      assert.ok(states.includes("running"), "no query was seen while it ran");
      assert.ok(states.some((state) => state !== "running"), `queries ended as ${states}`);
    } finally {
      await context.close();
      proxy.close();
    }
    return pageErrors;
  },

  async reload(browser) {
    const { page, pageErrors } = await openPage(browser);
    const { id } = await createPost();
    await page.goto(`${base}/suggestions/${id}`);
    for (let times = 0; times < 3; times++) {
      await page.waitForSelector(".status-bar", SLOW);
      await page.waitForTimeout(100);
      await page.reload();
    }
    await waitUntilDone(page);
    await page.waitForSelector("h1:not(.visually-hidden)", SLOW);
    await assertMatchesServer(page);
    // The browser logs requests that a reload aborts.
    return pageErrors.filter((error) => !/ERR_ABORTED|network/i.test(error));
  },

  async offline(browser) {
    const { page, context } = await openPage(browser);
    const { id } = await createPost();
    await page.route("**/suggestions?stream=1", (route) => route.abort());
    await page.goto(`${base}/suggestions/${id}`);
    await page.waitForSelector(".connection-status.is-reconnecting", SLOW);
    await page.unroute("**/suggestions?stream=1");
    await waitUntilDone(page);
    await assertMatchesServer(page);
    await context.close();
    return [];
  },

  async engagement(browser) {
    const { page, pageErrors } = await openPage(browser);
    const { id } = await createPost();
    await page.goto(`${base}/suggestions/${id}`);
    const button = page.locator(".post-header [data-kind=join]");
    await button.click(SLOW);
    await page.waitForFunction(() => document.querySelector(".post-header [data-kind=join] .number").textContent === "1", null, SLOW);
    assert.equal(await button.getAttribute("aria-pressed"), "true");
    await button.click();
    await page.reload();
    await page.waitForSelector(".post-header [data-kind=join][aria-pressed=true]", SLOW);
    assert.equal(await page.textContent(".post-header [data-kind=join] .number"), "1", "each browser counts once");
    return pageErrors;
  },

  async search(browser) {
    const { page, pageErrors } = await openPage(browser);
    await createPost();
    await page.goto(`${base}/suggestions`);
    await page.waitForSelector("[data-post]", SLOW);
    await page.evaluate(() => document.activeElement?.blur());
    await page.keyboard.press("/");
    await page.keyboard.type("rollback");
    await page.waitForSelector(".source", SLOW);
    const response = await api("/api/search?q=rollback");
    assert.deepEqual(await page.locator("[data-source=docs] .name").allTextContents(), response.docs.map(({ title }) => title));
    await assertLinks(page, response);
    await assertAccessible(page);
    await page.fill("#search", "");
    await page.waitForSelector("[data-post]", SLOW);
    return pageErrors;
  },

  async share(browser) {
    const { page, pageErrors, context } = await openPage(browser);
    await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: base });
    const { id } = await createPost();
    await page.goto(`${base}/suggestions/${id}`);
    await page.waitForSelector(".share-actions", SLOW);
    await page.keyboard.press("y");
    await page.waitForFunction(() => document.querySelector(".notice").textContent !== "");
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), `${base}/suggestions/${id}`);
    await page.keyboard.press("c");
    await page.waitForFunction(async () => (await navigator.clipboard.readText()).includes("\n"), null, SLOW);
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    const response = await assertMatchesServer(page);
    for (const { title } of response.docs) assert.ok(copied.includes(title.replace(/[[\]]/g, "\\$&")), `the copy lacks ${title}`);
    assert.ok(copied.includes(response.model.label), "the copy lacks the label of the model");
    return pageErrors;
  },

  async errors(browser) {
    const { page, pageErrors } = await openPage(browser, { isRejected: true });
    await page.goto(`${base}/suggestions/00000000-0000-0000-0000-000000000000`);
    await page.waitForSelector("text=Post not found", SLOW);
    await assertAccessible(page);
    // Server-side validation errors are shown at their fields.
    const problem = { title: "Invalid", status: 422, detail: "1 problem", errors: [{ pointer: "/tags", message: "this tag is not allowed" }] };
    await page.route("**/api/posts", (route) => route.fulfill({ status: 422, contentType: "application/problem+json", body: JSON.stringify(problem) }));
    await page.goto(`${base}/suggestions`);
    await page.fill("#text", QUESTION);
    await page.click(".start-form .primary");
    await page.waitForSelector("#tags[aria-invalid=true]", SLOW);
    assert.match(await page.textContent("#tags-error"), /not allowed/);
    return pageErrors;
  },

  async markup(browser) {
    const { page, pageErrors } = await openPage(browser);
    const { id } = await createPost({ text: MARKUP, tags: ["<b>"] });
    await page.goto(`${base}/suggestions/${id}`);
    await waitUntilDone(page);
    await page.waitForSelector("h1:not(.visually-hidden)", SLOW);
    assert.equal(await page.textContent("h1"), MARKUP);
    await page.goto(`${base}/suggestions`);
    await page.waitForSelector(`[data-post="${id}"]`, SLOW);
    assert.equal(await page.textContent(`[data-post="${id}"] .post-text`), MARKUP);
    assert.equal(await page.locator("main img, main b").count(), 0);
    assert.notEqual(await page.title(), "pwned");
    return pageErrors;
  },

  async dark(browser) {
    const { page, pageErrors } = await openPage(browser, { colorScheme: "dark" });
    const { id } = await createPost();
    await page.goto(`${base}/suggestions/${id}`);
    await waitUntilDone(page);
    await page.waitForSelector(".share-actions", SLOW);
    await assertAccessible(page);
    await page.goto(`${base}/suggestions`);
    await page.waitForSelector("[data-post]", SLOW);
    await assertAccessible(page);
    return pageErrors;
  },

  async phone(browser) {
    const { page, pageErrors } = await openPage(browser, { viewport: { width: 320, height: 640 }, hasTouch: true, isMobile: true });
    const { id } = await createPost({ text: `${"Incomprehensibilities".repeat(5)}?`, tags: ["a".repeat(20), "b".repeat(20), "c".repeat(20)] });
    await page.goto(`${base}/suggestions`);
    await page.waitForSelector(`[data-post="${id}"]`, SLOW);
    await assertNoHorizontalScroll(page);
    await page.goto(`${base}/suggestions/${id}`);
    await waitUntilDone(page);
    await page.waitForSelector(".share-actions", SLOW);
    await assertNoHorizontalScroll(page);
    assert.ok(await page.isVisible(".status-bar .label"));
    assert.equal(await page.$eval(".planner span", (label) => label.getClientRects().length), 1, "the label is on one line");
    await assertAccessible(page);
    return pageErrors;
  },
};

await runChecks(checks);
