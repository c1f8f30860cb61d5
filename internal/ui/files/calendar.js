// The calendar of a pool: its agenda as a grid of days, or of the hours of one day, and
// prizes.

import { agendaPath, follow, linesMax, readStates } from "./agendaread.js";
import { addByHand, openCell, removePlan } from "./calendarcell.js";
import { fill, fillByFile } from "./calendarfill.js";
import { datesOf, daysOf, daysShown, gridOf, hoursOfDay, pageOf, readEnds, readHidden, readRows, worthOf } from "./calendargrid.js";
import { complain } from "./dialog.js";
import { button, count, h, say } from "./dom.js";
import { amountOf } from "./money.js";
import { shownName } from "./shown.js";
import { mayAct } from "./state.js";
import { t } from "./text.js";
import { money } from "./words.js";
import { clockOf, dateAfter, dateOf, dayOf, dayWords } from "./zone.js";

const columnsMax = 12;

export async function calendarSection(at) {
  const own = { zone: at.zone, agenda: null, rows: [], columns: [], date: null, from: null, page: 0, focus: "", reading: 0 };
  const title = h("h2", {}), note = h("p", { class: "quiet" }), secret = h("p", { class: "quiet", role: "status" }), place = h("div", { class: "scroll" }), moves = h("div", { class: "actions" });
  Object.assign(own, facts(at, own), { refocus: () => place.querySelector("[tabindex='0']")?.focus() });
  const read = async () => {
    const reading = ++own.reading, path = agendaPath(at);
    const [ends, lines, states] = await Promise.all([own.agenda ?? readEnds(path, at.signal), readHidden(path, at.signal), readStates(path, at.signal)]);
    const shown = await readShown(path, own, ends, lines, at.signal);
    if (at.signal.aborted || reading !== own.reading) return;
    at.plans = { ...at.plans, states };
    Object.assign(own, shown);
    draw(at, own, { title, note, secret, place, moves }, read);
  };
  await read();
  const acts = mayAct() && [
    button(t("calendar.spread"), () => fill(at, own, () => read())), button(t("calendar.file"), () => fillByFile(at, own, () => read())),
    button(t("calendar.byHand"), () => addByHand(at, own, () => read())),
  ];
  return {
    elements: [h("div", { class: "title" }, title, h("div", { class: "actions changes" }, acts)), note, moves, place, secret],
    set: follow(at, read),
  };
}

/** Reads the rows that are shown. If the agenda has become longer or shorter since its ends were read, the rows may be others. */
async function readShown(path, own, ends, lines, signal) {
  const rows = rowsOf(own, { ...ends, ...lines }), read = await readRows(path, rows.rows, signal);
  const { first, last } = read;
  if (first === ends.first && last === ends.last) return { ...rows, agenda: { ...lines, ...read } };
  return readShown(path, own, { first, last }, lines, signal);
}

/** The rows that are shown: the hours of one day, or the days of a page; earlier and later mean that there are other pages. */
function rowsOf(own, ends) {
  const span = datesOf(own.zone, ends);
  const days = daysOf(own.zone, span, pageOf(span, own.from ?? own.today()));
  own.from = days.rows[0].date; // so that the page shows the same days when the agenda becomes longer
  return own.date ? { ...days, rows: hoursOfDay(own.zone, own.date) } : days;
}

/** The facts about the calendar that dialogs need. */
function facts(at, own) {
  const next = (states, after = Date.now()) => at.plans.states.filter((item) => states.includes(item.state)).map((item) => Date.parse(item.at)).find((ms) => ms > after);
  const opens = () => (at.pool.state === "open" ? undefined : next(["open"])), closes = () => next(["closed"], opens());
  const today = () => dateOf(own.zone, Date.now());
  const later = (date) => (date < today() ? today() : date);
  return {
    opens, closes, today,
    first: () => own.date ?? later(opens() ? dateOf(own.zone, opens()) : datesOf(own.zone, own.agenda).first),
    last: () => own.date ?? later(closes() ? dateOf(own.zone, closes() - 1) : datesOf(own.zone, own.agenda).last),
    name: (id) => at.pool.prizes.find((prize) => prize.id === id)?.name ?? id,
    stocked: () => at.pool.prizes.filter((prize) => prize.stocked !== null),
  };
}

/** The prizes of the calendar. If there are many, those that have units in the calendar come first. */
function prizesOf(own, sums) {
  const all = own.stocked();
  return all.length <= columnsMax ? all : [...all.filter((prize) => sums.has(prize.id)), ...all.filter((prize) => !sums.has(prize.id))];
}

