// Filling the calendar: by spreading units over days and hours, or by a file.

import { call, newKey, once, part, send } from "./api.js";
import { save, write } from "./csv.js";
import { ask } from "./dialog.js";
import { button, count, field, h, table } from "./dom.js";
import { chosen, previewed } from "./preview.js";
import { box, shown } from "./rulesfields.js";
import { planOf, windowsOf } from "./spreads.js";
import { instantWords, zoned } from "./zone.js";

const soon = 120_000; // units are not planned for earlier than this, in ms: the calls take their time
const minute = 60_000;
const weekdays = [["Mon", 1], ["Tue", 2], ["Wed", 3], ["Thu", 4], ["Fri", 5], ["Sat", 6], ["Sun", 0]];
const hows = {
  day: "when the day's hours begin", hour: "evenly, at each hour", daily: "at random times, as many on each day", anytime: "at random times, on any day",
};
const columns = ["at", "prize", "delta", "reason", "moment"];

export const agendaPath = (at) => `admin/pools/${part(at.id)}/agenda`;
export const whole = (more) => h("input", { type: "number", min: 0, step: 1, inputmode: "numeric", autocomplete: "off", ...more });
export const reasonField = () => h("input", { maxlength: 200, required: true, value: "calendar", autocomplete: "off" });

/** Plans items as one file, once for its key: all of them or none. */
export const planFile = async (at, items, key) => (await once(key, "POST", `${agendaPath(at)}/import`, { body: write(columns, items), type: "text/csv" })).data;

/** Asks how units are spread, shows what that plans, and plans it. own is the calendar: its zone, columns and span. */
export function fill(at, own, read) {
  const units = own.columns.map((prize) => ({ prize, input: whole() }));
  const per = select({ all: "in all", day: "on each day" }), how = select(hows), reason = reasonField();
  const from = h("input", { type: "date", required: true, value: own.first() }), to = h("input", { type: "date", required: true, value: own.last() });
  const hours = (n) => Array.from({ length: 24 }, (_, i) => i + n).map((hour) => h("option", { value: hour }, `${String(hour).padStart(2, "0")}:00`));
  const first = h("select", {}, hours(0)), last = h("select", {}, hours(1));
  last.value = "24";
  const days = weekdays.map(([label, day]) => ({ day, box: box({ label, first: true, changed() {} }) }));
  const moment = box({ label: "Winning moments: the next draw gets the unit, whatever the odds", changed() {} });
  const reasons = field("Reason", reason);
  const what = () => {
    const limits = { after: Math.ceil(Math.max(Date.now() + soon, own.opens() ?? 0) / minute) * minute, before: own.closes() ?? Infinity };
    const windows = windowsOf({ zone: own.zone, from: from.value, to: to.value, weekdays: days.filter((d) => d.box.value()).map((d) => d.day), first: Number(first.value), last: Number(last.value), ...limits });
    const wanted = units.filter(({ input }) => Number(input.value) > 0).map(({ prize, input }) => ({ prize: prize.id, units: Number(input.value) }));
    if (wanted.length === 0) throw Object.assign(new Error("Write the units of at least one prize."), { title: "No units" });
    const plan = planOf({ zone: own.zone, how: how.value, windows, wanted, isDaily: per.value === "day", isMoment: moment.value(), reason: reason.value });
    return { seen: { ...plan, key: newKey() }, shows: previewOf(own, plan, windows, wanted, moment.value()) };
  };
  const preview = previewed(async () => what());
  const dialog = ask({
    title: "Fill by spreading", yes: "Fill", wide: true,
    body: [
      group("Units", units.map(({ prize, input }) => field(prize.name, input)), field("These are", per)),
      field("They are released", how),
      group("Days", [field("First day", from), field("Last day", to)], h("div", { class: "checks" }, days.map((d) => d.box.element))),
      group("Hours", [field("From", first), field("To", last)], h("p", { class: "quiet" }, `Of each day, in the time zone ${own.zone}.`)),
      moment.element, reasons, preview.elements,
    ].flat(),
    async act() {
      const seen = preview.seen();
      if (!seen) {
        await preview.check();
        return false; // what is planned was seen before
      }
      const seals = await plan(at, seen, (n) => preview.show(h("p", { role: "status" }, `${count(n)} of ${count(seen.spreads.length)} spreads are planned…`))).finally(read);
      showSeals(at, own, seals);
      return "The calendar is filled.";
    },
  });
  dialog.addEventListener("input", () => {
    shown(reasons, !moment.value());
    preview.clear();
  });
}

const select = (words) => h("select", {}, Object.entries(words).map(([value, text]) => h("option", { value }, text)));
const group = (name, fields, ...more) => h("fieldset", {}, h("legend", {}, name), h("div", { class: "fields" }, fields), more);

