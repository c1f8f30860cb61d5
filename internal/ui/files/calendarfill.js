// Filling the calendar: by spreading units over days and hours, or by a file.

import { agendaPath } from "./agendaread.js";
import { call, newKey, once, part, send } from "./api.js";
import { save, write } from "./csv.js";
import { ask } from "./dialog.js";
import { button, count, field, h, table } from "./dom.js";
import { chosen, previewed } from "./preview.js";
import { box, shown } from "./rulesfields.js";
import { planOf, windowsOf } from "./spreads.js";
import { locale, nodes, t } from "./text.js";
import { dateOf, dayWords, instantWords, zoned } from "./zone.js";

const soon = 120_000; // units are not planned for earlier than this, in ms: the calls take their time
const minute = 60_000, daysMax = 100; // daysMax is the maximum number of days in the preview of a file
const weekdays = [1, 2, 3, 4, 5, 6, 0], hows = ["day", "hour", "daily", "anytime"];
const weekdayName = new Intl.DateTimeFormat(locale, { timeZone: "UTC", weekday: "short" });
const columns = ["at", "prize", "delta", "reason", "moment"];

export const whole = (more) => h("input", { type: "number", min: 0, step: 1, inputmode: "numeric", autocomplete: "off", ...more });
export const reasonField = () => h("input", { maxlength: 200, required: true, value: t("calendarfill.aReason"), autocomplete: "off" });

/** Plans items as one file, once for the key: all of them or none. */
export const planFile = async (at, items, key) => (await once(key, "POST", `${agendaPath(at)}/import`, { body: write(columns, items), type: "text/csv" })).data;

/**
 * Asks how units are to be spread, shows a preview, and plans them. own is the calendar,
 * with its zone, columns and span.
 */
export function fill(at, own, read) {
  const units = own.columns.map((prize) => ({ prize, input: whole() }));
  const per = select(["all", "day"], (value) => t(`calendarfill.per-${value}`)), how = select(hows, (value) => t(`calendarfill.how-${value}`)), reason = reasonField();
  const from = h("input", { type: "date", required: true, value: own.first() }), to = h("input", { type: "date", required: true, value: own.last() });
  const hours = (n) => Array.from({ length: 24 }, (_, i) => i + n).map((hour) => h("option", { value: hour }, `${String(hour).padStart(2, "0")}:00`));
  const first = h("select", {}, hours(0)), last = h("select", {}, hours(1));
  last.value = "24";
  const days = weekdays.map((day) => ({ day, box: box({ label: weekdayName.format(Date.UTC(2023, 0, 1 + day)), first: true, changed() {} }) }));
  const moment = box({ label: t("calendarfill.areMoments"), changed() {} });
  const reasons = field(t("calendarfill.reason"), reason);
  const what = () => {
    const limits = { after: Math.ceil(Math.max(Date.now() + soon, own.opens() ?? 0) / minute) * minute, before: own.closes() ?? Infinity };
    const windows = windowsOf({ zone: own.zone, from: from.value, to: to.value, weekdays: days.filter((d) => d.box.value()).map((d) => d.day), first: Number(first.value), last: Number(last.value), ...limits });
    const wanted = units.filter(({ input }) => Number(input.value) > 0).map(({ prize, input }) => ({ prize: prize.id, units: Number(input.value) }));
    if (wanted.length === 0) throw Object.assign(new Error(t("calendarfill.noUnits")), { title: t("calendarfill.noUnitsTitle") });
    const plan = planOf({ zone: own.zone, how: how.value, windows, wanted, isDaily: per.value === "day", isMoment: moment.value(), reason: reason.value });
    return { seen: { ...plan, key: newKey() }, shows: previewOf(own, plan, windows, wanted, moment.value()) };
  };
  const preview = previewed(async () => what());
  const dialog = ask({
    title: t("calendarfill.title"), yes: t("calendarfill.fill"), wide: true,
    body: [
      group(t("calendarfill.units"), units.map(({ prize, input }) => field(prize.name, input)), field(t("calendarfill.per"), per)),
      field(t("calendarfill.how"), how),
      group(t("calendarfill.days"), [field(t("calendarfill.firstDay"), from), field(t("calendarfill.lastDay"), to)], h("div", { class: "checks" }, days.map((d) => d.box.element))),
      group(t("calendarfill.hours"), [field(t("calendarfill.from"), first), field(t("calendarfill.to"), last)], h("p", { class: "quiet" }, t("calendarfill.zone", { zone: own.zone }))),
      moment.element, reasons, preview.elements,
    ].flat(),
    async act() {
      const seen = preview.seen();
      if (!seen) {
        await preview.check();
        return false; // nothing is planned before its preview was shown
      }
      const seals = await plan(at, seen, (n) => preview.show(h("p", { role: "status" }, t("calendarfill.progress", { n, of: seen.spreads.length })))).finally(read);
      showSeals(at, own, seals);
      return t("calendarfill.filled");
    },
  });
  dialog.addEventListener("input", () => {
    shown(reasons, !moment.value());
    preview.clear();
  });
}

