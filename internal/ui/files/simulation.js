// A simulation of a pool: its form, its runs, and what they say.

import { call, get, part } from "./api.js";
import { problemText } from "./dialog.js";
import { count, duration, field, h, moment, pill, table } from "./dom.js";
import { amountOf, cents, money } from "./money.js";
import { perWords } from "./words.js";

const drawsMax = 100_000, usersMax = 100_000, rateMax = 1_000_000; // of the service
const runsMax = 10, runsFor = 10_000; // runs of one simulation, and how long another begins, in ms
const spare = 5; // users come by chance: so many times as many as the limits need are seldom turned away
const day = 86_400_000;

/** Begin and end of the campaign by its agenda; from now on for a day where it has none. */
function span(agenda) {
  const now = Date.now();
  const next = (states, after) => agenda.filter((item) => states.includes(item.state) && item.done === null && Date.parse(item.at) > after).map((item) => Date.parse(item.at)).sort((a, b) => a - b)[0];
  const from = next(["open"], now) ?? now;
  return { from, to: next(["closed", "paused"], from) ?? from + day };
}

/** A time as the field for one has it: that of this browser, without its zone. */
const local = (ms) => new Date(ms - new Date(ms).getTimezoneOffset() * 60_000).toISOString().slice(0, 16);

/** So many users that the limits of draws turn few of them away. */
function usersFor(draws, rules) {
  const limits = (Array.isArray(rules?.limits) ? rules.limits : []).filter((l) => l.of === "draws" && l.max > 0);
  const least = limits.length ? Math.min(...limits.map((l) => l.max)) : null;
  return least === null ? 1000 : Math.max(1, Math.min(usersMax, Math.ceil((spare * draws) / least)));
}

/** What changes with the clock: in a simulation it begins now, and makes a draw a second or more. */
function followsClock(at, rules) {
  const windows = [...(Array.isArray(rules?.limits) ? rules.limits : []), rules?.budget].filter((part) => part?.per);
  return windows.length > 0 || at.agenda.some((item) => item.hidden || item.done === null && !item.state);
}

/** The form of a simulation: it begins where the pool stands, and writes nothing. own are the rules in force. */
export function simulationForm(at, own, place) {
  const { from, to } = span(at.agenda);
  const begin = h("input", { type: "datetime-local", required: true, value: local(from) }), end = h("input", { type: "datetime-local", required: true, value: local(to) });
  const number = (value, max) => h("input", { type: "number", min: 1, max, value, required: true, inputmode: "numeric" });
  const draws = number(20_000, drawsMax), users = number(1000, usersMax);
  let isTyped = false;
  users.addEventListener("input", () => { isTyped = true; });
  const preset = () => { if (!isTyped) users.value = usersFor(Number(draws.value), own.document); };
  draws.addEventListener("input", preset);
  const run = h("button", { type: "submit" }, "Simulate");
  const form = h("form", { class: "fields simulation" }, field("From", begin), field("To", end), field("Draws", draws), field("Users", users), h("p", {}, run));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    run.disabled = true;
    place.replaceChildren(h("p", { class: "quiet" }, "Drawing in memory…"));
    const wanted = { draws: Number(draws.value), users: Number(users.value), from: Date.parse(begin.value), to: Date.parse(end.value) };
    try {
      if (!(wanted.from < wanted.to)) throw Object.assign(new Error("The end is not after the beginning."), { title: "No time between" });
      await runs(at, own.document, wanted, place);
    } catch (problem) {
      if (!at.signal.aborted) place.replaceChildren(h("div", { class: "error" }, problemText(problem)));
    } finally {
      run.disabled = false;
    }
  });
  return { element: form, preset };
}

