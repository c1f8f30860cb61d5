// A place of the calendar: its units can be changed, removed and added by hand.

import { newKey, once, part, send } from "./api.js";
import { whyFailed } from "./agenda.js";
import { agendaPath } from "./agendaread.js";
import { readOpen, readPlace } from "./calendargrid.js";
import { planUnits, reasonField, showSeals, whole } from "./calendarfill.js";
import { ask } from "./dialog.js";
import { count, field, folded, h, table } from "./dom.js";
import { box, shown } from "./rulesfields.js";
import { mayAct } from "./state.js";
import { t } from "./text.js";
import { clockOf, dayOf, dayWords, instantsOf, instantWords } from "./zone.js";

const shownMax = 100, openMax = 1_000_000, unitsMax = 1_000_000_000_000, ahead = 300_000;

/**
 * Reads what a dialog shows. Meanwhile its button is disabled, and the calendar's other
 * buttons open no dialog: for them, readFor returns null.
 */
async function readFor(own, button, read) {
  if (own.isOpening) return null;
  own.isOpening = button.disabled = true;
  try {
    return await read();
  } finally {
    own.isOpening = button.disabled = false;
    button.focus(); // a disabled button loses the focus; the dialog, when closed, returns the focus to the element that had it
  }
}

/**
 * Opens a place. It shows the planned and done items, with fields that change those that
 * are not done, and fields that add units.
 */
export async function openCell(at, own, { row, prize, cell, mayAdd, button }, read) {
  const mayChange = mayAct() && at.pool.state !== "closed";
  const found = await readFor(own, button, async () => (cell.items > 0 ? readPlace(agendaPath(at), prize.id, row, shownMax, at.signal) : []));
  if (!found) return;
  const items = found.map((item) => itemLine(own, item, mayChange));
  const lists = cell.hidden.map((line) => hiddenLine(own, line, mayChange));
  const added = mayAdd && adding(own, { row });
  const isChanging = mayChange && (added || lists.length > 0 || items.some((line) => line.units));
  const rest = cell.items - items.length;
  const dialog = ask({
    title: `${prize.name}, ${row.name}`, wide: true, yes: isChanging && t("calendarcell.save"), no: t(isChanging ? "dialog.cancel" : "calendarcell.close"),
    body: [
      items.length > 0 && table(t("calendarcell.here"), [t("calendarcell.time"), t("calendarcell.units"), t("calendarcell.reason"), t("calendarcell.by")], items.map((line) => line.cells)),
      rest > 0 && h("p", { class: "quiet" }, t("calendarcell.more", { n: rest })),
      lists.map((line) => line.element),
      added && h("fieldset", {}, h("legend", {}, t("calendarcell.byHand")), added.elements),
    ].flat().filter(Boolean),
    act: async () => save(at, own, { items, lists, additions: added ? added.read(prize.id) : [] }).finally(read),
  });
  dialog.addEventListener("close", own.refocus); // the grid was drawn again while the dialog was open
}

function itemLine(own, item, mayChange) {
  const clock = clockOf(own.zone, item.ms).replace(/:00$/, "");
  const units = mayChange && item.done === null && !item.moment && h("input", { type: "number", step: 1, min: -unitsMax, max: unitsMax, value: item.delta, "aria-label": t("calendarcell.unitsAt", { at: clock }) });
  const what = units || count(item.units);
  const by = item.failed ? whyFailed(item) : item.done === null ? h("span", { class: "break" }, item.actor) : t("calendarcell.done");
  return { item, units, cells: [h("time", { datetime: item.at, title: item.at }, clock), what, item.moment ? t("calendarcell.moment") : h("span", { class: "break" }, item.reason), by] };
}

function hiddenLine(own, line, mayChange) {
  const n = line.count, span = line.from && { from: instantWords(own.zone, line.begin), to: instantWords(own.zone, line.last + 1) };
  const what = span ? t(line.moment ? "calendarcell.hiddenMomentsIn" : "calendarcell.hiddenUnitsIn", { n, ...span }) : t(line.moment ? "calendarcell.hiddenMoments" : "calendarcell.hiddenUnits", { n });
  const drop = mayChange && box({ label: t("calendarcell.removeList"), changed() {} });
  const technical = folded(h("p", {}, t("calendarcell.seal", { n: line.version, seal: line.sha256.slice(0, 12) })));
  return { line, drop, element: h("div", {}, h("p", {}, `${what} ${t("calendarcell.secret")}`), drop && drop.element, technical) };
}

/**
 * Fields for adding units, within a row or, without a row, on a date. read(prize) returns
 * the additions that the fields describe, or throws.
 */