const select = (values, words) => h("select", {}, values.map((value) => h("option", { value }, words(value))));
const group = (name, fields, ...more) => h("fieldset", {}, h("legend", {}, name), h("div", { class: "fields" }, fields), more);

/** The preview of what will be planned. */
function previewOf(own, { items, spreads }, windows, wanted, isMoment) {
  const rows = wanted.map(({ prize }) => {
    const units = [...items.filter((i) => i.prize === prize).map((i) => i.delta ?? 1), ...spreads.filter((s) => s.prize === prize).map((s) => s.units)];
    const [least, most] = units.reduce(([a, b], n) => [Math.min(a, n), Math.max(b, n)], [Infinity, 0]);
    return [own.name(prize), count(units.reduce((sum, n) => sum + n, 0)), count(units.length), least === most ? count(least) : t("calendarfill.range", { least, most })];
  });
  const [first, last] = [windows[0].from, windows.at(-1).to];
  return [
    h("p", { dataset: { days: windows.length, spreads: spreads.length } }, `${t("calendarfill.span", { n: windows.length, from: instantWords(own.zone, first), to: instantWords(own.zone, last) })} ${t("calendarfill.notYet")}`),
    table(t("calendarfill.preview"), [t("calendarfill.prize"), `#${t("calendarfill.units")}`, `#${t(spreads.length ? "calendarfill.spreads" : "calendarfill.releases")}`, `#${t("calendarfill.each")}`], rows),
    h("p", { class: "quiet" }, spreads.length || isMoment
      ? [t("calendarfill.hidden"), spreads.length > 1 && t("calendarfill.oneByOne", { n: spreads.length })].filter(Boolean).join(" ")
      : t("calendarfill.together")),
  ];
}

/** Plans what the preview showed. If a spread is refused, the spreads before it are removed again. */
async function plan(at, { items, spreads, key }, progress) {
  if (items.length) return [sealOf(await planFile(at, items, key), { prize: [...new Set(items.map((i) => i.prize))].join(" ") })];
  const done = [];
  try {
    for (const [i, spread] of spreads.entries()) {
      const { data } = await once(`${key}-${i}`, "POST", `${agendaPath(at)}/spread`, { body: JSON.stringify(spread) });
      done.push(sealOf(data, spread));
      progress(done.length);
    }
    return done;
  } catch (problem) {
    throw Object.assign(problem, { note: await undo(at, done, problem) });
  }
}

const sealOf = ({ version, count: items, sha256, salt }, { prize, units = "", from = "", to = "" }) => ({ prize, units, from, to, items, version, sha256, salt });

/** Removes the lists that were planned, and returns a text about those that are left. */
async function undo(at, done, { status }) {
  let left = 0;
  for (const { version } of done) {
    await send("DELETE", `${agendaPath(at)}/imports/${part(version)}`).catch(() => { left++; });
  }
  const isUnknown = status === 0 || status >= 500;
  return [left === 0 ? t("calendarfill.undone") : t("calendarfill.left", { left, of: done.length }), isUnknown && t("calendarfill.unknown")].filter(Boolean).join(" ");
}

/** Offers the seals of planned items as a file. They are shown only once. */
export function showSeals(at, own, seals) {
  const names = ["prize", "units", "from", "to", "items", "version", "sha256", "salt"], n = seals.reduce((sum, seal) => sum + seal.items, 0);
  ask({
    title: t("calendarfill.planned"), no: t("calendarfill.close"),
    body: [
      h("p", { role: "status" }, seals.length === 1 ? t("calendarfill.inOneList", { n }) : t("calendarfill.inLists", { n, lists: seals.length })),
      h("p", {}, t("calendarfill.seals")),
      h("p", {}, button(t("calendarfill.saveSeals"), () => save(`${at.id}-seals.csv`, write(names, seals.map((s) => ({ ...s, from: s.from && zoned(own.zone, Date.parse(s.from)), to: s.to && zoned(own.zone, Date.parse(s.to)) }))))))],
  });
}

