/**
 * What the checks in a browser share: pages that note what they should not do, audits, a line that breaks, and running them.
 *
 *   node e2e/<page>.mjs [base address] [check,check…]
 *
 * Environment: BASE (http://127.0.0.1:7878), CHROMIUM (else found on PATH), ONLY (names of checks), SHOTS (folder for pictures of
 * what failed). One line is printed per check; the exit code is 1 when one failed.
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
/** A browser throws away what it has not yet handed over when a line breaks; so long it gets. */
const HEARD_MS = 150;
export const SLOW = { timeout: 60_000 };

function browserPath() {
  if (process.env.CHROMIUM) return process.env.CHROMIUM;
  for (const folder of (process.env.PATH ?? "").split(delimiter)) {
    for (const name of ["chromium", "chromium-browser", "google-chrome"]) {
      const path = join(folder, name);
      try {
        accessSync(path, constants.X_OK);
        return path;
      } catch {
        // Not here.
      }
    }
  }
  throw new Error("no chromium: set CHROMIUM to its path");
}

/** A page of its own that notes whatever it should not do. `at`: where it finds the server, when that is not `base`. */
export async function open(browser, options = {}) {
  const own = `${options.at ?? base}/`;
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, colorScheme: "light", ...options });
  const page = await context.newPage();
  const faults = [];
  page.on("request", (request) => {
    if (!request.url().startsWith(own) && !request.url().startsWith("data:")) faults.push(`outside request: ${request.url()}`);
  });
  page.on("console", (message) => {
    // What is refused, and a line that breaks, is logged by the browser itself; the checks that provoke it say so.
    const isProvoked = (options.isRefused && /status of 4\d\d/.test(message.text())) || (options.isBroken && /net::ERR_/.test(message.text()));
    if (message.type() === "error" && !isProvoked) faults.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => faults.push(`error: ${error.message}`));
  await page.addInitScript(() => {
    addEventListener("securitypolicyviolation", (event) => console.error(`policy violated: ${event.violatedDirective} ${event.blockedURI}`));
  });
  return { page, faults, context };
}

export async function api(path, options = {}) {
  const response = await fetch(base + path, options);
  assert.ok(response.ok, `${options.method ?? "GET"} ${path}: ${response.status}`);
  return response.json();
}

export async function assertAccessible(page) {
  // Evaluated by the driver, which the page's content policy does not bind.
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
  assert.deepEqual(serious.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(" ")}`), []);
}

export async function assertNoSideways(page) {
  const { content, view } = await page.evaluate(() => ({ content: document.documentElement.scrollWidth, view: innerWidth }));
  assert.ok(content <= view, `the page is ${content} px wide in a window of ${view}`);
}

/** A way to the server that breaks off the first `times` streams after so many bytes, in the middle of a word. */
export function brittle(times, bytes) {
  return way((answer, response, count) => {
    let left = count <= times ? bytes : Infinity;
    answer.on("data", (piece) => {
      response.write(piece.subarray(0, Math.min(left, piece.length)), () => left <= 0 && setTimeout(() => response.destroy(), HEARD_MS));
      left -= piece.length;
      if (left <= 0) answer.destroy();
    });
    answer.on("end", () => left > 0 && response.end());
  });
}

/** A way to the server on which every event takes its time, so that each can be seen. */
export function slow(milliseconds) {
  return way((answer, response) => {
    let rest = "";
    let before = Promise.resolve();
    answer.setEncoding("utf8").on("data", (piece) => {
      const events = (rest + piece).split("\n\n");
      rest = events.pop();
      for (const event of events) before = before.then(() => new Promise((resolve) => setTimeout(resolve, milliseconds))).then(() => response.write(`${event}\n\n`));
    });
    answer.on("end", () => before.then(() => response.end(rest)));
  });
}

/** A way to the server: `pass` hands on what a stream says, the how-manyth it is; all else goes through as it is. */
async function way(pass) {
  const streams = [];
  const proxy = createServer((request, response) => {
    const isStream = /[/?&]stream\b/.test(request.url);
    const count = isStream ? streams.push(request.url) : 0;
    const target = new URL(request.url, base);
    // The server takes orders only from pages of its own.
    const headers = { ...request.headers, host: target.host, ...(request.headers.origin ? { origin: target.origin } : {}) };
    const onward = forward(target, { method: request.method, headers }, (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      response.flushHeaders();
      if (isStream) pass(answer, response, count);
      else answer.pipe(response);
      answer.on("error", () => response.destroy());
    });
    onward.on("error", () => response.destroy());
    request.pipe(onward);
  });
  await new Promise((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  const close = () => {
    proxy.closeAllConnections();
    proxy.close();
  };
  return { address: `http://127.0.0.1:${proxy.address().port}`, streams, close };
}

/** A check gives back what it found wrong beside what it asserts. */
export async function runChecks(checks) {
  const browser = await chromium.launch({
    executablePath: browserPath(),
    args: ["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"],
  });
  let failures = 0;
  for (const [name, check] of Object.entries(checks)) {
    if (only.length > 0 && !only.includes(name)) continue;
    const begun = Date.now();
    try {
      assert.deepEqual(await check(browser), []);
      console.log(`ok   ${name} (${Date.now() - begun} ms)`);
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
    for (const context of browser.contexts()) await context.close();
  }
  await browser.close();
  console.log(failures === 0 ? "all checks passed" : `${failures} failed`);
  process.exitCode = failures === 0 ? 0 : 1;
}