function adding(own, { row = null, date = null }) {
  const start = row ? Math.max(row.from, Math.min(row.to - 60_000, Math.ceil((Date.now() + ahead) / 60_000) * 60_000)) : null;
  const time = h("input", { type: "time", step: 1, value: start === null ? "12:00" : clockOf(own.zone, start).replace(/:00$/, "") });
  const units = whole({ max: unitsMax }), reason = reasonField(), moment = box({ label: t("calendarcell.isMoment"), changed: () => shown(reasons, !moment.value()) });
  const reasons = field(t("calendarcell.reason"), reason);
  return {
    elements: [h("div", { class: "fields" }, field(t("calendarcell.time"), time), field(t("calendarcell.units"), units), reasons), moment.element],
    read(prize) {
      if (!(Number(units.value) > 0)) return [];
      const range = row ?? dayOf(own.zone, date.value);
      const day = row?.date ?? date.value;
      const instant = instantsOf(own.zone, day, time.value).find((ms) => ms >= range.from && ms < range.to);
      if (instant === undefined) throw Object.assign(new Error(row ? t("calendarcell.noTimeIn", { zone: own.zone, time: time.value, row: row.name }) : t("calendarcell.noTimeOn", { zone: own.zone, time: time.value, day: dayWords(day) })), { title: t("calendarcell.noTimeTitle") });
      return [{ instant, zone: own.zone, prize, units: Number(units.value), reason: reason.value, isMoment: moment.value() }];
    },
  };
}

/** Makes the changes in the fields of a place, one after another. Returns a text about them. */
async function save(at, own, { items, lists, additions }) {
  const done = { changed: 0, removed: 0, added: 0 }, seals = [];
  for (const { item, units } of items) {
    if (!units || Number(units.value) === item.delta) continue;
    await change(at, item, Number(units.value));
    done[Number(units.value) === 0 ? "removed" : "changed"]++;
  }
  for (const { line, drop } of lists) {
    if (!drop?.value()) continue;
    await send("DELETE", `${agendaPath(at)}/imports/${part(line.version)}`);
    done.removed++;
  }
  for (const addition of additions) {
    const seal = await planUnits(at, addition, newKey());
    if (seal) seals.push(seal);
    done.added++;
  }
  if (seals.length) showSeals(at, own, seals);
  return Object.entries(done).filter(([, n]) => n > 0).map(([what, n]) => t(`calendarcell.did-${what}`, { n })).join(", ") || t("calendarcell.nothing");
}

/** Plans an item again with another amount. The old item is removed first, so that at most one of the two is carried out. */
async function change(at, item, delta) {
  await send("DELETE", `${agendaPath(at)}/${part(item.item)}`);
  if (delta === 0) return;
  const reason = item.reason.trim() ? item.reason : t("calendarfill.aReason"); // release 0.1.0 stored reasons that consist of blanks, which are refused now
  const plan = (n) => once(newKey(), "POST", agendaPath(at), { body: JSON.stringify({ at: item.at, prize: item.prize, delta: n, reason }) });
  try {
    await plan(delta);
  } catch (problem) {
    const isBack = await plan(item.delta).then(() => true, () => false);
    throw Object.assign(problem, { note: t(isBack ? "calendarcell.asItWas" : "calendarcell.isGone") });
  }
}

/** Plans units of any prize on any day. */
export function addByHand(at, own, read) {
  const prize = h("select", {}, own.stocked().map((p) => h("option", { value: p.id }, p.name)));
  const date = h("input", { type: "date", required: true, value: own.first() });
  const added = adding(own, { date });
  ask({
    title: t("calendarcell.byHand"), yes: t("calendarcell.add"),
    body: [field(t("calendarcell.prize"), prize), field(t("calendarcell.day"), date, t("calendarcell.zone", { zone: own.zone })), added.elements].flat(),
    async act() {
      const additions = added.read(prize.value);
      if (additions.length === 0) throw Object.assign(new Error(t("calendarcell.noUnits")), { title: t("calendarcell.noUnitsTitle") });
      return save(at, own, { items: [], lists: [], additions }).finally(read);
    },
  });
}

/** Removes everything of a day that is planned and not done, after a dialog has stated how much that is. grid is the grid of that day. */
export async function removePlan(at, own, { day, grid, button }, read) {
  const cells = grid.rows.flatMap((row) => [...row.cells.values()]);
  const items = await readFor(own, button, () => readOpen(agendaPath(at), day, openMax, at.signal));
  if (!items) return;
  const lists = [...new Map(cells.flatMap((cell) => cell.hidden).map((line) => [line.version, line])).values()];
  const progress = h("p", { role: "status" });
  const units = items.reduce((sum, item) => sum + item.units, 0) + lists.reduce((sum, line) => sum + line.count, 0);
  ask({
    title: t("calendarcell.removeTitle", { day: dayWords(day.date) }), yes: items.length + lists.length > 0 && t("calendarcell.remove"), kind: "danger",
    body: [h("p", {}, items.length + lists.length > 0
      ? `${t("calendarcell.removeUnits", { n: units, releases: t("calendarcell.releases", { n: items.length }), lists: t("calendarcell.lists", { n: lists.length }) })} ${t("calendarcell.removeHow")}`
      : t("calendarcell.removeNothing")), progress],
    async act() {
      let n = 0;
      const remove = async (path) => {
        await send("DELETE", `${agendaPath(at)}/${path}`).catch((problem) => { if (problem.code !== "not-found") throw problem; });
        progress.textContent = t("calendarcell.progress", { n: ++n, of: items.length + lists.length });
      };
      try {
        for (const item of items) await remove(part(item.item));
        for (const line of lists) await remove(`imports/${part(line.version)}`);
      } finally {
        await read();
      }
      return t("calendarcell.removed", { n: units });
    },
  });
}
