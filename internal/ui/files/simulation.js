// A simulation of a pool: its form, its runs, and their results.

import { call, get, part } from "./api.js";
import { problemText } from "./dialog.js";
import { bar, count, field, folded, h, moment, pill, table } from "./dom.js";
import { amountOf, cents } from "./money.js";
import { isText, locale, sentenceOf, t } from "./text.js";
import { money, perWords } from "./words.js";
import { clockOf, dateOf, instantOf } from "./zone.js";

const drawsMax = 1_000_000, usersMax = 300_000; // limits of the service
const runsMax = 10, runsFor = 10_000; // the maximum number of runs of one simulation, and the time after which no further run begins, in ms
const spare = 5; // users draw at random: with spare times as many users as necessary, limits seldom refuse a draw
const day = 86_400_000;

/** Begin and end of the campaign according to the planned states; without them a day from now on. */
function span(planned) {
  const now = Date.now();
  const next = (states, after) => planned.filter((item) => states.includes(item.state)).map((item) => Date.parse(item.at)).find((ms) => ms > after);
  const from = next(["open"], now) ?? now;
  return { from, to: next(["closed", "paused"], from) ?? from + day };
}

/** A time in the form of a field for times: without a zone. */
const local = (zone, ms) => `${dateOf(zone, ms)}T${clockOf(zone, ms).slice(0, 5)}`;

const hour = 3_600_000, calendar = { hour, day, week: 7 * day, month: 30 * day };

/** The number of whole windows of a limit between two times, at least 1. */
function windows(per, { from, to }) {
  const length = calendar[per] ?? hour * Number(/^(\d+)h$/.exec(per ?? "")?.[1] ?? Infinity);
  return Math.max(1, Math.floor((to - from) / length));
}

/** A number of users for which the limits of draws refuse few draws. */
function usersFor(draws, rules, span) {
  const limits = (Array.isArray(rules?.limits) ? rules.limits : []).filter((l) => l.of === "draws" && l.max > 0);
  const least = limits.length ? Math.min(...limits.map((l) => l.max * windows(l.per, span))) : null;
  return least === null ? 1000 : Math.max(1, Math.min(usersMax, Math.ceil((spare * draws) / least)));
}

/**
 * The form of a simulation. A simulation begins with the present stock, follows the
 * agenda, and writes nothing. own are the rules in force.
 */
export function simulationForm(at, own, place) {
  const { from, to } = span(at.plans.states);
  const begin = h("input", { type: "datetime-local", required: true, value: local(at.zone, from) }), end = h("input", { type: "datetime-local", required: true, value: local(at.zone, to) });
  const number = (value, max) => h("input", { type: "number", min: 1, max, value, required: true, inputmode: "numeric" });
  const draws = number(20_000, drawsMax), users = number(1000, usersMax);
  let isTyped = false;
  users.addEventListener("input", () => { isTyped = true; });
  const instant = (input) => (input.value ? instantOf(at.zone, ...input.value.split("T")) : NaN);
  const chosen = () => ({ from: instant(begin), to: instant(end) });
  const preset = () => { if (!isTyped) users.value = usersFor(Number(draws.value), own.document, chosen()); };
  for (const input of [draws, begin, end]) input.addEventListener("input", preset);
  const run = h("button", { type: "submit" }, t("simulation.simulate"));
  const form = h("form", { class: "fields simulation" }, field(t("simulation.from"), begin), field(t("simulation.to"), end), field(t("simulation.draws"), draws), field(t("simulation.users"), users), h("p", {}, run));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    run.disabled = true;
    place.replaceChildren(h("p", { class: "quiet" }, t("simulation.drawing")));
    const wanted = { draws: Number(draws.value), users: Number(users.value), ...chosen() };
    try {
      if (!(wanted.from < wanted.to)) throw Object.assign(new Error(t("simulation.noTime")), { title: t("simulation.noTimeTitle") });
      await runs(at, own.document, wanted, place);
    } catch (problem) {
      if (!at.signal.aborted) place.replaceChildren(h("div", { class: "error" }, problemText(problem)));
    } finally {
      run.disabled = false;
    }
  });
  return { element: h("div", {}, form, h("p", { class: "quiet" }, t("simulation.zone", { zone: at.zone }))), preset };
}

/** The path of a run. Its draws are evenly distributed between two times. */
const runOf = (at, { draws, users, from, to }, seed) =>
  `admin/pools/${part(at.id)}/simulation?${new URLSearchParams({ draws, users, from: new Date(from).toISOString(), to: new Date(to).toISOString(), seed })}`;

