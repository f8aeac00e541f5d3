/**
 * Helpers of the browser checks: pages that record their errors, accessibility audits, proxies, and the runner.
 *
 *   node e2e/<page>.mjs [base address] [check,check…]
 *
 * Environment: BASE (http://127.0.0.1:7878), CHROMIUM (else found on PATH), ONLY (names of checks), SHOTS (folder for screenshots
 * of failed checks), LIMIT (seconds for all checks of a script). One line is printed per check; the exit code is 1 if a
 * check failed or the time limit was reached.
 */
import assert from "node:assert/strict";
import { accessSync, constants, mkdirSync, readFileSync } from "node:fs";
import { createServer, request as forward } from "node:http";
import { createRequire } from "node:module";
import { delimiter, join } from "node:path";
import { chromium } from "playwright-core";

export const base = (process.argv[2] ?? process.env.BASE ?? "http://127.0.0.1:7878").replace(/\/$/, "");
const only = (process.argv[3] ?? process.env.ONLY ?? "").split(",").filter(Boolean);
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
export const MARKUP = `<img src=x onerror="document.title='pwned'"><b>"bold"</b> & 'quotes' 🚲 هل هذا نص؟`;
/** Delay before a connection is closed, because browsers discard unread data. */
const FLUSH_DELAY_MS = 150;
export const SLOW = { timeout: 60_000 };
/** Time limit of a script; the longest takes about two minutes. */
const LIMIT_SECONDS = Number(process.env.LIMIT ?? 600);
/** Time limit for closing the browser before it is killed with the process. */
const CLOSE_MS = 10_000;

/** Aborts the requests of the current check. A stream left open would keep this process and a run of the server alive. */
let requests = new AbortController();
/** Proxies of the current check. */
let proxies = new Set();

function browserPath() {
  if (process.env.CHROMIUM) return process.env.CHROMIUM;
  for (const folder of (process.env.PATH ?? "").split(delimiter)) {
    for (const name of ["chromium", "chromium-browser", "google-chrome"]) {
      const path = join(folder, name);
      try {
        accessSync(path, constants.X_OK);
        return path;
      } catch {
        // Try the next path.
      }
    }
  }
  throw new Error("no chromium: set CHROMIUM to its path");
}

/** Opens a page that records its errors. `at`: URL of the server (default: `base`). */
export async function openPage(browser, options = {}) {
  const origin = `${options.at ?? base}/`;
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, colorScheme: "light", ...options });
  const page = await context.newPage();
  const pageErrors = [];
  page.on("request", (request) => {
    if (!request.url().startsWith(origin) && !request.url().startsWith("data:")) pageErrors.push(`outside request: ${request.url()}`);
  });
  page.on("console", (message) => {
    // The browser logs rejected requests and broken connections; checks that cause them set an option.
    const isProvoked = (options.isRejected && /status of 4\d\d/.test(message.text())) || (options.isBroken && /net::ERR_/.test(message.text()));
    if (message.type() === "error" && !isProvoked) pageErrors.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => pageErrors.push(`error: ${error.message}`));
  await page.addInitScript(() => {
    addEventListener("securitypolicyviolation", (event) => console.error(`policy violated: ${event.violatedDirective} ${event.blockedURI}`));
  });
  return { page, pageErrors, context };
}

/** Sends a request to the server. It is aborted at the latest when the check ends. */
export function request(path, options = {}) {
  return fetch(path.startsWith("/") ? base + path : path, { ...options, signal: requests.signal });
}

/** Starts a run with a POST, closes the event stream of the response, and returns one of its headers. */
export async function start(path, body, header) {
  const stream = new AbortController();
  const response = await fetch(base + path, {
    method: "POST",
    headers: { "Content-Type": "application/json", Accept: "text/event-stream" },
    body: JSON.stringify(body),
    signal: AbortSignal.any([requests.signal, stream.signal]),
  });
  assert.ok(response.ok, `POST ${path}: ${response.status} ${response.ok ? "" : await response.text()}`);
  stream.abort();
  return response.headers.get(header);
}