function draw(at, own, parts, read) {
  const day = own.date && dayOf(own.zone, own.date), grid = gridOf(own.rows, own.agenda, own.zone, day);
  const prizes = prizesOf(own, grid.sums), shownFrom = Math.min(own.page, Math.floor((prizes.length - 1) / columnsMax)) * columnsMax;
  own.columns = prizes.slice(Math.max(0, shownFrom), Math.max(0, shownFrom) + columnsMax);
  say(parts.title, own.date ? t("calendar.titleOfDay", { day: dayWords(own.date) }) : t("calendar.title"));
  say(parts.note, `${t(own.date ? "calendar.byHour" : "calendar.byDay")} ${at.isOwnZone ? t("calendar.zoneOfRules", { zone: own.zone }) : t("calendar.zoneOfBrowser", { zone: own.zone })}`);
  const go = async (changes, move) => {
    const { focus, date, from, page } = own;
    Object.assign(own, { focus: "" }, changes);
    const went = read(), { reading } = own;
    await went.catch((problem) => {
      complain(problem);
      if (at.signal.aborted || reading !== own.reading) return;
      Object.assign(own, { focus, date, from, page });
      draw(at, own, parts, read); // otherwise the choice of prizes would show the one that could not be read
    });
    (parts.moves.querySelector(`[data-move="${move}"]`) ?? parts.place.querySelector("[tabindex='0']"))?.focus();
  };
  const mover = (move, text, changes) => h("button", { type: "button", dataset: { move }, onclick: () => go(changes, move) }, text);
  parts.moves.replaceChildren(...[
    own.date && mover("days", t("calendar.allDays"), { date: null, focus: `${own.date} 0` }),
    own.date && mayAct() && button(t("calendar.removeDay"), (event) => removePlan(at, own, { day, grid, button: event.currentTarget }, read).catch(complain), "danger changes"),
    !own.date && own.earlier && mover("earlier", t("calendar.earlier"), { from: dateAfter(own.from, -daysShown) }),
    !own.date && own.later && mover("later", t("calendar.later"), { from: dateAfter(own.from, daysShown) }),
    ...prizePages(own, prizes, go),
  ].filter(Boolean));
  parts.moves.hidden = parts.moves.childElementCount === 0;
  const { secret, hasAllLines, hasAllNotes } = own.agenda;
  say(parts.secret, [secret > 0 && t("calendar.secret", { n: secret }), !(hasAllLines && hasAllNotes) && t("calendar.notWhole", { n: linesMax })].filter(Boolean).join(" "));
  const hadFocus = parts.place.contains(document.activeElement);
  parts.place.replaceChildren(tableOf(at, own, grid, go, read));
  const place = rove(parts.place.firstChild, own);
  if (hadFocus) place?.focus();
}

/** The choice of the prizes that are shown, if a pool has too many for one table. */
function prizePages(own, prizes, go) {
  const n = Math.ceil(prizes.length / columnsMax);
  if (n < 2) return [];
  const choice = h("select", { "aria-label": t("calendar.prizes"), dataset: { move: "prizes" } }, Array.from({ length: n }, (_, i) => h("option", { value: i }, t("calendar.prizePage", { from: i * columnsMax + 1, to: Math.min(prizes.length, (i + 1) * columnsMax), of: prizes.length }))));
  choice.value = Math.min(own.page, n - 1);
  choice.addEventListener("change", () => go({ page: Number(choice.value) }, "prizes"));
  return [choice];
}

const head = (text, isNumber) => h("th", { scope: "col", role: "columnheader", class: isNumber && "number" }, text);
const sumCell = (label, text, data) => h("td", { role: "gridcell", class: "number", "data-label": label, dataset: data }, text);

function tableOf(at, own, grid, go, read) {
  const values = new Map(at.pool.prizes.map((prize) => [prize.id, prize]));
  const sums = (cells, sum) => {
    const worth = worthOf(cells, values);
    return [
      sumCell(t("calendar.inAll"), figures(sum), { planned: sum.planned, done: sum.done }),
      sumCell(t("calendar.value"), money(worth < 0n ? `-${amountOf(-worth)}` : amountOf(worth), at.pool.currency)),
    ];
  };
  const rows = grid.rows.map((row, y) => h("tr", { role: "row", dataset: { row: row.isHidden ? "hidden" : own.date ? row.name : row.date } },
    rowHead(own, row, go), own.columns.map((prize, x) => cellOf(at, own, row, prize, `${row.date} ${x + 1} ${own.date ? y : ""}`, read)), sums(row.cells, row.sum)));
  const totals = h("tr", { role: "row", class: "sums", dataset: { row: "sum" } }, h("th", { scope: "row", role: "rowheader" }, t("calendar.inAll")),
    own.columns.map((prize) => {
      const sum = grid.sums.get(prize.id) ?? { planned: 0, done: 0, failed: 0 };
      return sumCell(shownName(prize), figures(sum), { prize: prize.id, planned: sum.planned, done: sum.done });
    }), sums(grid.sums, grid.sum));
  return h("table", { role: "grid", class: "calendar", "aria-label": own.date ? t("calendar.hoursAndPrizes", { day: dayWords(own.date) }) : t("calendar.daysAndPrizes") },
    h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, head(t(own.date ? "calendar.hour" : "calendar.day")), own.columns.map((prize) => head(shownName(prize), true)), head(t("calendar.inAll"), true), head(t("calendar.value"), true))),
    h("tbody", { role: "rowgroup" }, rows, totals));
}

