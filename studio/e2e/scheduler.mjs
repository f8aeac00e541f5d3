/**
 * The scheduler page from end to end, in a browser, against a running server.
 *
 *   node e2e/scheduler.mjs [base address] [check,check…]
 *
 * See `support.mjs` for the environment. The server needs nothing but the family it comes with: a parent and a child. Every check plans on
 * a Sunday of its own on which nothing is planned yet, so that they can be run again and again.
 */
import assert from "node:assert/strict";
import { api, assertAccessible, assertNoSideways, base, MARKUP, open as openPage, runChecks, SLOW } from "./support.mjs";

const USER = "superstep.scheduler.user";
const DAY_MS = 86_400_000;
/** The browser is far from the family: what it shows must not move with it. */
const FAR = "Asia/Tokyo";
const PHONE = { viewport: { width: 320, height: 640 }, hasTouch: true, isMobile: true };

const settings = await api("/api/scheduler/settings");
const parent = settings.members.find(({ role }) => role === "parent");
const child = settings.members.find(({ role }) => role === "child");
const { now, family, calendars } = await api(`/api/scheduler/settings?user_id=${parent.id}`);
const who = `user_id=${encodeURIComponent(parent.id)}`;

const addDays = (day, count) => new Date(Date.parse(`${day}T00:00:00Z`) + count * DAY_MS).toISOString().slice(0, 10);
const sentenceFor = (day) => `Schedule soccer practice for ${child.name} on ${day} at 2pm with the car`;
const post = (path, body) => api(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ user_id: parent.id, ...body }) });
const wall = (time) => time.slice(0, 16);

/** What the server has on a day; asked from the day before to the day after, because the day is the family's. */
async function eventsOn(day) {
  const query = new URLSearchParams({ user_id: parent.id, from: `${addDays(day, -1)}T00:00:00Z`, to: `${addDays(day, 2)}T00:00:00Z` });
  const { events } = await api(`/api/scheduler/events?${query}`);
  return events.filter(({ start, end }) => start.slice(0, 10) <= day && end.slice(0, 16) > `${day}T00:00`);
}

let last = addDays(now.slice(0, 10), 14);

/** The next Sunday that has nothing on it and that no check has had. */
async function freeSunday() {
  for (let tries = 0; tries < 52; tries++) {
    last = addDays(last, 7 - new Date(`${last}T00:00:00Z`).getUTCDay());
    if ((await eventsOn(last)).length === 0) return last;
  }
  throw new Error("no Sunday of the year is free");
}

/** Plans behind the page's back, without leaving a question. */
async function plan(text) {
  const answer = await post("/api/scheduler/events", { text });
  const confirmed = answer.waiting?.kind === "confirmation"
    ? await post(`/api/scheduler/threads/${answer.workflow_id}/answer`, { question_id: answer.waiting.question_id, answer: { confirm: true } })
    : answer;
  assert.equal(confirmed.status, "completed", `“${text}”: ${confirmed.waiting?.question ?? confirmed.explanation}`);
  return confirmed;
}

/** A page of somebody who has chosen who they are. */
async function open(browser, options = {}) {
  const { user = parent.id, ...more } = options;
  const opened = await openPage(browser, { timezoneId: FAR, ...more });
  await opened.page.addInitScript(([key, id]) => { if (id && !localStorage.getItem(key)) localStorage.setItem(key, id); }, [USER, user]);
  return opened;
}

async function tell(page, sentence) {
  await page.fill("#sentence", sentence);
  await page.keyboard.press("Enter");
}

/** Waits until an answer stands; what only has to be confirmed is. */
async function completed(page) {
  await page.waitForSelector(".answer.is-completed, .asks-confirmation", SLOW);
  if (await page.locator(".asks-confirmation [data-answer=yes]").count()) await page.click("[data-answer=yes]");
  await page.waitForSelector(".answer.is-completed", SLOW);
}