/** Runs a simulation some times, each with other numbers, and shows what came of them so far. */
async function runs(at, rules, wanted, place) {
  const seconds = (wanted.to - wanted.from) / 1000;
  const rate = Math.min(rateMax, Math.max(1, Math.round(wanted.draws / seconds)));
  const done = [], since = Date.now();
  for (let seed = 1; seed <= runsMax && (seed === 1 || Date.now() - since < runsFor) && !at.signal.aborted; seed++) {
    done.push(await get(`admin/pools/${part(at.id)}/simulation?draws=${wanted.draws}&users=${wanted.users}&rate=${rate}&seed=${seed}`, { signal: at.signal }));
    if (seed === 1) place.replaceChildren(...result(at, rules, { ...wanted, rate }, done));
  }
  if (!at.signal.aborted) place.replaceChildren(...result(at, rules, { ...wanted, rate }, done));
}

/** Checks a draft of rules, and shows what some draws would give under it. Nothing is written. */
export async function simulateDraft(at, draft, place) {
  place.replaceChildren(h("p", { class: "quiet" }, "Drawing in memory…"));
  const rules = JSON.parse(draft), draws = 20_000, users = usersFor(draws, rules), rate = 50;
  const { data } = await call("POST", `admin/pools/${part(at.id)}/simulation?draws=${draws}&users=${users}&rate=${rate}`, { body: draft });
  const now = Date.now();
  place.replaceChildren(h("p", {}, `The document is good. ${count(draws)} draws of ${count(users)} users would give:`), ...result(at, rules, { draws, users, rate, from: now, to: now + (draws / rate) * 1000, isDraft: true }, [data]));
}

const mean = (numbers) => numbers.reduce((sum, n) => sum + n, 0) / numbers.length;
const middle = (numbers) => numbers.sort((a, b) => a - b)[Math.floor(numbers.length / 2)];

/** What the runs say: of each prize how many are drawn, whether it is used up and when, and how often some is left. */
function result(at, rules, wanted, done) {
  const prizes = new Map(at.pool.prizes.map((prize) => [prize.id, prize]));
  const isOwnClock = followsClock(at, rules), first = done[0], isExact = !isOwnClock && done.every((run) => refusedOf(run) === soldOut(run));
  const rows = first.prizes.slice(0, 200).map((_, i) => {
    const of = done.map((run) => run.prizes[i]), prize = prizes.get(of[0].prize);
    const drawn = Math.round(mean(of.map((p) => p.count)));
    const ends = of.map((p) => p.sold_out_after).filter((n) => n !== null);
    const worth = !prize || prize.kind === "blank" ? "–" : money(amountOf(cents(prize.value) * BigInt(drawn)), at.pool.currency);
    const left = prize?.stocked === null ? "–" : `${Math.round(((done.length - ends.length) / done.length) * 100)} %`;
    return [h("span", {}, h("b", {}, prize?.name ?? of[0].prize), " ", h("code", {}, of[0].prize)), count(drawn), worth, ends.length ? usedUp(wanted, isExact, middle(ends)) : "no", left];
  });
  const worth = first.prizes.reduce((sum, p, i) => sum + cents(prizes.get(p.prize)?.value ?? "0.00") * BigInt(Math.round(mean(done.map((run) => run.prizes[i].count)))), 0n);
  return [
    h("p", { dataset: { runs: done.length } }, verdict(first), ` ${count(first.draws)} draws got an answer. `, `The prizes of such a run are worth ${money(amountOf(worth), at.pool.currency)}. `, withheld(first)),
    turnedAway(first, rules), isOwnClock && ofTheClock(at, wanted), failed(first),
    table(done.length === 1 ? "Result of a simulation" : `Result of ${count(done.length)} simulations`, ["Prize", "#Drawn", "#Value", "#Used up", "#Some is left"], rows),
    h("p", { class: "quiet" }, done.length === 1 ? "Of one run. Another gives other numbers." : `Means of ${count(done.length)} runs with other numbers. “Used up” is that of the middle run, “Some is left” the part of the runs that left a unit.`),
    technical(first),
  ].filter(Boolean);
}