/** Runs a simulation several times, each with other random numbers, and shows the results so far. */
async function runs(at, rules, wanted, place) {
  const done = [], since = Date.now();
  for (let seed = 1; seed <= runsMax && (seed === 1 || Date.now() - since < runsFor) && !at.signal.aborted; seed++) {
    try {
      done.push(await get(runOf(at, wanted, seed), { signal: at.signal }));
    } catch (problem) {
      if (seed === 1) throw problem;
      break; // a colleague's simulation took the place: the runs so far are enough
    }
    if (seed === 1) place.replaceChildren(...result(at, rules, wanted, done));
  }
  if (!at.signal.aborted) place.replaceChildren(...result(at, rules, wanted, done));
}

/** Checks a draft of rules, and shows the result of a simulation under it. Nothing is written. */
export async function simulateDraft(at, draft, place) {
  place.replaceChildren(h("p", { class: "quiet" }, t("simulation.drawing")));
  const rules = JSON.parse(draft), draws = 20_000;
  const times = span(at.plans.states), wanted = { draws, users: usersFor(draws, rules, times), ...times };
  const { data } = await call("POST", runOf(at, wanted, 1), { body: draft });
  place.replaceChildren(h("p", {}, t("simulation.isGood", { draws, n: wanted.users })), ...result(at, rules, wanted, [data]));
}

const mean = (numbers) => numbers.reduce((sum, n) => sum + n, 0) / numbers.length;
const middle = (sorted) => sorted[Math.floor(sorted.length / 2)];

/**
 * The results of the runs. For each prize they state how many units are drawn, whether
 * and when it is used up, and in how many runs units are left.
 */
function result(at, rules, wanted, done) {
  const prizes = new Map(at.pool.prizes.map((prize) => [prize.id, prize]));
  const first = done[0];
  const rows = first.prizes.slice(0, 200).map((_, i) => {
    const of = done.map((run) => run.prizes[i]), prize = prizes.get(of[0].prize);
    const drawn = Math.round(mean(of.map((p) => p.count)));
    const ends = of.filter((p) => p.sold_out_at !== null).sort((a, b) => Date.parse(a.sold_out_at) - Date.parse(b.sold_out_at));
    const worth = !prize || prize.kind === "blank" ? "–" : money(amountOf(cents(prize.value) * BigInt(drawn)), at.pool.currency);
    const left = of[0].remaining === null ? "–" : percents.format(of.filter((p) => p.remaining > 0).length / done.length);
    return [h("span", {}, h("b", {}, prize?.name ?? of[0].prize), " ", h("code", {}, of[0].prize)), count(drawn), worth, ends.length ? usedUp(wanted, middle(ends)) : t("simulation.no"), left];
  });
  const worth = first.prizes.reduce((sum, p, i) => sum + cents(prizes.get(p.prize)?.value ?? "0.00") * BigInt(Math.round(mean(done.map((run) => run.prizes[i].count)))), 0n);
  return [
    h("p", { dataset: { runs: done.length } }, verdict(first), " ", [t("simulation.answered", { n: first.draws }), t("simulation.worth", { value: money(amountOf(worth), at.pool.currency) }), ...withheld(first)].join(" ")),
    turnedAway(first, rules), leftOut(first), failed(first),
    table(t("simulation.result", { n: done.length }), [t("simulation.prize"), `#${t("simulation.drawn")}`, `#${t("simulation.value")}`, `#${t("simulation.usedUp")}`, `#${t("simulation.isLeft")}`], rows),
    h("p", { class: "quiet" }, t("simulation.means", { n: done.length })),
    days(at, done), technical(at, first),
  ].filter(Boolean);
}

/** A text about when a prize is used up, with the number of the day if the run is longer than a day. */
const usedUp = ({ from, to }, { sold_out_day: n, sold_out_at: at }) => (to - from > day ? t("simulation.usedUpOn", { n, at: moment(at) }) : moment(at));

const percents = new Intl.NumberFormat(locale, { style: "percent" });
const date = new Intl.DateTimeFormat(locale, { weekday: "short", day: "numeric", month: "short", timeZone: "UTC" });

