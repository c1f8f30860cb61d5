// Spreads of units over days and hours, as requests to the service.

import { t } from "./text.js";
import { dateAfter, daysBetween, hoursOf, instantOf, weekdayOf, zoned } from "./zone.js";

const itemsMax = 100_000; // the service's maximum for one request
const spreadsMax = 500, daysMax = 1000;

/** Divides units among n places as evenly as possible, in the same way as the service. */
export function shares(units, n) {
  const rest = units % n;
  return Array.from({ length: n }, (_, i) => Math.floor(units / n) + Math.floor(((i + 1) * rest) / n) - Math.floor((i * rest) / n));
}

const hourClock = (hour) => `${String(hour).padStart(2, "0")}:00`;

/**
 * The windows of the chosen days, on each day from the hour first to the hour last. Only
 * the part between the instants after and before counts.
 */
export function windowsOf({ zone, from, to, weekdays, first, last, after = -Infinity, before = Infinity }) {
  if (!(daysBetween(from, to) >= 0 && daysBetween(from, to) < daysMax)) throw wrong(t("spreads.days", { n: daysMax }));
  if (!(first < last)) throw wrong(t("spreads.hours"));
  const windows = [];
  for (let date = from; date <= to; date = dateAfter(date)) {
    if (!weekdays.includes(weekdayOf(date))) continue;
    const begin = Math.max(instantOf(zone, date, hourClock(first)), after), end = Math.min(instantOf(zone, date, hourClock(last)), before);
    if (begin < end) windows.push({ date, from: begin, to: end });
  }
  if (windows.length === 0) throw wrong(t("spreads.none"));
  return windows;
}

const wrong = (text) => Object.assign(new Error(text), { title: t("spreads.title") });

/** Joins windows that follow directly after one another. */
function joined(windows) {
  const all = [];
  for (const { from, to } of windows) {
    if (all.at(-1)?.to === from) all.at(-1).to = to;
    else all.push({ from, to });
  }
  return all;
}

/** Divides units among windows at random. Each unit has the same chance at every instant. */
export function byChance(units, windows, random = () => crypto.getRandomValues(new Uint32Array(1))[0] / 2 ** 32) {
  const counts = windows.map(() => 0), whole = windows.reduce((sum, w) => sum + w.to - w.from, 0);
  for (let n = 0; n < units; n++) {
    let at = random() * whole, i = 0;
    while (i < windows.length - 1 && at >= windows[i].to - windows[i].from) at -= windows[i].to - windows[i++].from;
    counts[i]++;
  }
  return counts;
}

/**
 * The requests that release units of prizes within windows. how is "day" to release the
 * units of a day at the beginning of its window, and "hour" to divide them among the
 * hours. It is "daily" for random times with the same number on each day, and "anytime"
 * for random times. isDaily means that the units are the number for each day. Items are
 * sent as one file, and spreads one by one.
 */
export function planOf({ zone, how, windows, wanted, isDaily, isMoment, reason }) {
  const items = [], spreads = [];
  for (const { prize, units } of wanted) {
    const each = isDaily ? windows.map(() => units) : shares(units, windows.length);
    const plan = (at, delta) => { if (delta > 0) items.push(...itemsOf(zone, at, prize, delta, isMoment, reason)); };
    const spread = (window, n) => {
      if (n > 0) spreads.push({ prize, units: n, from: new Date(window.from).toISOString(), to: new Date(window.to).toISOString(), random: true, ...(isMoment ? { moment: true } : { reason }) });
    };
    if (how === "day") windows.forEach((w, i) => plan(w.from, each[i]));
    if (how === "daily") windows.forEach((w, i) => spread(w, each[i]));
    if (how === "hour") {
      const days = windows.map((w) => hoursOf(zone, w));
      const slots = isDaily ? days.map((hours) => shares(units, hours.length)).flat() : shares(units, days.flat().length);
      days.flat().forEach((hour, i) => plan(hour.from, slots[i]));
    }
    if (how === "anytime") {
      const all = joined(windows), counts = byChance(each.reduce((sum, n) => sum + n, 0), all);
      all.forEach((w, i) => spread(w, counts[i]));
    }
    if (items.length > itemsMax) throw wrong(t("spreads.releases", { n: itemsMax }));
  }
  if (spreads.length > spreadsMax) throw wrong(t("spreads.spreads", { n: spreads.length, most: spreadsMax }));
  return { items, spreads };
}

/** Lines for the file of an agenda: one move, or a moment for each unit. */
function itemsOf(zone, at, prize, delta, isMoment, reason) {
  if (!isMoment) return [{ at: zoned(zone, at), prize, delta, reason }];
  if (delta > itemsMax) throw wrong(t("spreads.moments", { n: itemsMax }));
  return Array.from({ length: delta }, () => ({ at: zoned(zone, at), prize, moment: true }));
}