/** What a filling plans, before it does. */
function previewOf(own, { items, spreads }, windows, wanted, isMoment) {
  const rows = wanted.map(({ prize }) => {
    const units = [...items.filter((i) => i.prize === prize).map((i) => i.delta ?? 1), ...spreads.filter((s) => s.prize === prize).map((s) => s.units)];
    const [least, most] = units.reduce(([a, b], n) => [Math.min(a, n), Math.max(b, n)], [Infinity, 0]);
    return [own.name(prize), count(units.reduce((sum, n) => sum + n, 0)), count(units.length), least === most ? count(least) : `${count(least)} to ${count(most)}`];
  });
  const [first, last] = [windows[0].from, windows.at(-1).to];
  return [
    h("p", { dataset: { days: windows.length, spreads: spreads.length } }, `On ${windows.length === 1 ? "one day" : `${count(windows.length)} days`}, from ${instantWords(own.zone, first)} to ${instantWords(own.zone, last)}. Nothing is planned yet.`),
    table("What would be planned", ["Prize", "#Units", spreads.length ? "#Spreads" : "#Releases", "#Units of one"], rows),
    h("p", { class: "quiet" }, spreads.length || isMoment
      ? `The times are hidden from everybody until they have come: they can only be removed together.${spreads.length > 1 ? ` These are ${count(spreads.length)} spreads, one after another; where one is refused, those before it are removed again.` : ""}`
      : "These are planned together: all or none."),
  ];
}

/** Plans what was seen. Where a spread is refused, those before it are removed again. */
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

/** Removes what was planned, and says what is left of it. */
async function undo(at, done, { status }) {
  let left = 0;
  for (const { version } of done) {
    await send("DELETE", `${agendaPath(at)}/imports/${part(version)}`).catch(() => { left++; });
  }
  const unknown = status === 0 || status >= 500 ? " Whether the last spread was planned is not known: check the calendar." : "";
  return `${left === 0 ? "All that was planned before it was removed." : `${count(left)} of the ${count(done.length)} spreads before it could not be removed: check the calendar.`}${unknown}`;
}

/** Offers the seals of what was planned, which are shown only now. */
export function showSeals(at, own, seals) {
  const names = ["prize", "units", "from", "to", "items", "version", "sha256", "salt"];
  ask({
    title: "Planned", no: "Close",
    body: [
      h("p", { role: "status" }, `${count(seals.reduce((sum, seal) => sum + seal.items, 0))} releases are planned, in ${seals.length === 1 ? "one list" : `${count(seals.length)} lists`}.`),
      h("p", {}, "Each list has a seal. With its salt it proves later that the list was not exchanged. The salts are shown only now: keep them as secret as the list until then."),
      h("p", {}, button("Save the seals", () => save(`${at.id}-seals.csv`, write(names, seals.map((s) => ({ ...s, from: s.from && zoned(own.zone, Date.parse(s.from)), to: s.to && zoned(own.zone, Date.parse(s.to)) }))))))],
  });
}

/** Plans a file of releases and moments, all or none. */
export function fillByFile(at, own, read) {
  const file = h("input", { type: "file", accept: ".csv,.txt,text/csv", required: true });
  const preview = previewed(async () => {
    const body = await chosen(file, "use drawsvc agenda import");
    const lines = new TextDecoder().decode(body).split(/\r\n|\n|\r/).filter((line) => line.trim()).length - 1;
    return { seen: { body, key: newKey() }, shows: [h("p", {}, `${count(Math.max(0, lines))} lines after the first one. They are checked and planned together: all or none. Nothing is planned yet.`)] };
  });
  file.addEventListener("change", preview.check);
  const sample = () => {
    const at = [1, 2].map((n) => zoned(own.zone, Math.ceil(Date.now() / minute) * minute + n * 86_400_000)), prize = own.columns[0]?.id ?? "gold";
    save("calendar.csv", write(columns, [{ at: at[0], prize, delta: 5, reason: "calendar" }, { at: at[1], prize, moment: true }]));
  };
  ask({
    title: "Fill by a file", yes: "Fill", wide: true,
    body: [
      h("p", {}, "Begin with ", button("A sample file", sample, "small"), "."),
      field("File", file, "CSV as Excel saves it: at, prize, delta, reason, and maybe moment (true for a winning moment). Times have an offset, such as 2026-12-24T17:00:00+01:00."),
      preview.elements,
    ].flat(),
    async act() {
      const seen = preview.seen();
      if (!seen) {
        await preview.check();
        return false; // what is planned was seen before
      }
      const { data } = await once(seen.key, "POST", `${agendaPath(at)}/import`, { body: seen.body, type: "text/csv" });
      await read();
      showSeals(at, own, [sealOf(data, { prize: "" })]);
      return "The file is planned.";
    },
  });
}

/** Plans units by hand: moves one by one, moments as a file. Returns the seal of moments, null for a move. */
export async function planUnits(at, { instant, zone, prize, units, reason, isMoment }, key) {
  if (isMoment) return sealOf(await planFile(at, Array.from({ length: units }, () => ({ at: zoned(zone, instant), prize, moment: true })), key), { prize });
  await once(key, "POST", agendaPath(at), { body: JSON.stringify({ at: new Date(instant).toISOString(), prize, delta: units, reason }) });
  return null;
}