/** What a file would plan on each day. */
function shownFile(own, { items, encoding }) {
  const days = new Map();
  for (const { at, prize, units, moment } of items) {
    const date = dateOf(own.zone, Date.parse(at)), day = days.get(date) ?? days.set(date, { units: 0, moments: 0, prizes: new Map() }).get(date);
    day[moment ? "moments" : "units"] += units;
    day.prizes.set(prize, (day.prizes.get(prize) ?? 0) + units);
  }
  const dates = [...days.keys()].sort(), sum = (what) => dates.reduce((all, date) => all + days.get(date)[what], 0);
  const rows = dates.slice(0, daysMax).map((date) => {
    const { units, moments, prizes } = days.get(date);
    return [dayWords(date), count(units), count(moments), [...prizes].map(([id, n]) => t("calendarfill.ofPrize", { n, prize: own.name(id) })).join(", ")];
  });
  const holes = { units: t("calendarfill.unitCount", { n: sum("units") }), moments: t("calendarfill.momentCount", { n: sum("moments") }), n: dates.length, from: dayWords(dates[0]), to: dayWords(dates.at(-1)) };
  return [
    h("p", {}, `${t("calendarfill.fileSpan", holes)} ${t("calendarfill.notYet")}`), encoding === "windows-1252" && h("p", { class: "warning" }, t("prizefile.windows")),
    table(t("calendarfill.preview"), [t("calendarfill.day"), `#${t("calendarfill.units")}`, `#${t("calendarfill.moments")}`, t("calendarfill.prizes")], rows),
    dates.length > daysMax && h("p", { class: "quiet" }, t("calendarfill.moreDays", { n: dates.length - daysMax })),
    h("p", { class: "quiet" }, t("calendarfill.together")),
  ].filter(Boolean);
}

/** Plans a file of releases and moments, all or none. */
export function fillByFile(at, own, read) {
  const file = h("input", { type: "file", accept: ".csv,.txt,text/csv", required: true });
  const preview = previewed(async () => {
    const body = await chosen(file, t("calendarfill.tooLarge"));
    const { data } = await call("POST", `${agendaPath(at)}/import?dry_run=true`, { body, type: "text/csv" });
    return { seen: { body, key: newKey() }, shows: shownFile(own, data) };
  });
  file.addEventListener("change", preview.check);
  const sample = () => {
    const at = [1, 2].map((n) => zoned(own.zone, Math.ceil(Date.now() / minute) * minute + n * 86_400_000)), prize = own.columns[0]?.id ?? "gold";
    save("calendar.csv", write(columns, [{ at: at[0], prize, delta: 5, reason: t("calendarfill.aReason") }, { at: at[1], prize, moment: true }]));
  };
  ask({
    title: t("calendarfill.byFile"), yes: t("calendarfill.fill"), wide: true,
    body: [
      h("p", {}, nodes("calendarfill.begin", { sample: button(t("calendarfill.sample"), sample, "small") })),
      field(t("calendarfill.file"), file, t("calendarfill.fileHint")),
      preview.elements,
    ].flat(),
    async act() {
      const seen = preview.seen();
      if (!seen) {
        await preview.check();
        return false; // nothing is planned before its preview was shown
      }
      const { data } = await once(seen.key, "POST", `${agendaPath(at)}/import`, { body: seen.body, type: "text/csv" });
      await read();
      showSeals(at, own, [sealOf(data, { prize: "" })]);
      return t("calendarfill.isPlanned");
    },
  });
}

/** Plans units by hand: one move, or a file of moments. Returns the seal of moments, null for a move. */
export async function planUnits(at, { instant, zone, prize, units, reason, isMoment }, key) {
  if (isMoment) return sealOf(await planFile(at, Array.from({ length: units }, () => ({ at: zoned(zone, instant), prize, moment: true })), key), { prize });
  await once(key, "POST", agendaPath(at), { body: JSON.stringify({ at: new Date(instant).toISOString(), prize, delta: units, reason }) });
  return null;
}
