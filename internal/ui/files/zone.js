// Days and hours of a time zone, from the browser's time zone data. Some days have 23 or
// 25 hours. An instant is a number of milliseconds, a date is text such as 2026-12-24, a
// clock is text such as 08:00.

import { locale } from "./text.js";

const dayLength = 86_400_000, hourLength = 3_600_000;
const formats = new Map();

/** The local time of a zone at an instant, as the instant at which UTC has that local time. */
function wall(zone, at) {
  if (!formats.has(zone)) {
    const two = "2-digit";
    formats.set(zone, new Intl.DateTimeFormat("en-US", { timeZone: zone, hourCycle: "h23", year: "numeric", month: two, day: two, hour: two, minute: two, second: two }));
  }
  const p = Object.fromEntries(formats.get(zone).formatToParts(at).map(({ type, value }) => [type, Number(value)]));
  return Date.UTC(p.year, p.month - 1, p.day, p.hour, p.minute, p.second) + (at % 1000);
}

const offset = (zone, at) => wall(zone, at) - at;

/** The instants at which the clocks of a zone show a time of a day: none if they skip it, two if they are set back. */
export function instantsOf(zone, date, clock = "00:00") {
  const local = Date.parse(`${date}T${clock}Z`);
  const offsets = new Set([local - dayLength, local + dayLength].map((near) => offset(zone, near)));
  return [...offsets].map((o) => local - o).filter((at) => wall(zone, at) === local).sort((a, b) => a - b);
}

/**
 * The first of these instants. If the clocks skip the time, it is the instant that the
 * offset before the skip gives.
 */
export function instantOf(zone, date, clock = "00:00") {
  const [first] = instantsOf(zone, date, clock);
  const local = Date.parse(`${date}T${clock}Z`);
  return first ?? local - offset(zone, local - dayLength);
}

/** The date and the clock time of a zone at an instant. */
export const dateOf = (zone, at) => new Date(wall(zone, at)).toISOString().slice(0, 10);
export const clockOf = (zone, at) => new Date(wall(zone, at)).toISOString().slice(11, 19);

/** The date some days after a date. */
export const dateAfter = (date, days = 1) => new Date(Date.parse(`${date}T00:00Z`) + days * dayLength).toISOString().slice(0, 10);

/** The number of days from one date to another. */
export const daysBetween = (from, to) => Math.round((Date.parse(`${to}T00:00Z`) - Date.parse(`${from}T00:00Z`)) / dayLength);

/** The day of the week of a date, 0 for Sunday. */
export const weekdayOf = (date) => new Date(`${date}T00:00Z`).getUTCDay();

/** A day of a zone, from its first instant to the first instant of the next day. */
export const dayOf = (zone, date) => ({ date, from: instantOf(zone, date), to: instantOf(zone, dateAfter(date)) });

/** The hours of a span as clocks show them. If an hour occurs twice, its name contains the offset. */
export function hoursOf(zone, { from, to }) {
  const hours = [];
  for (let at = from; at < to;) {
    const next = at + hourLength - (((wall(zone, at) % hourLength) + hourLength) % hourLength);
    hours.push({ from: at, to: Math.min(next, to), name: clockOf(zone, at).slice(0, 5) });
    at = next;
  }
  const isTwice = (hour) => hours.some((other) => other !== hour && other.name === hour.name);
  const doubled = hours.filter((hour) => hours.length < 48 && isTwice(hour));
  doubled.forEach((hour) => { hour.name += ` ${offsetOf(zone, hour.from)}`; });
  return hours;
}

/** The offset of a zone at an instant, such as +01:00. */
function offsetOf(zone, at) {
  const minutes = Math.round(offset(zone, at) / 60_000), size = Math.abs(minutes);
  const two = (n) => String(n).padStart(2, "0");
  return `${minutes < 0 ? "-" : "+"}${two(Math.floor(size / 60))}:${two(size % 60)}`;
}

/** An instant in RFC 3339 with the offset of a zone. */
export const zoned = (zone, at) => `${dateOf(zone, at)}T${clockOf(zone, at)}${offsetOf(zone, at)}`;

const day = new Intl.DateTimeFormat(locale, { timeZone: "UTC", weekday: "short", day: "numeric", month: "short" });
const year = new Intl.DateTimeFormat(locale, { timeZone: "UTC", weekday: "short", day: "numeric", month: "short", year: "numeric" });

/** A date in words, with the year if it is not the present one. */
export const dayWords = (date) => (date.startsWith(`${new Date().getFullYear()}-`) ? day : year).format(Date.parse(`${date}T00:00Z`));

/** An instant in words, in a zone. */
export const instantWords = (zone, at) => `${dayWords(dateOf(zone, at))}, ${clockOf(zone, at).replace(/:00$/, "")}`;
