/**
 * Browser checks of the scheduler page against a running server.
 *
 *   node e2e/scheduler.mjs [base address] [check,check…]
 *
 * See `support.mjs` for the environment. The server needs only its sample family: a parent and a child. Every check uses a Sunday
 * without events, so that the checks can be repeated.
 */
import assert from "node:assert/strict";
import { api, assertAccessible, assertNoHorizontalScroll, base, MARKUP, openPage, request, runChecks, SLOW } from "./support.mjs";

const USER = "superstep.scheduler.user";
const DAY_MS = 86_400_000;
/** A distant time zone: times must not depend on the browser. */
const REMOTE_TIME_ZONE = "Asia/Tokyo";
const PHONE = { viewport: { width: 320, height: 640 }, hasTouch: true, isMobile: true };

const settings = await api("/api/scheduler/settings");
const parent = settings.members.find(({ role }) => role === "parent");
const child = settings.members.find(({ role }) => role === "child");
const { now, family, calendars } = await api(`/api/scheduler/settings?user_id=${parent.id}`);
const userQuery = `user_id=${encodeURIComponent(parent.id)}`;

const addDays = (day, count) => new Date(Date.parse(`${day}T00:00:00Z`) + count * DAY_MS).toISOString().slice(0, 10);
const sentenceFor = (day) => `Schedule soccer practice for ${child.name} on ${day} at 2pm with the car`;
const post = (path, body) => api(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ user_id: parent.id, ...body }) });
const localTime = (time) => time.slice(0, 16);

/** Returns the events of a day. The range includes adjacent days, because the day is local to the family. */
async function eventsOn(day) {
  const query = new URLSearchParams({ user_id: parent.id, from: `${addDays(day, -1)}T00:00:00Z`, to: `${addDays(day, 2)}T00:00:00Z` });
  const { events } = await api(`/api/scheduler/events?${query}`);
  return events.filter(({ start, end }) => start.slice(0, 10) <= day && end.slice(0, 16) > `${day}T00:00`);
}

let lastSunday = addDays(now.slice(0, 10), 14);

/** Returns the next Sunday without events that no check has used. */
async function freeSunday() {
  for (let attempts = 0; attempts < 52; attempts++) {
    lastSunday = addDays(lastSunday, 7 - new Date(`${lastSunday}T00:00:00Z`).getUTCDay());
    if ((await eventsOn(lastSunday)).length === 0) return lastSunday;
  }
  throw new Error("no Sunday of the year is free");
}

/** Creates an event through the API and confirms it if necessary. */
async function schedule(text) {
  const answer = await post("/api/scheduler/events", { text });
  const confirmed = answer.waiting?.kind === "confirmation"
    ? await post(`/api/scheduler/threads/${answer.workflow_id}/answer`, { question_id: answer.waiting.question_id, answer: { confirm: true } })
    : answer;
  assert.equal(confirmed.status, "completed", `“${text}”: ${confirmed.waiting?.question ?? confirmed.explanation}`);
  return confirmed;
}

/** Opens a page with a selected member. */
async function openScheduler(browser, options = {}) {
  const { user = parent.id, ...more } = options;
  const result = await openPage(browser, { timezoneId: REMOTE_TIME_ZONE, ...more });
  await result.page.addInitScript(([key, id]) => { if (id && !localStorage.getItem(key)) localStorage.setItem(key, id); }, [USER, user]);
  return result;
}

async function sendRequest(page, sentence) {
  await page.fill("#request", sentence);
  await page.keyboard.press("Enter");
}

/** Waits until the request is completed and confirms it if necessary. */
async function waitUntilCompleted(page) {
  await page.waitForSelector(".answer.is-completed, .has-confirmation", SLOW);
  if (await page.locator(".has-confirmation [data-answer=yes]").count()) await page.click("[data-answer=yes]");
  await page.waitForSelector(".answer.is-completed", SLOW);
}

/** Requests soccer at 14:00, which conflicts with a dentist from 14:30 to 15:30. */
async function createConflict(page, day) {
  await schedule(`Schedule dentist for ${child.name} on ${day} from 14:30 to 15:30 high priority`);
  await page.goto(`${base}/scheduler?date=${day}`);
  await page.waitForSelector(`[data-day="${day}"] .event`, SLOW);
  await sendRequest(page, sentenceFor(day));
  await page.waitForSelector(".has-resolution", SLOW);
}

