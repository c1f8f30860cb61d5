// Elements, and numbers and times as text. Text is set as text: no code of the page makes
// markup from a string.

import { locale, t } from "./text.js";

/**
 * The name at the top of the page: the operator's name, if the service has one. The page
 * of release 0.1.0 has no such element.
 */
export const operator = document.querySelector("meta[name=application-name]")?.content ?? "drawsvc";

const svgNS = "http://www.w3.org/2000/svg";

/** Creates an element. Attributes whose names begin with on are listeners, and dataset is an object. */
export function h(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** Creates an element of SVG. */
export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(svgNS, tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "dataset") Object.assign(element.dataset, value);
    else if (name === "value") element.value = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Sets the text of an element if it differs, so that screen readers do not announce an unchanged text. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Shows a number, and sets it as data for programs. */
export function sayNumber(element, n) {
  element.dataset.value = n;
  say(element, count(n));
}

const counts = new Intl.NumberFormat(locale, { maximumFractionDigits: 0 });
const rates = new Intl.NumberFormat(locale, { maximumSignificantDigits: 3 });
const percents = new Intl.NumberFormat(locale, { style: "percent", maximumFractionDigits: 0 });
let clock, day, year, dayOf, zoneName;

/** Sets the time zone of all times that are shown from now on; null means the browser's. */
export function useZone(timeZone) {
  const format = (parts) => new Intl.DateTimeFormat(locale, { timeZone: timeZone ?? undefined, ...parts });
  const minutes = { hour: "2-digit", minute: "2-digit" }, days = { day: "numeric", month: "short" };
  clock = format({ ...minutes, second: "2-digit" });
  day = format({ ...days, ...minutes });
  year = format({ ...days, year: "numeric", ...minutes });
  const dated = new Intl.DateTimeFormat("en-CA", { timeZone: timeZone ?? undefined, year: "numeric", month: "2-digit", day: "2-digit" });
  dayOf = (at) => dated.format(at); // 2026-11-24
  const named = format({ hour: "2-digit", timeZoneName: "short" });
  zoneName = (at) => named.formatToParts(at).find((p) => p.type === "timeZoneName").value;
}
useZone(null);

/** Formats a number in the browser's language. null is the number of an endless blank. */
export const count = (n) => (n === null ? "∞" : counts.format(n));
export const rate = (n) => rates.format(n);

/** Formats a time with its time zone, and with its date unless that is today. */
export function moment(text) {
  const at = new Date(text);
  return `${withoutZone(at)} ${zoneName(at)}`;
}

function withoutZone(at) {
  const itsDay = dayOf(at), today = dayOf(new Date());
  return (itsDay === today ? clock : itsDay.slice(0, 4) === today.slice(0, 4) ? day : year).format(at);
}

/** A time as an element that programs can read too. */
export const time = (text) => h("time", { datetime: text, title: text }, moment(text));

/** Formats a number of seconds in its two largest units. */
export function duration(seconds) {
  const units = [["length.days", 86400], ["length.hours", 3600], ["length.minutes", 60], ["length.seconds", 1]];
  const at = Math.max(units.findIndex(([, size]) => seconds >= size), seconds < 1 ? units.length - 1 : 0);
  const [name, size] = units[at];
  const whole = Math.floor(seconds / size);
  const rest = units[at + 1] ? Math.floor((seconds % size) / units[at + 1][1]) : 0;
  return rest > 0 && whole < 10 ? `${t(name, { n: whole })} ${t(units[at + 1][0], { n: rest })}` : t(name, { n: whole });
}

/** A bar that shows a share of a whole; set(part, whole) sets its width. */
export function bar(label, { says = t("dom.remains"), isLow = (share) => share < 0.1 } = {}) {
  const inside = h("span", { class: "fill" });
  const outside = h("span", { class: "bar", role: "img", "aria-label": label }, inside);
  return {
    element: outside,
    set(part, whole) {
      const share = whole > 0 ? Math.max(0, Math.min(1, part / whole)) : 0;
      inside.style.inlineSize = `${share * 100}%`;
      outside.classList.toggle("low", whole > 0 && isLow(share));
      outside.setAttribute("aria-label", t("dom.share", { label, share: percents.format(share), says }));
    },
  };
}

/**
 * A table with the given columns; a column whose text begins with # has numbers. The
 * roles are explicit, because the layout for phones would remove the implicit ones.
 */
export function table(caption, columns, rows) {
  const number = columns.map((column) => column.startsWith("#"));
  const cells = (row) => row.map((cell, i) => h("td", { role: "cell", class: number[i] && "number", "data-label": columns[i].replace("#", "") }, cell));
  return h("div", { class: "scroll" }, h("table", { role: "table" },
    h("caption", { class: "unseen" }, caption),
    h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, columns.map((column, i) => h("th", { scope: "col", role: "columnheader", class: number[i] && "number" }, column.replace("#", ""))))),
    h("tbody", { role: "rowgroup" }, rows.map((row) => h("tr", { role: "row" }, cells(row))))));
}

/** A word for a state, with its colour. */
export const pill = (word, kind = word) => h("span", { class: `pill ${kind}` }, word);

/** A fact of a list of facts, unless it has no value. */
export const fact = (name, value) => value && h("div", {}, h("dt", {}, name), h("dd", {}, value));

/** A link to another site. That site does not learn from which page the link was followed. */
export const outside = (address, words) => /^https:\/\//.test(address) && h("a", { href: address, target: "_blank", rel: "noopener noreferrer" }, words);

/** A folded part, for the service's own words and for details that only operators need. */
export const folded = (...content) => h("details", { class: "technical" }, h("summary", {}, t("dialog.technical")), ...content);

/** A button. */
export const button = (text, onclick, kind = "") => h("button", { type: "button", class: kind, onclick }, text);

/** A button that copies words, or selects them if the browser does not allow copying. */
export function copied(words) {
  const copy = button(t("dom.copy"), async () => {
    try {
      await navigator.clipboard.writeText(words);
      say(copy, t("dom.copied"));
      setTimeout(() => say(copy, t("dom.copy")), 2000);
    } catch {
      getSelection().selectAllChildren(copy.closest("figure").querySelector("pre"));
    }
  }, "small");
  return copy;
}

/** A labelled field of a form. */
export function field(label, input, hint) {
  const id = `f${++fields}`;
  input.id = id;
  const note = hint && h("small", { id: `${id}h` }, hint);
  if (note) input.setAttribute("aria-describedby", note.id);
  return h("p", { class: "field" }, h("label", { for: id }, label), input, note);
}
let fields = 0;
