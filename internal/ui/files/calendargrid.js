// The grid of the calendar: the units of each prize on each day, or in each hour of one
// day.

import { linesMax, readPart } from "./agendaread.js";
import { get, part } from "./api.js";
import { cents } from "./money.js";
import { t } from "./text.js";
import { dateAfter, dateOf, dayOf, daysBetween, dayWords, hoursOf } from "./zone.js";

const fortnight = 14;
export const daysShown = 42; // on one page

const iso = (ms) => new Date(ms).toISOString();
const within = ({ from, to }) => `from=${iso(from)}&to=${iso(to)}`;

/** The first and the last instant of visible items, and the number of moves that this role does not see, from the sums of an agenda. */
const endsOf = ({ first, last, hidden = 0 }) => ({ first: first && Date.parse(first), last: last && Date.parse(last), secret: hidden });

/** Reads the first and the last instant of an agenda. */
export const readEnds = async (path, signal) => endsOf(await get(`${path}/sums`, { signal }));

/** Reads the lines for hidden items, and whether these are all. */
export async function readHidden(path, signal) {
  const lines = await readPart(path, "part=hidden", linesMax, signal);
  return { hidden: lines.items.map((line) => spanOf(line.hidden)), hasAllLines: lines.isWhole };
}

/** Reads the units that an agenda releases in each of the rows, before and after them, its first and last instant, the planned states and rules within the rows, and whether these are all. */
export async function readRows(path, rows, signal) {
  const bounds = [rows[0].from, ...rows.map((row) => row.to)], range = within({ from: bounds[0], to: bounds.at(-1) });
  const notes = ["due", "done"].flatMap((name) => ["state", "rules"].map((kind) => readPart(path, `part=${name}&kind=${kind}&${range}`, linesMax, signal)));
  const [found, ...noted] = await Promise.all([get(`${path}/sums?at=${bounds.map(iso).join()}`, { signal }), ...notes]);
  return { ...endsOf(found), sums: found.sums, notes: noted.flatMap(({ items }) => items.map(itemOf)).sort(inTime), hasAllNotes: noted.every(({ isWhole }) => isWhole) };
}

/** Reads at most n items of a prize in a row. If there are more, open items take precedence. */
export async function readPlace(path, prize, row, n, signal) {
  if (row.isHidden) return [];
  const [due, done] = await Promise.all(["due", "done"].map((name) => readPart(path, `part=${name}&prize=${part(prize)}&${within(row)}`, n, signal)));
  return [...due.items, ...done.items].slice(0, n).map(itemOf).sort(inTime);
}

/** Reads the open moves of stock in a span. */
export const readOpen = async (path, span, n, signal) => (await readPart(path, `part=due&kind=stock&${within(span)}`, n, signal)).items.map(itemOf);

const itemOf = (line) => ({ ...line, ms: Date.parse(line.at), prize: line.prize ?? line.moment, units: line.moment ? 1 : line.delta });
const inTime = (a, b) => a.ms - b.ms || a.item - b.item;

/** A line for hidden items with its span in milliseconds; last is the last instant of the span. */
const spanOf = (line) => (line.from ? { ...line, begin: Date.parse(line.from), last: Date.parse(line.to) - 1 } : line);

const isWithin = (line, range) => line.begin >= range.from && line.last < range.to;

/** The first and the last date of a calendar: those of the agenda, or the next fortnight if it has no items. */
export function datesOf(zone, { first, last, hidden }, now = Date.now()) {
  const ends = hidden.filter((line) => line.from).flatMap((line) => [line.begin, line.last]);
  if (first) ends.push(first, last);
  if (ends.length === 0) return { first: dateOf(zone, now), last: dateAfter(dateOf(zone, now), fortnight - 1) };
  return { first: dateOf(zone, ends.reduce((a, b) => Math.min(a, b))), last: dateOf(zone, ends.reduce((a, b) => Math.max(a, b))) };
}

/** The number of the first day on the page that contains a date. */
export function pageOf({ first, last }, date) {
  const at = date < first ? 0 : Math.min(daysBetween(first, date), daysBetween(first, last));
  return at - (at % daysShown);
}

/**
 * The days of the page that begins with the day start, each with its span. earlier and
 * later mean that there are other pages.
 */
export function daysOf(zone, { first, last }, start) {
  const n = Math.min(daysShown, daysBetween(first, last) + 1 - start);
  const rows = Array.from({ length: n }, (_, i) => dayOf(zone, dateAfter(first, start + i)));
  return { rows: rows.map((day) => ({ ...day, name: dayWords(day.date) })), earlier: start > 0, later: start + n <= daysBetween(first, last) };
}

/** The hours of a day, each with its span. */
export const hoursOfDay = (zone, date) => hoursOf(zone, dayOf(zone, date)).map((hour) => ({ ...hour, date }));

const empty = () => ({ items: 0, planned: 0, done: 0, failed: 0, hidden: [] });

/**
 * The units of each prize in each row, with the sums of rows and of prizes. With a range,
 * what is outside the rows is not counted. A hidden line belongs to the row that contains its
 * whole span, otherwise to an additional row.
 */
export function gridOf(rows, { sums: found, notes, hidden }, zone, range = null) {
  const made = [...rows.map((row) => ({ ...row })), { name: t("calendargrid.hidden"), isHidden: true }].map((row) => ({ ...row, cells: new Map(), sum: empty(), notes: [] }));
  const sums = new Map(), sum = empty(), hiddenRow = made.at(-1);
  const of = (map, prize) => map.get(prize) ?? map.set(prize, empty()).get(prize);
  const add = (row, prize, units) => {
    for (const cell of [row && of(row.cells, prize), row?.sum, of(sums, prize), sum]) if (cell) for (const [kind, n] of Object.entries(units)) cell[kind] += n;
  };
  for (const { span, prize, items, planned, done, failed } of found) {
    const row = span > 0 && span <= rows.length ? made[span - 1] : undefined;
    if (row || !range) add(row, prize, { items, planned, done, failed });
  }
  notes.forEach((item) => rowAt(made, rows.length, item.ms)?.notes.push(item));
  for (const line of hidden) {
    if (range && !(line.from && isWithin(line, range))) continue;
    let row = line.from ? rowAt(made, rows.length, line.begin) : hiddenRow;
    const isOfOneDay = line.from && dateOf(zone, line.begin) === dateOf(zone, line.last);
    if (row && !row.isHidden && !isWithin(line, row)) row = hiddenRow;
    if (!row && !isOfOneDay) row = hiddenRow;
    add(row, line.prize, { planned: line.count });
    if (row) of(row.cells, line.prize).hidden.push(line);
  }
  return { rows: made.filter((row) => !row.isHidden || row.cells.size > 0), sums, sum };
}

/** The row that contains an instant, among the first n rows, which are in order; otherwise undefined. */
function rowAt(rows, n, ms) {
  let low = 0, high = n - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    if (ms < rows[middle].from) high = middle - 1;
    else if (ms >= rows[middle].to) low = middle + 1;
    else return rows[middle];
  }
  return undefined;
}

/** The worth of the planned and done units of cells, in cents, by the values of prizes. */
export const worthOf = (cells, prizes) => [...cells].reduce((total, [id, { planned, done }]) => total + cents(prizes.get(id)?.value ?? "0.00") * BigInt(planned + done), 0n);
