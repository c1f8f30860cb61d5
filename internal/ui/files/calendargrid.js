// The grid of the calendar: the units of each prize on each day, or in each hour of one
// day.

import { pages } from "./api.js";
import { cents } from "./money.js";
import { t } from "./text.js";
import { dateAfter, dateOf, dayOf, daysBetween, dayWords, hoursOf } from "./zone.js";

const pagesMax = 200, fortnight = 14;
export const daysShown = 42; // on one page

/**
 * Reads an agenda: its items, the lines for hidden items, and the number of moves that
 * this role does not see. first is the first page, if it was already read.
 */
export async function readItems(path, signal, first) {
  const items = new Map(), hidden = new Map();
  let secret = 0;
  const take = (page) => {
    secret += page.hidden ?? 0;
    for (const line of page.items) {
      if (line.hidden) hidden.set(`${line.hidden.version} ${line.hidden.prize}`, spanOf(line.hidden));
      else items.set(line.item, { ...line, ms: Date.parse(line.at), prize: line.prize ?? line.moment, units: line.moment ? 1 : line.delta });
    }
  };
  if (first) take(first);
  if (!first || first.next !== null) for await (const page of pages(`${path}?limit=1000`, { signal, most: pagesMax, start: first?.next ?? 0 })) take(page);
  return { items: [...items.values()].sort((a, b) => a.ms - b.ms || a.item - b.item), hidden: [...hidden.values()], secret };
}

/** A line for hidden items with its span in milliseconds; last is the last instant of the span. */
const spanOf = (line) => (line.from ? { ...line, begin: Date.parse(line.from), last: Date.parse(line.to) - 1 } : line);

const isWithin = (line, range) => line.begin >= range.from && line.last < range.to;

/** The first and the last date of a calendar: those of the agenda, or the next fortnight if it has no items. */
export function datesOf(zone, { items, hidden }, now = Date.now()) {
  const ends = hidden.filter((line) => line.from).flatMap((line) => [line.begin, line.last]);
  if (items.length) ends.push(items[0].ms, items.at(-1).ms);
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

const empty = () => ({ planned: 0, done: 0, failed: 0, items: [], hidden: [] });
const kindOf = (item) => (item.done === null ? "planned" : item.failed ? "failed" : "done");

/**
 * The units of each prize in each row, with the sums of rows and of prizes. Items and
 * hidden lines outside range are not counted; with null all are. A hidden line belongs to
 * the row that contains its whole span, otherwise to an additional row.
 */
export function gridOf(rows, { items, hidden }, zone, range = null) {
  const made = [...rows.map((row) => ({ ...row })), { name: t("calendargrid.hidden"), isHidden: true }].map((row) => ({ ...row, cells: new Map(), sum: empty(), notes: [] }));
  const sums = new Map(), sum = empty(), hiddenRow = made.at(-1);
  const add = (row, prize, what, units, kind) => {
    const of = (map) => map.get(prize) ?? map.set(prize, empty()).get(prize);
    for (const cell of [row && of(row.cells), row?.sum, of(sums), sum]) if (cell) cell[kind] += units;
    if (row) of(row.cells)[what.hidden ? "hidden" : "items"].push(what.line);
  };
  for (const item of items) {
    if (range && !(item.ms >= range.from && item.ms < range.to)) continue;
    const row = rowAt(made, rows.length, item.ms);
    if (item.prize === undefined) row?.notes.push(item);
    else add(row, item.prize, { line: item }, item.units, kindOf(item));
  }
  for (const line of hidden) {
    if (range && !(line.from && isWithin(line, range))) continue;
    let row = line.from ? rowAt(made, rows.length, line.begin) : hiddenRow;
    const isOfOneDay = line.from && dateOf(zone, line.begin) === dateOf(zone, line.last);
    if (row && !row.isHidden && !isWithin(line, row)) row = hiddenRow;
    if (!row && !isOfOneDay) row = hiddenRow;
    add(row, line.prize, { line, hidden: true }, line.count, "planned");
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

/** What the units of cells are worth that are planned or done, in cents, by the values of prizes. */
export const worthOf = (cells, prizes) => [...cells].reduce((total, [id, { planned, done }]) => total + cents(prizes.get(id)?.value ?? "0.00") * BigInt(planned + done), 0n);