/** The numbers of units that are planned, done and not possible, in words; none is the text for no units. */
function figures({ planned, done, failed }, none = "–") {
  const isOver = planned === 0 && (done !== 0 || failed !== 0);
  return [!isOver && (planned === 0 ? none : count(planned)), done !== 0 && t("calendar.done", { n: done }), failed !== 0 && t("calendar.failed", { n: failed })].filter(Boolean).join(" + ");
}

function rowHead(own, row, go) {
  const note = (item) => t(`calendar.at-${item.state ?? "rules"}`, { at: clockOf(own.zone, item.ms).slice(0, 5) });
  const notes = row.notes.map((item) => (item.failed ? t("calendar.notPossible", { what: note(item) }) : note(item))).join(", ");
  const name = own.date || row.isHidden ? row.name : h("button", { type: "button", class: "plain", tabindex: "-1", dataset: { focus: `${row.date} 0` }, title: t("calendar.itsHours"), onclick: () => go({ date: row.date }) }, row.name);
  return h("th", { scope: "row", role: "rowheader" }, name, notes && h("small", {}, ` ${notes}`));
}

function cellOf(at, own, row, prize, focus, read) {
  const cell = row.cells.get(prize.id) ?? { items: 0, planned: 0, done: 0, failed: 0, hidden: [] };
  const mayAdd = mayAct() && at.pool.state !== "closed" && !row.isHidden && row.to > Date.now();
  const text = figures(cell, mayAdd ? "+" : "–"), isEmpty = cell.items + cell.hidden.length === 0;
  const hides = cell.hidden.length > 0 && !row.isHidden, place = { prize: shownName(prize), row: row.name }, units = { planned: cell.planned, done: cell.done, failed: cell.failed, ...place };
  const says = text === "+" ? t("calendar.placeAdd", place) : text === "–" ? t("calendar.placeEmpty", place) : t(cell.failed !== 0 ? "calendar.placeFailed" : hides ? "calendar.placeHidden" : "calendar.place", units);
  const open = (event) => {
    own.focus = focus;
    openCell(at, own, { row, prize, cell, mayAdd, button: event.currentTarget }, read).catch(complain);
  };
  return h("td", { role: "gridcell", class: "number", "data-label": shownName(prize), dataset: { prize: prize.id, planned: cell.planned, done: cell.done, failed: cell.failed } },
    isEmpty && !mayAdd ? h("span", { class: "quiet" }, text) : h("button", { type: "button", class: isEmpty ? "plain" : cell.hidden.length ? "hides" : "", tabindex: "-1", "aria-label": says, dataset: { focus }, onclick: open }, text));
}

/** Makes the grid one stop of the Tab key; arrow keys move between its places. Returns the place that is the stop. */
function rove(table, own) {
  const lines = [...table.querySelectorAll("tr")].map((row) => [...row.querySelectorAll("button[data-focus]")]).filter((line) => line.length);
  const set = (place) => {
    table.querySelectorAll("[tabindex='0']").forEach((other) => { other.tabIndex = -1; });
    place.tabIndex = 0;
    own.focus = place.dataset.focus;
  };
  const columnOf = (place) => place.closest("th, td").cellIndex;
  table.addEventListener("focusin", (event) => { if (event.target.dataset.focus) set(event.target); });
  table.addEventListener("keydown", (event) => {
    const y = lines.findIndex((line) => line.includes(event.target)), x = lines[y]?.indexOf(event.target);
    const line = { ArrowUp: lines[y - 1], ArrowDown: lines[y + 1], ArrowLeft: lines[y], ArrowRight: lines[y], Home: lines[y], End: lines[y] }[event.key];
    if (y < 0 || !line) return;
    const same = line.find((place) => columnOf(place) === columnOf(event.target)) ?? line.at(-1);
    const next = { ArrowLeft: line[x - 1], ArrowRight: line[x + 1], Home: line[0], End: line.at(-1) }[event.key] ?? (event.key === "ArrowUp" || event.key === "ArrowDown" ? same : null);
    event.preventDefault();
    next?.focus();
  });
  const start = lines.flat().find((place) => place.dataset.focus === own.focus) ?? lines[0]?.[0];
  if (start) start.tabIndex = 0;
  return start;
}