/** The results of each day, as means of the runs. The days are those of the campaign's zone. */
function days(at, done) {
  if (done[0].days.length < 2) return null;
  const all = done[0].days.map(({ day }, i) => {
    const of = (number) => Math.round(mean(done.map((run) => number(run.days[i]))));
    return { day, draws: of((d) => d.draws), wins: of((d) => d.wins), refused: of((d) => d.refused), value: BigInt(of((d) => Number(cents(d.value)))) };
  });
  const best = Math.max(...all.map((d) => d.wins));
  const rows = all.map((d, i) => {
    const wins = bar(t("simulation.winsOf", { n: i + 1 }), { says: t("simulation.ofBest"), isLow: () => false });
    wins.set(d.wins, best);
    return [count(i + 1), h("time", { datetime: d.day }, date.format(Date.parse(d.day))), count(d.draws), count(d.wins), wins.element, money(amountOf(d.value), at.pool.currency), count(d.refused)];
  });
  return h("div", { class: "days" }, h("h3", {}, t("simulation.byDay", { zone: done[0].zone })), table(t("simulation.eachDay"), [
    `#${t("simulation.day")}`, t("simulation.date"), `#${t("simulation.draws")}`, `#${t("simulation.wins")}`, t("simulation.share"), `#${t("simulation.value")}`, `#${t("simulation.refused")}`,
  ], rows));
}

const soldOut = (run) => run.refusals?.["sold-out"] ?? 0;
const refusedOf = (run) => Object.values(run.refusals ?? {}).reduce((sum, n) => sum + n, 0);

/** Whether chance explains the result of a run. A run with refused draws is not reported as expected. */
function verdict(run) {
  const refused = refusedOf(run);
  if (run.unlikely) return pill(t("simulation.unlikely"), "bad");
  if (refused > 0) return pill(t("simulation.someRefused", { n: refused, of: run.draws + refused }), "paused");
  return run.prizes.some((p) => p.z !== null) && pill(t("simulation.expected"), "open");
}

/** Texts about how many drawn prizes were withheld, and why. */
const withheld = (run) => Object.entries(run.redirects ?? {}).map(([why, n]) => (isText(`simulation.not-${why}`) ? t(`simulation.not-${why}`, { n }) : t("simulation.notBy", { n, why })));

/** A text about why draws were refused. */
function turnedAway(run, rules) {
  const refused = refusedOf(run);
  if (refused === 0) return null;
  const byLimit = run.refusals["limit-reached"] ?? 0, sold = soldOut(run);
  const limits = (rules?.limits ?? []).filter((l) => l.of === "draws");
  const limit = limits.length === 1 ? t("simulation.limit", { n: limits[0].max, per: perWords(limits[0].per) }) : t("simulation.limits");
  const others = Object.entries(run.refusals).filter(([code]) => code !== "limit-reached" && code !== "sold-out");
  return h("p", { class: "warning" }, [
    byLimit > 0 && t("simulation.byLimit", { n: byLimit, of: run.draws + refused, limit }),
    sold > 0 && t("simulation.soldOut", { n: sold }), ...others.map(([code, n]) => t("simulation.refusedFor", { n, why: sentenceOf({ code, message: code }) })),
  ].filter(Boolean).join(" "));
}

/** A warning about items of the agenda that the user may not see, and that the run therefore leaves out. */
const leftOut = (run) => run.hidden > 0 && h("p", { class: "warning" }, t("simulation.leftOut", { n: run.hidden }));

const failed = (run) => run.failed?.length > 0 && h("div", { class: "warning" }, h("p", {}, t("simulation.failed", { n: run.failed.length })),
  folded(h("p", {}, run.failed[0].detail)));

const exactly = new Intl.NumberFormat(locale, { style: "percent", minimumSignificantDigits: 4, maximumSignificantDigits: 4 });
const deviations = new Intl.NumberFormat(locale, { minimumFractionDigits: 2, maximumFractionDigits: 2 });

function technical(at, run) {
  const share = (n) => (n === null ? "–" : exactly.format(n));
  const rows = run.prizes.slice(0, 200).map((p) => [h("code", {}, p.prize), count(p.count), share(p.share), share(p.expected), p.z === null ? "–" : deviations.format(p.z), p.sold_out_after === null ? "–" : count(p.sold_out_after)]);
  return folded(h("p", {}, t("simulation.spent", { value: money(run.spent, at.pool.currency) })), table(t("simulation.firstRun"), [
    t("simulation.prize"), `#${t("simulation.drawn")}`, `#${t("simulation.part")}`, `#${t("simulation.expectedPart")}`, `#${t("simulation.deviation")}`, `#${t("simulation.soldOutAfter")}`,
  ], rows));
}