/** Soccer at two, against a dentist from half past two to half past three. */
async function clash(page, day) {
  await plan(`Schedule dentist for ${child.name} on ${day} from 14:30 to 15:30 high priority`);
  await page.goto(`${base}/scheduler?date=${day}`);
  await page.waitForSelector(`[data-day="${day}"] .event`, SLOW);
  await tell(page, sentenceFor(day));
  await page.waitForSelector(".asks-resolution", SLOW);
}

const blockAt = (day, time) => `[data-day="${day}"] [data-event][data-start^="${day}T${time}"]`;
const calm = (page) => page.evaluate(() => document.activeElement?.blur());
/** A refusal that a check provokes is logged by the browser itself. */
const without = (faults, pattern) => faults.filter((fault) => !pattern.test(fault));

const checks = {
  async who(browser) {
    const { page, faults } = await open(browser, { user: "" });
    await page.goto(`${base}/scheduler`);
    await page.waitForSelector(".who [data-member]", SLOW);
    assert.deepEqual(await page.$$eval(".who [data-member]", (all) => all.map((one) => one.dataset.member)), settings.members.map(({ id }) => id));
    await assertAccessible(page);
    await page.click(`[data-member="${parent.id}"]`);
    await page.waitForSelector(".week", SLOW);
    await page.reload();
    await page.waitForSelector(".week", SLOW);
    assert.equal(await page.inputValue("#user"), parent.id, "it is remembered");
    assert.ok((await page.textContent(".about .label")).trim().length > 0, "who understands the sentences is named");
    await assertAccessible(page);
    return faults;
  },

  async plan(browser) {
    const { page, faults } = await open(browser);
    const day = await freeSunday();
    await page.goto(`${base}/scheduler`);
    await page.waitForSelector(".week", SLOW);
    // With keys only: the line has the focus, Enter sends.
    await page.keyboard.insertText(sentenceFor(day));
    await page.keyboard.press("Enter");
    await completed(page);
    await page.waitForSelector(blockAt(day, "14:00"), SLOW);
    const [event] = await eventsOn(day);
    assert.deepEqual([wall(event.start), wall(event.end)], [`${day}T14:00`, `${day}T15:00`]);
    assert.equal(await page.getAttribute(blockAt(day, "14:00"), "data-event"), event.event_id);
    assert.match(await page.textContent(`${blockAt(day, "14:00")} .time`), /2 – 3 pm/, "on the wall of the family, not of the browser");
    const chips = await page.$$eval(".chip:not(.is-more)", (all) => all.map((one) => one.dataset.part));
    for (const part of ["title", "date", "time", "people", "resources"]) assert.ok(chips.includes(part), `no chip for ${part}: ${chips}`);
    assert.match(await page.textContent("[role=timer]"), /^(10:00|9:\d\d) left$/);
    await assertAccessible(page);
    return faults;
  },

  async dictate(browser) {
    const { page, faults, context } = await open(browser);
    // No machine hears here: the browser's part is put on, the page's is not.
    await page.addInitScript(() => {
      window.SpeechRecognition = class {
        start() { setTimeout(() => this.onresult({ results: [[{ transcript: "dinner on Sunday" }], [{ transcript: " at six" }]] }), 50); }
        stop() { this.onend(); }
        abort() {}
      };
    });
    await page.goto(`${base}/scheduler`);
    await page.click(".dictate", SLOW);
    await page.waitForFunction(() => document.getElementById("sentence").value === "dinner on Sunday at six", null, SLOW);
    assert.equal(await page.getAttribute(".dictate", "aria-pressed"), "true");
    assert.match(await page.textContent(".tell [role=status]"), /may send the sound/, "it is said where the sound goes");
    await page.click(".dictate");
    assert.equal(await page.getAttribute(".dictate", "aria-pressed"), "false");
    const deaf = await context.newPage();
    await deaf.addInitScript(() => {
      delete window.SpeechRecognition;
      delete window.webkitSpeechRecognition;
    });
    await deaf.goto(`${base}/scheduler`);
    await deaf.waitForSelector(".week", SLOW);
    assert.equal(await deaf.locator(".dictate").count(), 0, "hidden where the browser cannot");
    return faults;
  },

  async conflict(browser) {
    const { page, faults } = await open(browser);
    const day = await freeSunday();
    await clash(page, day);
    const thread = await page.getAttribute(".answer", "data-thread");
    const { waiting } = await api(`/api/scheduler/threads/${thread}?${who}`);
    const ids = await page.$$eval("[data-way]", (all) => all.map((one) => one.dataset.way));
    assert.equal(ids[0], waiting.recommended, "the recommended way is first");
    assert.deepEqual([...ids].sort(), waiting.resolutions.map(({ resolution_id }) => resolution_id).sort());
    assert.ok((await page.textContent("[data-conflict]")).toLowerCase().includes("dentist"));
    for (const { resolution_id, side_effects } of waiting.resolutions) {
      const card = await page.textContent(`[data-way="${resolution_id}"]`);
      for (const lost of side_effects) assert.ok(card.includes(lost), `${resolution_id} does not say: ${lost}`);
    }
    // What is wanted stands beside what is there, and pointing at a way shows it.
    await page.waitForSelector(`[data-ghost][data-start^="${day}T14:00"]`, SLOW);
    assert.equal(await page.evaluate(() => document.activeElement?.id), "answer-title", "the question has the focus");
    await assertAccessible(page);
    await page.focus(`[data-way="${waiting.recommended}"]`);
    await page.waitForSelector(`[data-ghost][data-start^="${day}T15:30"][data-end^="${day}T16:30"]`, SLOW);
    await page.keyboard.press("Enter");
    await completed(page);
    await page.waitForSelector(blockAt(day, "15:30"), SLOW);
    assert.deepEqual((await eventsOn(day)).map(({ start, end }) => [wall(start), wall(end)]).sort(), [[`${day}T14:30`, `${day}T15:30`], [`${day}T15:30`, `${day}T16:30`]], "the dentist is unchanged");
    return faults;
  },

  async reload(browser) {
    const { page, faults } = await open(browser);
    const day = await freeSunday();
    await clash(page, day);
    const question = await page.getAttribute(".answer", "data-question");
    for (let times = 0; times < 2; times++) {
      await page.reload();
      await page.waitForSelector(`.asks-resolution[data-question="${question}"]`, SLOW);
    }
    // Who comes without its address finds it among the questions that wait.
    const thread = await page.getAttribute(".answer", "data-thread");
    await page.goto(`${base}/scheduler?date=${day}`);
    await page.click(`[data-waits="${thread}"]`, SLOW);
    await page.waitForSelector(`.asks-resolution[data-question="${question}"]`, SLOW);
    await calm(page);
    await page.keyboard.press("1");
    await completed(page);
    assert.equal((await eventsOn(day)).length, 2);
    return without(faults, /ERR_ABORTED|network/i);
  },

  async decline(browser) {
    const { page, faults } = await open(browser);
    const day = await freeSunday();
    await clash(page, day);
    await page.click("[data-answer=decline]");
    await page.waitForSelector(".answer:not(.is-awaiting_user)", SLOW);
    assert.equal((await eventsOn(day)).length, 1, "only the dentist is there");
    assert.equal(await page.locator("[data-ghost]").count(), 0);
    return faults;
  },

  async undo(browser) {
    const { page, faults } = await open(browser);
    const day = await freeSunday();
    await page.goto(`${base}/scheduler?date=${day}`);
    await page.waitForSelector(".week", SLOW);
    await tell(page, sentenceFor(day));
    await completed(page);
    await page.waitForSelector(blockAt(day, "14:00"), SLOW);
    const before = await page.textContent("[role=timer]");
    await page.waitForFunction((text) => document.querySelector("[role=timer]").textContent !== text, before, SLOW);
    await page.reload();
    await page.waitForSelector("[role=timer]", SLOW);
    await page.waitForSelector(blockAt(day, "14:00"), SLOW);
    await calm(page);
    await page.keyboard.press("u");
    await page.waitForSelector(blockAt(day, "14:00"), { state: "detached", ...SLOW });
    assert.deepEqual(await eventsOn(day), []);
    return without(faults, /ERR_ABORTED|network/i);
  },

  async month(browser) {
    const { page, faults } = await open(browser);
    const day = await freeSunday();
    await plan(sentenceFor(day));
    await page.goto(`${base}/scheduler?date=${day}`);
    await page.waitForSelector(blockAt(day, "14:00"), SLOW);
    await calm(page);
    await page.keyboard.press("m");
    await page.waitForSelector(`.month ${blockAt(day, "14:00")}`, SLOW);
    const shown = await page.$$eval(".month [data-day]", (all) => all.map((one) => one.dataset.day));
    const first = { sunday: 0, monday: 1, saturday: 6 }[family.week_start];
    assert.equal(new Date(`${shown[0]}T00:00:00Z`).getUTCDay(), first, "weeks start as the family says");
    assert.ok(shown.includes(`${day.slice(0, 7)}-01`) && shown.length % 7 === 0);
    await assertAccessible(page);
    const title = await page.textContent("#calendar-title");
    await page.keyboard.press("ArrowRight");
    await page.waitForFunction((text) => document.getElementById("calendar-title").textContent !== text, title);
    await page.goBack();
    await page.waitForFunction((text) => document.getElementById("calendar-title").textContent === text, title);
    await page.keyboard.press("t");
    // Midnight may have come since the first check.
    const { now: today } = await api(`/api/scheduler/settings?${who}`);
    await page.waitForSelector(`[data-day="${today.slice(0, 10)}"].is-today`, SLOW);
    await page.keyboard.press("w");
    await page.waitForSelector(".week .is-today", SLOW);
    return faults;
  },

  async chips(browser) {
    const { page, faults } = await open(browser);
    const [day, other] = [await freeSunday(), await freeSunday()];
    await page.goto(`${base}/scheduler?date=${day}`);
    await page.waitForSelector(".week", SLOW);
    await tell(page, sentenceFor(day));
    await completed(page);
    await page.click("[data-part=date]");
    await page.fill(".editor input", other);
    await page.keyboard.press("Enter");
    await page.waitForSelector(blockAt(other, "14:00"), SLOW);
    assert.deepEqual(await eventsOn(day), []);
    assert.equal((await eventsOn(other)).length, 1, "it was moved, not planned twice");
    await page.click("[data-part=time]");
    await assertAccessible(page);
    await page.keyboard.press("Escape");
    assert.equal(await page.evaluate(() => document.activeElement?.dataset.part), "time", "the focus goes back to the chip");
    return faults;
  },

  async moved(browser) {
    const { page, faults } = await open(browser);
    const day = await freeSunday();
    const [next, third] = [addDays(day, 7), addDays(day, 14)];
    await plan(`Schedule choir for ${child.name} on ${day} at 9am every Sunday 3 times`);
    await page.goto(`${base}/scheduler?date=${next}`);
    await page.waitForSelector(blockAt(next, "09:00"), SLOW);
    await tell(page, `Move choir on ${next} to 10am`);
    await completed(page);
    await page.click("[data-part=time]");
    await page.fill(".editor input", "11:00");
    await page.keyboard.press("Enter");
    await page.waitForSelector(blockAt(next, "11:00"), SLOW);
    for (const other of [day, third]) {
      assert.ok((await eventsOn(other)).some(({ start }) => wall(start) === `${other}T09:00`), "only the one that was moved is corrected");
    }
    return faults;
  },

  async correction(browser) {
    const { page, faults } = await open(browser);
    const [day, other] = [await freeSunday(), await freeSunday()];
    await clash(page, day);
    const thread = await page.getAttribute(".answer", "data-thread");
    await page.click("[data-part=date]");
    await page.fill(".editor input", other);
    await page.keyboard.press("Enter");
    await page.waitForFunction((id) => { const answer = document.querySelector(".answer"); return answer && answer.dataset.thread !== id; }, thread, SLOW);
    await completed(page);
    await page.waitForSelector(blockAt(other, "14:00"), SLOW);
    assert.equal((await eventsOn(day)).length, 1, "only the dentist is left on the first day");
    return faults;
  },

  async clarification(browser) {
    const { page, faults } = await open(browser);
    const day = await freeSunday();
    await page.goto(`${base}/scheduler?date=${day}`);
    await page.waitForSelector(".week", SLOW);
    await tell(page, "Do the thing");
    await page.waitForSelector(".asks-clarification", SLOW);
    await assertAccessible(page);
    assert.equal(await page.isDisabled(".question-form .primary"), true, "nothing to answer yet");
    await page.fill("#missing-words", `dinner for ${child.name} on ${day} at 18:00`);
    await page.keyboard.press("Enter");
    await completed(page);
    await page.waitForSelector(blockAt(day, "18:00"), SLOW);
    const thread = await api(`/api/scheduler/threads/${await page.getAttribute(".answer", "data-thread")}?${who}`);
    assert.equal(thread.messages.filter(({ role }) => role === "user").length, 2);
    return faults;
  },

  async query(browser) {
    const { page, faults } = await open(browser);
    await page.goto(`${base}/scheduler`);
    await page.waitForSelector(".week", SLOW);
    const today = now.slice(0, 10);
    const count = async () => (await api(`/api/scheduler/events?${new URLSearchParams({ user_id: parent.id, from: `${today}T00:00:00Z`, to: `${addDays(today, 60)}T00:00:00Z` })}`)).events.length;
    const before = await count();
    await tell(page, "When is everyone free this weekend?");
    await page.waitForSelector(".answer.is-completed .results", SLOW);
    const answer = await api(`/api/scheduler/threads/${await page.getAttribute(".answer", "data-thread")}?${who}`);
    assert.equal(await page.locator(".results li").count(), answer.result.query.results.free.length);
    assert.equal(await count(), before, "nothing was written");
    assert.equal(await page.locator("[role=timer]").count(), 0, "there is nothing to undo");
    await assertAccessible(page);
    return faults;
  },

  async details(browser) {
    const { page, faults } = await open(browser, { isRefused: true });
    const day = await freeSunday();
    await plan(sentenceFor(day));
    await page.goto(`${base}/scheduler?date=${day}`);
    await page.click(blockAt(day, "14:00"), SLOW);
    await page.waitForSelector(".details[open]", SLOW);
    await assertAccessible(page);
    await page.click("[data-act=edit]");
    await page.fill("#title", "Football");
    await page.fill("#startTime", "16:00");
    assert.equal(await page.inputValue("#endTime"), "17:00", "the end goes along");
    await assertAccessible(page);
    await page.fill("#endTime", "15:00");
    await page.click("[data-act=save]");
    await page.waitForSelector("#endDay[aria-invalid=true]");
    await page.fill("#endTime", "17:00");
    await page.click("[data-act=save]");
    await page.waitForSelector(blockAt(day, "16:00"), SLOW);
    assert.deepEqual((await eventsOn(day)).map(({ title, start, end }) => [title, wall(start), wall(end)]), [["Football", `${day}T16:00`, `${day}T17:00`]]);
    await page.click(blockAt(day, "16:00"));
    await page.click("[data-act=remove]");
    await page.click("[data-act=really]");
    await page.waitForSelector(blockAt(day, "16:00"), { state: "detached", ...SLOW });
    assert.deepEqual(await eventsOn(day), []);
    return faults;
  },

  async series(browser) {
    const { page, faults } = await open(browser);
    const day = await freeSunday();
    await plan(`Schedule choir for ${child.name} on ${day} at 9am every Sunday 3 times`);
    await page.goto(`${base}/scheduler?date=${day}`);
    await page.click(blockAt(day, "09:00"), SLOW);
    await page.click("[data-act=remove]");
    await page.check(".which [value=this]");
    await page.click("[data-act=really]");
    await page.waitForSelector(blockAt(day, "09:00"), { state: "detached", ...SLOW });
    const next = addDays(day, 7);
    assert.ok((await eventsOn(next)).some(({ start }) => wall(start) === `${next}T09:00`), "the others stay");
    await page.goto(`${base}/scheduler?date=${next}`);
    await page.click(blockAt(next, "09:00"), SLOW);
    await page.click("[data-act=remove]");
    await page.check(".which [value=all]");
    await page.click("[data-act=really]");
    await page.waitForSelector(blockAt(next, "09:00"), { state: "detached", ...SLOW });
    assert.ok(!(await eventsOn(addDays(day, 14))).some(({ start }) => wall(start).endsWith("T09:00")));
    return faults;
  },

  async bring(browser) {
    const { page, faults } = await open(browser);
    const day = await freeSunday();
    const stamp = day.replaceAll("-", "");
    const lines = [
      "BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//check//check//EN",
      "BEGIN:VEVENT", `UID:check-${stamp}@example.org`, `DTSTAMP:${stamp}T000000Z`, `DTSTART:${stamp}T100000`, `DTEND:${stamp}T110000`, "SUMMARY:Flea market", "ATTENDEE:urn:superstep:member:emma", "END:VEVENT",
      "BEGIN:VEVENT", `UID:meets-${stamp}@example.org`, `DTSTAMP:${stamp}T000000Z`, `DTSTART:${stamp}T103000`, `DTEND:${stamp}T113000`, "SUMMARY:Brunch", "ATTENDEE:urn:superstep:member:emma", "END:VEVENT",
      "BEGIN:VEVENT", `UID:broken-${stamp}@example.org`, `DTSTAMP:${stamp}T000000Z`, "DTSTART:nonsense", "SUMMARY:Broken", "END:VEVENT",
      "END:VCALENDAR", "",
    ];
    const file = { name: "sunday.ics", mimeType: "text/calendar", buffer: Buffer.from(lines.join("\r\n")) };
    await page.goto(`${base}/scheduler?date=${day}`);
    await page.waitForSelector(".week", SLOW);
    await page.setInputFiles("#import", file);
    await page.waitForSelector("[data-created='2']", SLOW);
    await page.waitForSelector(blockAt(day, "10:00"), SLOW);
    assert.match(await page.textContent(".report"), /line \d+/, "what was left out is named with its line");
    assert.match(await page.textContent(".clashes"), /“Flea market” and “Brunch” both need Emma/, "what it has people do at once is told");
    await page.setInputFiles("#import", file);
    await page.waitForSelector("[data-created='0']", SLOW);
    assert.equal((await eventsOn(day)).length, 2, "importing twice changes nothing");
    await page.setInputFiles("#import", { name: "holiday.png", mimeType: "image/png", buffer: Buffer.from("x") });
    await page.waitForSelector(".bring .problem", SLOW);
    await assertAccessible(page);
    return faults;
  },

  async feed(browser) {
    const { page, faults, context } = await open(browser);
    await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: base });
    await page.goto(`${base}/scheduler`);
    await page.waitForSelector(".week", SLOW);
    const download = await fetch(base + (await page.getAttribute(".feed a", "href")));
    assert.match(await download.text(), /^BEGIN:VCALENDAR/);
    if (await page.locator("[data-feed]").count()) {
      await page.click("[data-feed]");
      await page.waitForFunction(() => document.querySelector(".feed .said-so").textContent !== "");
      const address = await page.evaluate(() => navigator.clipboard.readText());
      assert.match(await (await fetch(address)).text(), /^BEGIN:VCALENDAR/);
    }
    return faults;
  },

  async errors(browser) {
    const { page, faults } = await open(browser, { isRefused: true, user: "nobody-of-this-family" });
    await page.goto(`${base}/scheduler`);
    await page.waitForSelector(".who [role=alert]", SLOW);
    await page.click(`[data-member="${parent.id}"]`);
    await page.waitForSelector(".week", SLOW);
    await page.click(".tell .primary");
    await page.waitForSelector("#sentence[aria-invalid=true]");
    await page.fill("#sentence", "x".repeat(2_001));
    assert.match(await page.textContent("#sentence-error"), /1 character too many/);
    // What only the server knows to be wrong is said at the field, too.
    const problem = { title: "Invalid", status: 422, detail: "1 problem", problems: [{ pointer: "/text", message: "this cannot be read" }] };
    await page.route("**/api/scheduler/events", (route) => route.fulfill({ status: 422, contentType: "application/problem+json", body: JSON.stringify(problem) }));
    await tell(page, "Something");
    await page.waitForFunction(() => document.getElementById("sentence-error")?.textContent.includes("this cannot be read"));
    assert.equal(await page.inputValue("#sentence"), "Something", "nothing that was written is lost");
    await assertAccessible(page);
    await page.goto(`${base}/scheduler?thread=conv_0000000000000000`);
    await page.waitForSelector(".week", SLOW);
    await page.waitForFunction(() => !location.search.includes("thread"), null, SLOW);
    return faults;
  },

  async offline(browser) {
    const { page } = await open(browser);
    await page.goto(`${base}/scheduler`);
    await page.waitForSelector(".week", SLOW);
    await page.route("**/api/scheduler/**", (route) => route.abort());
    await page.click("[data-go=next]");
    await page.waitForSelector(".line.is-trying", SLOW);
    await page.waitForSelector(".skeleton", SLOW);
    assert.equal(await page.locator(".week").count(), 0, "days of which nothing is known do not look free");
    await tell(page, "Anything");
    await page.waitForSelector(".tell [role=alert]", SLOW);
    await page.unroute("**/api/scheduler/**");
    await page.waitForSelector(".line.is-back", SLOW);
    await page.waitForSelector(".week", SLOW);
    return [];
  },

  async markup(browser) {
    const { page, faults } = await open(browser);
    const day = await freeSunday();
    const { result } = await plan(sentenceFor(day));
    const id = result.event.event_id ?? result.event.id;
    await api(`/api/scheduler/events/${id}`, { method: "PATCH", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ user_id: parent.id, title: MARKUP, notes: MARKUP }) });
    await page.goto(`${base}/scheduler?date=${day}`);
    await page.click(blockAt(day, "14:00"), SLOW);
    assert.equal(await page.textContent("#details-title"), MARKUP);
    assert.equal(await page.locator("main img, main b").count(), 0);
    assert.notEqual(await page.title(), "pwned");
    return faults;
  },

  async dark(browser) {
    const { page, faults } = await open(browser, { colorScheme: "dark" });
    await clash(page, await freeSunday());
    await assertAccessible(page);
    await page.click("[data-view=month]");
    await page.waitForSelector(".month", SLOW);
    await assertAccessible(page);
    return faults;
  },

  async phone(browser) {
    const { page, faults } = await open(browser, PHONE);
    const day = await freeSunday();
    await plan(`Schedule ${"incomprehensibilities".repeat(3)} for ${child.name} on ${day} at 14:00`);
    await page.goto(`${base}/scheduler?date=${day}`);
    await page.waitForSelector(`.day-list ${blockAt(day, "14:00")}`, SLOW);
    assert.equal(await page.locator(".week").count(), 0);
    await assertNoSideways(page);
    await assertAccessible(page);
    await page.click("[data-view=month]");
    await page.click(`.is-dots [data-day="${day}"]`, SLOW);
    await page.waitForSelector(`.day-list ${blockAt(day, "14:00")}`, SLOW);
    await assertNoSideways(page);
    await assertAccessible(page);
    await page.click(blockAt(day, "14:00"));
    await page.click("[data-act=edit]");
    await assertNoSideways(page);
    return faults;
  },

  async print(browser) {
    const { page, faults } = await open(browser);
    await page.goto(`${base}/scheduler`);
    await page.waitForSelector(".week", SLOW);
    const paper = (await page.pdf({ preferCSSPageSize: true })).toString("latin1");
    assert.equal(paper.match(/\/Type\s*\/Page\b(?!s)/g)?.length, 1, "a week is on one page");
    await page.emulateMedia({ media: "print" });
    for (const part of [".tell", ".side", ".switch", ".top"]) assert.equal(await page.isVisible(part), false, part);
    return faults;
  },
};

assert.ok(parent && child && calendars, "the family has a parent, a child and a calendar");
await runChecks(checks);