const blockAt = (day, time) => `[data-day="${day}"] [data-event][data-start^="${day}T${time}"]`;
const blurActiveElement = (page) => page.evaluate(() => document.activeElement?.blur());
/** Removes errors that the check causes on purpose. */
const withoutErrors = (pageErrors, pattern) => pageErrors.filter((error) => !pattern.test(error));

const checks = {
  async memberSelect(browser) {
    const { page, pageErrors } = await openScheduler(browser, { user: "" });
    await page.goto(`${base}/scheduler`);
    await page.waitForSelector(".member-select [data-member]", SLOW);
    assert.deepEqual(await page.$$eval(".member-select [data-member]", (elements) => elements.map((element) => element.dataset.member)), settings.members.map(({ id }) => id));
    await assertAccessible(page);
    await page.click(`[data-member="${parent.id}"]`);
    await page.waitForSelector(".week", SLOW);
    await page.reload();
    await page.waitForSelector(".week", SLOW);
    assert.equal(await page.inputValue("#user"), parent.id, "the member is saved");
    assert.ok((await page.textContent(".calendar-meta .label")).trim().length > 0, "the parser is named");
    await assertAccessible(page);
    return pageErrors;
  },

  async plan(browser) {
    const { page, pageErrors } = await openScheduler(browser);
    const day = await freeSunday();
    await page.goto(`${base}/scheduler`);
    await page.waitForSelector(".week", SLOW);
    // With the keyboard only: the input has the focus, Enter submits.
    await page.keyboard.insertText(sentenceFor(day));
    await page.keyboard.press("Enter");
    await waitUntilCompleted(page);
    await page.waitForSelector(blockAt(day, "14:00"), SLOW);
    const [event] = await eventsOn(day);
    assert.deepEqual([localTime(event.start), localTime(event.end)], [`${day}T14:00`, `${day}T15:00`]);
    assert.equal(await page.getAttribute(blockAt(day, "14:00"), "data-event"), event.event_id);
    assert.match(await page.textContent(`${blockAt(day, "14:00")} .time`), /2 – 3 pm/, "in the time zone of the family, not of the browser");
    const chips = await page.$$eval(".chip:not(.is-addable)", (elements) => elements.map((element) => element.dataset.part));
    for (const part of ["title", "date", "time", "people", "resources"]) assert.ok(chips.includes(part), `no chip for ${part}: ${chips}`);
    assert.match(await page.textContent("[role=timer]"), /^(10:00|9:\d\d) left$/);
    await assertAccessible(page);
    return pageErrors;
  },

  async dictate(browser) {
    const { page, pageErrors, context } = await openScheduler(browser);
    // Only the browser API is mocked.
    await page.addInitScript(() => {
      window.SpeechRecognition = class {
        start() { setTimeout(() => this.onresult({ results: [[{ transcript: "dinner on Sunday" }], [{ transcript: " at six" }]] }), 50); }
        stop() { this.onend(); }
        abort() {}
      };
    });
    await page.goto(`${base}/scheduler`);
    await page.click(".dictate", SLOW);
    await page.waitForFunction(() => document.getElementById("request").value === "dinner on Sunday at six", null, SLOW);
    assert.equal(await page.getAttribute(".dictate", "aria-pressed"), "true");
    assert.match(await page.textContent(".request-input [role=status]"), /may send audio/, "the hint names where audio is sent");
    await page.click(".dictate");
    assert.equal(await page.getAttribute(".dictate", "aria-pressed"), "false");
    const unsupportedPage = await context.newPage();
    await unsupportedPage.addInitScript(() => {
      delete window.SpeechRecognition;
      delete window.webkitSpeechRecognition;
    });
    await unsupportedPage.goto(`${base}/scheduler`);
    await unsupportedPage.waitForSelector(".week", SLOW);
    assert.equal(await unsupportedPage.locator(".dictate").count(), 0, "hidden without browser support");
    return pageErrors;
  },

  async conflict(browser) {
    const { page, pageErrors } = await openScheduler(browser);
    const day = await freeSunday();
    await createConflict(page, day);
    const thread = await page.getAttribute(".answer", "data-thread");
    const { waiting } = await api(`/api/scheduler/threads/${thread}?${userQuery}`);
    const ids = await page.$$eval("[data-resolution]", (elements) => elements.map((element) => element.dataset.resolution));
    assert.equal(ids[0], waiting.recommended, "the recommended resolution is first");
    assert.deepEqual([...ids].sort(), waiting.resolutions.map(({ resolution_id }) => resolution_id).sort());
    assert.ok((await page.textContent("[data-conflict]")).toLowerCase().includes("dentist"));
    for (const { resolution_id, side_effects } of waiting.resolutions) {
      const card = await page.textContent(`[data-resolution="${resolution_id}"]`);
      for (const effect of side_effects) assert.ok(card.includes(effect), `${resolution_id} does not say: ${effect}`);
    }
    // The request is previewed, and focusing a resolution previews it.
    await page.waitForSelector(`[data-preview][data-start^="${day}T14:00"]`, SLOW);
    assert.equal(await page.evaluate(() => document.activeElement?.id), "answer-title", "the interrupt has the focus");
    await assertAccessible(page);
    await page.focus(`[data-resolution="${waiting.recommended}"]`);
    await page.waitForSelector(`[data-preview][data-start^="${day}T15:30"][data-end^="${day}T16:30"]`, SLOW);
    await page.keyboard.press("Enter");
    await waitUntilCompleted(page);
    await page.waitForSelector(blockAt(day, "15:30"), SLOW);
    assert.deepEqual((await eventsOn(day)).map(({ start, end }) => [localTime(start), localTime(end)]).sort(), [[`${day}T14:30`, `${day}T15:30`], [`${day}T15:30`, `${day}T16:30`]], "the dentist is unchanged");
    return pageErrors;
  },

  async reload(browser) {
    const { page, pageErrors } = await openScheduler(browser);
    const day = await freeSunday();
    await createConflict(page, day);
    const question = await page.getAttribute(".answer", "data-question");
    for (let times = 0; times < 2; times++) {
      await page.reload();
      await page.waitForSelector(`.has-resolution[data-question="${question}"]`, SLOW);
    }
    // Without the thread in the URL it is listed in the open questions.
    const thread = await page.getAttribute(".answer", "data-thread");
    await page.goto(`${base}/scheduler?date=${day}`);
    await page.click(`[data-open-thread="${thread}"]`, SLOW);
    await page.waitForSelector(`.has-resolution[data-question="${question}"]`, SLOW);
    await blurActiveElement(page);
    await page.keyboard.press("1");
    await waitUntilCompleted(page);
    assert.equal((await eventsOn(day)).length, 2);
    return withoutErrors(pageErrors, /ERR_ABORTED|network/i);
  },

  async decline(browser) {
    const { page, pageErrors } = await openScheduler(browser);
    const day = await freeSunday();
    await createConflict(page, day);
    await page.click("[data-answer=decline]");
    await page.waitForSelector(".answer:not(.is-awaiting_user)", SLOW);
    assert.equal((await eventsOn(day)).length, 1, "only the dentist is there");
    assert.equal(await page.locator("[data-preview]").count(), 0);
    return pageErrors;
  },

  async undo(browser) {
    const { page, pageErrors } = await openScheduler(browser);
    const day = await freeSunday();
    await page.goto(`${base}/scheduler?date=${day}`);
    await page.waitForSelector(".week", SLOW);
    await sendRequest(page, sentenceFor(day));
    await waitUntilCompleted(page);
    await page.waitForSelector(blockAt(day, "14:00"), SLOW);
    const before = await page.textContent("[role=timer]");
    await page.waitForFunction((text) => document.querySelector("[role=timer]").textContent !== text, before, SLOW);
    await page.reload();
    await page.waitForSelector("[role=timer]", SLOW);
    await page.waitForSelector(blockAt(day, "14:00"), SLOW);
    await blurActiveElement(page);
    await page.keyboard.press("u");
    await page.waitForSelector(blockAt(day, "14:00"), { state: "detached", ...SLOW });
    assert.deepEqual(await eventsOn(day), []);
    return withoutErrors(pageErrors, /ERR_ABORTED|network/i);
  },

  async month(browser) {
    const { page, pageErrors } = await openScheduler(browser);
    const day = await freeSunday();
    await schedule(sentenceFor(day));
    await page.goto(`${base}/scheduler?date=${day}`);
    await page.waitForSelector(blockAt(day, "14:00"), SLOW);
    await blurActiveElement(page);
    await page.keyboard.press("m");
    await page.waitForSelector(`.month ${blockAt(day, "14:00")}`, SLOW);
    const shown = await page.$$eval(".month [data-day]", (elements) => elements.map((element) => element.dataset.day));
    const first = { sunday: 0, monday: 1, saturday: 6 }[family.week_start];
    assert.equal(new Date(`${shown[0]}T00:00:00Z`).getUTCDay(), first, "weeks start on the configured weekday");
    assert.ok(shown.includes(`${day.slice(0, 7)}-01`) && shown.length % 7 === 0);
    await assertAccessible(page);
    const title = await page.textContent("#calendar-title");
    await page.keyboard.press("ArrowRight");
    await page.waitForFunction((text) => document.getElementById("calendar-title").textContent !== text, title);
    await page.goBack();
    await page.waitForFunction((text) => document.getElementById("calendar-title").textContent === text, title);
    await page.keyboard.press("t");
    // The date may have changed since the first check.
    const { now: today } = await api(`/api/scheduler/settings?${userQuery}`);
    await page.waitForSelector(`[data-day="${today.slice(0, 10)}"].is-today`, SLOW);
    await page.keyboard.press("w");
    await page.waitForSelector(".week .is-today", SLOW);
    return pageErrors;
  },

  async chips(browser) {
    const { page, pageErrors } = await openScheduler(browser);
    const [day, other] = [await freeSunday(), await freeSunday()];
    await page.goto(`${base}/scheduler?date=${day}`);
    await page.waitForSelector(".week", SLOW);
    await sendRequest(page, sentenceFor(day));
    await waitUntilCompleted(page);
    await page.click("[data-part=date]");
    await page.fill(".editor input", other);
    await page.keyboard.press("Enter");
    await page.waitForSelector(blockAt(other, "14:00"), SLOW);
    assert.deepEqual(await eventsOn(day), []);
    assert.equal((await eventsOn(other)).length, 1, "the event was moved, not created twice");
    await page.click("[data-part=time]");
    await assertAccessible(page);
    await page.keyboard.press("Escape");
    assert.equal(await page.evaluate(() => document.activeElement?.dataset.part), "time", "the focus returns to the chip");
    return pageErrors;
  },

  async movedOccurrence(browser) {
    const { page, pageErrors } = await openScheduler(browser);
    const day = await freeSunday();
    const [next, third] = [addDays(day, 7), addDays(day, 14)];
    await schedule(`Schedule choir for ${child.name} on ${day} at 9am every Sunday 3 times`);
    await page.goto(`${base}/scheduler?date=${next}`);
    await page.waitForSelector(blockAt(next, "09:00"), SLOW);
    await sendRequest(page, `Move choir on ${next} to 10am`);
    await waitUntilCompleted(page);
    await page.click("[data-part=time]");
    await page.fill(".editor input", "11:00");
    await page.keyboard.press("Enter");
    await page.waitForSelector(blockAt(next, "11:00"), SLOW);
    for (const other of [day, third]) {
      assert.ok((await eventsOn(other)).some(({ start }) => localTime(start) === `${other}T09:00`), "only the moved occurrence is corrected");
    }
    return pageErrors;
  },

  async correction(browser) {
    const { page, pageErrors } = await openScheduler(browser);
    const [day, other] = [await freeSunday(), await freeSunday()];
    await createConflict(page, day);
    const thread = await page.getAttribute(".answer", "data-thread");
    await page.click("[data-part=date]");
    await page.fill(".editor input", other);
    await page.keyboard.press("Enter");
    await page.waitForFunction((id) => { const answer = document.querySelector(".answer"); return answer && answer.dataset.thread !== id; }, thread, SLOW);
    await waitUntilCompleted(page);
    await page.waitForSelector(blockAt(other, "14:00"), SLOW);
    assert.equal((await eventsOn(day)).length, 1, "only the dentist is left on the first day");
    return pageErrors;
  },

  async clarification(browser) {
    const { page, pageErrors } = await openScheduler(browser);
    const day = await freeSunday();
    await page.goto(`${base}/scheduler?date=${day}`);
    await page.waitForSelector(".week", SLOW);
    await sendRequest(page, "Do the thing");
    await page.waitForSelector(".has-clarification", SLOW);
    await assertAccessible(page);
    assert.equal(await page.isDisabled(".question-form .primary"), true, "nothing to answer yet");
    await page.fill("#missing-words", `dinner for ${child.name} on ${day} at 18:00`);
    await page.keyboard.press("Enter");
    await waitUntilCompleted(page);
    await page.waitForSelector(blockAt(day, "18:00"), SLOW);
    const thread = await api(`/api/scheduler/threads/${await page.getAttribute(".answer", "data-thread")}?${userQuery}`);
    assert.equal(thread.messages.filter(({ role }) => role === "user").length, 2);
    return pageErrors;
  },

  async query(browser) {
    const { page, pageErrors } = await openScheduler(browser);
    await page.goto(`${base}/scheduler`);
    await page.waitForSelector(".week", SLOW);
    const today = now.slice(0, 10);
    const count = async () => (await api(`/api/scheduler/events?${new URLSearchParams({ user_id: parent.id, from: `${today}T00:00:00Z`, to: `${addDays(today, 60)}T00:00:00Z` })}`)).events.length;
    const before = await count();
    await sendRequest(page, "When is everyone free this weekend?");
    await page.waitForSelector(".answer.is-completed .results", SLOW);
    const answer = await api(`/api/scheduler/threads/${await page.getAttribute(".answer", "data-thread")}?${userQuery}`);
    assert.equal(await page.locator(".results li").count(), answer.result.query.results.free.length);
    assert.equal(await count(), before, "nothing was written");
    assert.equal(await page.locator("[role=timer]").count(), 0, "there is nothing to undo");
    await assertAccessible(page);
    return pageErrors;
  },

  async details(browser) {
    const { page, pageErrors } = await openScheduler(browser, { isRejected: true });
    const day = await freeSunday();
    await schedule(sentenceFor(day));
    await page.goto(`${base}/scheduler?date=${day}`);
    await page.click(blockAt(day, "14:00"), SLOW);
    await page.waitForSelector(".event-dialog[open]", SLOW);
    await assertAccessible(page);
    await page.click("[data-action=edit]");
    await page.fill("#title", "Football");
    await page.fill("#startTime", "16:00");
    assert.equal(await page.inputValue("#endTime"), "17:00", "the end moves with the start");
    await assertAccessible(page);
    await page.fill("#endTime", "15:00");
    await page.click("[data-action=save]");
    await page.waitForSelector("#endDay[aria-invalid=true]");
    await page.fill("#endTime", "17:00");
    await page.click("[data-action=save]");
    await page.waitForSelector(blockAt(day, "16:00"), SLOW);
    assert.deepEqual((await eventsOn(day)).map(({ title, start, end }) => [title, localTime(start), localTime(end)]), [["Football", `${day}T16:00`, `${day}T17:00`]]);
    await page.click(blockAt(day, "16:00"));
    await page.click("[data-action=remove]");
    await page.click("[data-action=really]");
    await page.waitForSelector(blockAt(day, "16:00"), { state: "detached", ...SLOW });
    assert.deepEqual(await eventsOn(day), []);
    return pageErrors;
  },

  async series(browser) {
    const { page, pageErrors } = await openScheduler(browser);
    const day = await freeSunday();
    await schedule(`Schedule choir for ${child.name} on ${day} at 9am every Sunday 3 times`);
    await page.goto(`${base}/scheduler?date=${day}`);
    await page.click(blockAt(day, "09:00"), SLOW);
    await page.click("[data-action=remove]");
    await page.check(".series-scope [value=this]");
    await page.click("[data-action=really]");
    await page.waitForSelector(blockAt(day, "09:00"), { state: "detached", ...SLOW });
    const next = addDays(day, 7);
    assert.ok((await eventsOn(next)).some(({ start }) => localTime(start) === `${next}T09:00`), "the others stay");
    await page.goto(`${base}/scheduler?date=${next}`);
    await page.click(blockAt(next, "09:00"), SLOW);
    await page.click("[data-action=remove]");
    await page.check(".series-scope [value=all]");
    await page.click("[data-action=really]");
    await page.waitForSelector(blockAt(next, "09:00"), { state: "detached", ...SLOW });
    assert.ok(!(await eventsOn(addDays(day, 14))).some(({ start }) => localTime(start).endsWith("T09:00")));
    return pageErrors;
  },

  async importIcs(browser) {
    const { page, pageErrors } = await openScheduler(browser);
    const day = await freeSunday();
    const dateStamp = day.replaceAll("-", "");
    const lines = [
      "BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//check//check//EN",
      "BEGIN:VEVENT", `UID:check-${dateStamp}@example.org`, `DTSTAMP:${dateStamp}T000000Z`, `DTSTART:${dateStamp}T100000`, `DTEND:${dateStamp}T110000`, "SUMMARY:Flea market", "ATTENDEE:urn:superstep:member:emma", "END:VEVENT",
      "BEGIN:VEVENT", `UID:meets-${dateStamp}@example.org`, `DTSTAMP:${dateStamp}T000000Z`, `DTSTART:${dateStamp}T103000`, `DTEND:${dateStamp}T113000`, "SUMMARY:Brunch", "ATTENDEE:urn:superstep:member:emma", "END:VEVENT",
      "BEGIN:VEVENT", `UID:broken-${dateStamp}@example.org`, `DTSTAMP:${dateStamp}T000000Z`, "DTSTART:nonsense", "SUMMARY:Broken", "END:VEVENT",
      "END:VCALENDAR", "",
    ];
    const file = { name: "sunday.ics", mimeType: "text/calendar", buffer: Buffer.from(lines.join("\r\n")) };
    await page.goto(`${base}/scheduler?date=${day}`);
    await page.waitForSelector(".week", SLOW);
    await page.setInputFiles("#import", file);
    await page.waitForSelector("[data-created='2']", SLOW);
    await page.waitForSelector(blockAt(day, "10:00"), SLOW);
    assert.match(await page.textContent(".import-report"), /line \d+/, "skipped entries are reported with their line");
    assert.match(await page.textContent(".import-conflicts"), /“Flea market” and “Brunch” both need Emma/, "new conflicts are reported");
    await page.setInputFiles("#import", file);
    await page.waitForSelector("[data-created='0']", SLOW);
    assert.equal((await eventsOn(day)).length, 2, "importing twice changes nothing");
    await page.setInputFiles("#import", { name: "holiday.png", mimeType: "image/png", buffer: Buffer.from("x") });
    await page.waitForSelector(".ics-import .problem", SLOW);
    await assertAccessible(page);
    return pageErrors;
  },

  async feed(browser) {
    const { page, pageErrors, context } = await openScheduler(browser);
    await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: base });
    await page.goto(`${base}/scheduler`);
    await page.waitForSelector(".week", SLOW);
    const download = await request(await page.getAttribute(".feed a", "href"));
    assert.match(await download.text(), /^BEGIN:VCALENDAR/);
    if (await page.locator("[data-feed]").count()) {
      await page.click("[data-feed]");
      await page.waitForFunction(() => document.querySelector(".feed .notice").textContent !== "");
      const address = await page.evaluate(() => navigator.clipboard.readText());
      assert.match(await (await request(address)).text(), /^BEGIN:VCALENDAR/);
    }
    return pageErrors;
  },

  async errors(browser) {
    const { page, pageErrors } = await openScheduler(browser, { isRejected: true, user: "nobody-of-this-family" });
    await page.goto(`${base}/scheduler`);
    await page.waitForSelector(".member-select [role=alert]", SLOW);
    await page.click(`[data-member="${parent.id}"]`);
    await page.waitForSelector(".week", SLOW);
    await page.click(".request-input .primary");
    await page.waitForSelector("#request[aria-invalid=true]");
    await page.fill("#request", "x".repeat(2_001));
    assert.match(await page.textContent("#request-error"), /1 character too many/);
    // Server-side validation errors are shown at their fields.
    const problem = { title: "Invalid", status: 422, detail: "1 problem", problems: [{ pointer: "/text", message: "this cannot be read" }] };
    await page.route("**/api/scheduler/events", (route) => route.fulfill({ status: 422, contentType: "application/problem+json", body: JSON.stringify(problem) }));
    await sendRequest(page, "Something");
    await page.waitForFunction(() => document.getElementById("request-error")?.textContent.includes("this cannot be read"));
    assert.equal(await page.inputValue("#request"), "Something", "the input is kept");
    await assertAccessible(page);
    await page.goto(`${base}/scheduler?thread=conv_0000000000000000`);
    await page.waitForSelector(".week", SLOW);
    await page.waitForFunction(() => !location.search.includes("thread"), null, SLOW);
    return pageErrors;
  },

  async offline(browser) {
    const { page } = await openScheduler(browser);
    await page.goto(`${base}/scheduler`);
    await page.waitForSelector(".week", SLOW);
    await page.route("**/api/scheduler/**", (route) => route.abort());
    await page.click("[data-go=next]");
    await page.waitForSelector(".connection-status.is-reconnecting", SLOW);
    await page.waitForSelector(".skeleton", SLOW);
    assert.equal(await page.locator(".week").count(), 0, "unloaded days do not look free");
    await sendRequest(page, "Anything");
    await page.waitForSelector(".request-input [role=alert]", SLOW);
    await page.unroute("**/api/scheduler/**");
    await page.waitForSelector(".connection-status.is-reconnected", SLOW);
    await page.waitForSelector(".week", SLOW);
    return [];
  },

  async markup(browser) {
    const { page, pageErrors } = await openScheduler(browser);
    const day = await freeSunday();
    const { result } = await schedule(sentenceFor(day));
    const id = result.event.event_id ?? result.event.id;
    await api(`/api/scheduler/events/${id}`, { method: "PATCH", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ user_id: parent.id, title: MARKUP, notes: MARKUP }) });
    await page.goto(`${base}/scheduler?date=${day}`);
    await page.click(blockAt(day, "14:00"), SLOW);
    assert.equal(await page.textContent("#event-dialog-title"), MARKUP);
    assert.equal(await page.locator("main img, main b").count(), 0);
    assert.notEqual(await page.title(), "pwned");
    return pageErrors;
  },

  async dark(browser) {
    const { page, pageErrors } = await openScheduler(browser, { colorScheme: "dark" });
    await createConflict(page, await freeSunday());
    await assertAccessible(page);
    await page.click("[data-view=month]");
    await page.waitForSelector(".month", SLOW);
    await assertAccessible(page);
    return pageErrors;
  },

  async phone(browser) {
    const { page, pageErrors } = await openScheduler(browser, PHONE);
    const day = await freeSunday();
    await schedule(`Schedule ${"incomprehensibilities".repeat(3)} for ${child.name} on ${day} at 14:00`);
    await page.goto(`${base}/scheduler?date=${day}`);
    await page.waitForSelector(`.day-list ${blockAt(day, "14:00")}`, SLOW);
    assert.equal(await page.locator(".week").count(), 0);
    await assertNoHorizontalScroll(page);
    await assertAccessible(page);
    await page.click("[data-view=month]");
    await page.click(`.is-dots [data-day="${day}"]`, SLOW);
    await page.waitForSelector(`.day-list ${blockAt(day, "14:00")}`, SLOW);
    await assertNoHorizontalScroll(page);
    await assertAccessible(page);
    await page.click(blockAt(day, "14:00"));
    await page.click("[data-action=edit]");
    await assertNoHorizontalScroll(page);
    return pageErrors;
  },

  async print(browser) {
    const { page, pageErrors } = await openScheduler(browser);
    await page.goto(`${base}/scheduler`);
    await page.waitForSelector(".week", SLOW);
    const paper = (await page.pdf({ preferCSSPageSize: true })).toString("latin1");
    assert.equal(paper.match(/\/Type\s*\/Page\b(?!s)/g)?.length, 1, "a week is on one page");
    await page.emulateMedia({ media: "print" });
    for (const part of [".request-input", ".sidebar", ".view-switch", ".page-header"]) assert.equal(await page.isVisible(part), false, part);
    return pageErrors;
  },
};

assert.ok(parent && child && calendars, "the family has a parent, a child and a calendar");
await runChecks(checks);