export async function api(path, options = {}) {
  const response = await request(path, options);
  assert.ok(response.ok, `${options.method ?? "GET"} ${path}: ${response.status}`);
  return response.json();
}

export async function assertAccessible(page) {
  // Evaluated by the driver, to which the content security policy does not apply.
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
  assert.deepEqual(serious.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(" ")}`), []);
}

export async function assertNoHorizontalScroll(page) {
  const { content, view } = await page.evaluate(() => ({ content: document.documentElement.scrollWidth, view: innerWidth }));
  assert.ok(content <= view, `the page is ${content} px wide in a window of ${view}`);
}

/** Starts a proxy that closes the first `times` streams after `bytes` bytes. */
export function dropConnections(times, bytes) {
  return startProxy((upstreamResponse, response, count) => {
    let remaining = count <= times ? bytes : Infinity;
    upstreamResponse.on("data", (chunk) => {
      response.write(chunk.subarray(0, Math.min(remaining, chunk.length)), () => remaining <= 0 && setTimeout(() => response.destroy(), FLUSH_DELAY_MS));
      remaining -= chunk.length;
      if (remaining <= 0) upstreamResponse.destroy();
    });
    upstreamResponse.on("end", () => remaining > 0 && response.end());
  });
}

/** Starts a proxy that delays every event. */
export function delayResponses(milliseconds) {
  return startProxy((upstreamResponse, response) => {
    let rest = "";
    let previous = Promise.resolve();
    upstreamResponse.setEncoding("utf8").on("data", (chunk) => {
      const events = (rest + chunk).split("\n\n");
      rest = events.pop();
      for (const event of events) previous = previous.then(() => new Promise((resolve) => setTimeout(resolve, milliseconds))).then(() => response.write(`${event}\n\n`));
    });
    upstreamResponse.on("end", () => previous.then(() => response.end(rest)));
  });
}

/**
 * Starts a run with a POST and returns its recorded events, including token events, which the server does not store.
 * `header`: response header with the id of the run.
 */
export async function recordRun(path, body, header) {
  const response = await request(path, {
    method: "POST",
    headers: { "Content-Type": "application/json", Accept: "text/event-stream" },
    body: JSON.stringify(body),
  });
  assert.ok(response.ok, `POST ${path}: ${response.status}`);
  const events = (await response.text()).split("\n\n").filter(Boolean);
  return { id: response.headers.get(header), events };
}

/**
 * Starts a proxy that replays a recorded run to a page, independent of the speed of server and browser. Snapshots below `path` are
 * changed to `running` until the last event was sent. The stream pauses after the first event that `isPause` selects, until
 * `resume` is called.
 */
export async function replayRun({ path, events, running, isPause }) {
  const pause = events.findIndex(isPause) + 1;
  assert.ok(pause > 0, "the run has no event to pause after");
  let resume;
  const resumed = new Promise((resolve) => (resume = resolve));
  let isRunning = true;
  const proxy = await startProxy(undefined, (request, response) => {
    const { pathname } = new URL(request.url, base);
    if (request.method !== "GET" || !(pathname === path || pathname === `${path}/stream`)) return false;
    if (pathname === path) {
      if (!isRunning) return false;
      api(request.url).then((snapshot) => {
        response.writeHead(200, { "Content-Type": "application/json" });
        response.end(JSON.stringify({ ...snapshot, ...running(snapshot) }));
      });
      return true;
    }
    response.writeHead(200, { "Content-Type": "text/event-stream" });
    response.write(events.slice(0, pause).map((event) => `${event}\n\n`).join(""));
    resumed.then(() => {
      isRunning = false;
      response.end(events.slice(pause).map((event) => `${event}\n\n`).join(""));
    });
    return true;
  });
  return { ...proxy, resume };
}

/**
 * Starts a proxy. `forwardStream` handles event streams with their number, `respond` answers requests itself and returns
 * true; everything else is forwarded unchanged.
 */
async function startProxy(forwardStream, respond) {
  const streams = [];
  const upstreamRequests = new Set();
  const proxy = createServer((request, response) => {
    if (respond?.(request, response)) return;
    const isStream = /[/?&]stream\b/.test(request.url);
    const count = isStream ? streams.push(request.url) : 0;
    const target = new URL(request.url, base);
    // The server accepts only its own origin.
    const headers = { ...request.headers, host: target.host, ...(request.headers.origin ? { origin: target.origin } : {}) };
    const upstreamRequest = forward(target, { method: request.method, headers }, (upstreamResponse) => {
      response.writeHead(upstreamResponse.statusCode, upstreamResponse.headers);
      response.flushHeaders();
      if (isStream && forwardStream) forwardStream(upstreamResponse, response, count);
      else upstreamResponse.pipe(response);
      upstreamResponse.on("error", () => response.destroy());
    });
    upstreamRequest.on("error", () => response.destroy());
    // The client disconnected, so the upstream request ends too.
    upstreamRequests.add(upstreamRequest);
    upstreamRequest.on("close", () => upstreamRequests.delete(upstreamRequest));
    response.on("close", () => upstreamRequest.destroy());
    request.pipe(upstreamRequest);
  });
  await new Promise((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  const close = () => {
    proxies.delete(close);
    for (const upstreamRequest of upstreamRequests) upstreamRequest.destroy();
    proxy.closeAllConnections();
    proxy.close();
  };
  proxies.add(close);
  return { url: `http://127.0.0.1:${proxy.address().port}`, streams, close };
}