/** When a prize is used up: by the day of the campaign where the clock changes nothing, since draws come evenly; else by the number of draws. */
function usedUp({ draws, from, to }, isExact, after) {
  if (!isExact) return `after ${count(after)} draws`;
  const when = from + ((to - from) * after) / draws;
  return to - from <= day ? moment(when) : `day ${count(Math.floor((when - from) / day) + 1)}, ${moment(when)}`;
}

const soldOut = (run) => run.refusals?.["sold-out"] ?? 0;
const refusedOf = (run) => Object.values(run.refusals ?? {}).reduce((sum, n) => sum + n, 0);

/** Whether chance explains the run. What was turned away is nothing that was expected. */
function verdict(run) {
  const refused = refusedOf(run);
  if (run.unlikely) return pill("unlikely", "bad");
  if (refused > 0) return pill(`${count(refused)} of ${count(run.draws + refused)} turned away`, "paused");
  return run.prizes.some((p) => p.z !== null) && pill("as expected", "open");
}

const whys = { "sold-out": "the prize was used up", limit: "the user had won enough", budget: "the budget was used up", guarantee: "the guarantee was due", moment: "a winning moment was due" };

const withheld = (run) => Object.entries(run.redirects ?? {}).map(([why, n]) => `${count(n)} times ${whys[why] ?? why}.`).join(" ");

/** What turned draws away, and what to do about it. */
function turnedAway(run, rules) {
  const refused = refusedOf(run);
  if (refused === 0) return null;
  const byLimit = run.refusals["limit-reached"] ?? 0, sold = soldOut(run);
  const limits = (rules?.limits ?? []).filter((l) => l.of === "draws");
  const name = limits.length === 1 ? `the limit of ${limits[0].max === 1 ? "1 draw" : `${count(limits[0].max)} draws`} ${perWords(limits[0].per)}` : "the limits of draws";
  const others = Object.entries(run.refusals).filter(([code]) => code !== "limit-reached" && code !== "sold-out").map(([code, n]) => `${count(n)} by ${code}`).join(", ");
  return h("p", { class: "warning" }, [
    byLimit > 0 && `Of ${count(run.draws + refused)} tries ${count(byLimit)} were turned away by ${name}: raise the users.`,
    sold > 0 && `${count(sold)} came when nothing was left.`, others && `Turned away: ${others}.`,
  ].filter(Boolean).join(" "));
}

/** What this simulation does not know of the campaign. */
function ofTheClock(at, { draws, users, rate, from, to, isDraft }) {
  const covered = (draws / rate) * 1000;
  if (isDraft) return h("p", { class: "warning" }, `The clock of this simulation begins now and runs for ${duration(covered / 1000)}, without the agenda: days and weeks of the rules count only as far.`); // the command knows only the rules in force
  const start = new Date(from).toISOString();
  const perHour = Math.max(1, Math.round(draws / ((to - from) / 3_600_000)));
  return h("p", { class: "warning" }, `The clock of this simulation begins now and runs for ${duration(covered / 1000)} of the ${duration((to - from) / 1000)}, without the agenda: days and weeks of the rules count only as far. For the whole campaign: `,
    h("code", { class: "break" }, `drawsvc simulate --pool ${at.id} --from ${start} --rate ${perHour}/h --draws ${draws} --users ${users}`));
}

const failed = (run) => run.failed?.length > 0 && h("p", { class: "warning" }, `${count(run.failed.length)} items of the agenda were not possible: ${run.failed[0].detail}.`);

function technical(run) {
  const share = (n) => (n === null ? "–" : `${(n * 100).toPrecision(4)} %`);
  const rows = run.prizes.slice(0, 200).map((p) => [h("code", {}, p.prize), count(p.count), share(p.share), share(p.expected), p.z === null ? "–" : p.z.toFixed(2), p.sold_out_after === null ? "–" : count(p.sold_out_after)]);
  return h("details", {}, h("summary", {}, "Technical"), h("p", {}, `Value given under the budget: ${run.spent}.`), table("The first run", ["Prize", "#Drawn", "#Share", "#Expected", "#Deviation (σ)", "#Sold out after"], rows));
}