/** Closes requests, proxies and pages of the last check. */
async function cleanUp(browser) {
  requests.abort();
  requests = new AbortController();
  for (const close of proxies) close();
  proxies = new Set();
  for (const context of browser.contexts()) await context.close();
}

/** Prints a last line and ends the process even if handles are open. */
async function end(browser, message, code) {
  process.exitCode = code;
  await Promise.race([browser.close().catch(() => {}), new Promise((resolve) => setTimeout(resolve, CLOSE_MS))]);
  // The callback runs after all earlier output was written.
  await new Promise((resolve) => process.stdout.write(`${message}\n`, resolve));
  process.exit(code);
}

/** Runs the checks and ends the process. A check returns the errors of its pages. */
export async function runChecks(checks) {
  const browser = await chromium.launch({
    executablePath: browserPath(),
    args: ["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"],
  });
  let failures = 0;
  let current = "no check";
  let isOver = false;
  setTimeout(() => {
    isOver = true;
    end(browser, `FAIL time limit: the checks did not end within ${LIMIT_SECONDS} s; the limit was reached in: ${current}`, 1);
  }, LIMIT_SECONDS * 1000);
  for (const [name, check] of Object.entries(checks)) {
    if (isOver) return;
    if (only.length > 0 && !only.includes(name)) continue;
    const startedAt = Date.now();
    current = name;
    try {
      assert.deepEqual(await check(browser), []);
      console.log(`ok   ${name} (${Date.now() - startedAt} ms)`);
    } catch (error) {
      failures++;
      console.log(`FAIL ${name}: ${error.message}`);
      if (process.env.SHOTS) {
        mkdirSync(process.env.SHOTS, { recursive: true });
        for (const [index, page] of browser.contexts().flatMap((context) => context.pages()).entries()) {
          await page.screenshot({ path: join(process.env.SHOTS, `${name}-${index}.png`) }).catch(() => {});
        }
      }
    }
    await cleanUp(browser);
  }
  if (!isOver) await end(browser, failures === 0 ? "all checks passed" : `${failures} failed`, failures === 0 ? 0 : 1);
}
