// The fields of the form of rules.

import { button, field, h, say } from "./dom.js";
import { t } from "./text.js";

/** Shows a field if "is" is true, otherwise hides and disables it. */
export function shown(element, is) {
  element.hidden = !is;
  element.querySelectorAll("input, select, textarea").forEach((input) => { input.disabled = !is; });
  return element;
}

/**
 * A text field whose text is parsed. read(text) returns its value, or null for an invalid
 * text. wanted describes valid texts, and as(value) how a text was understood. The value
 * of an empty field is undefined.
 */
export function entry({ label, first = "", read, wanted, as = () => "", hint = "", changed, attributes = {} }) {
  const input = h("input", { autocomplete: "off", spellcheck: "false", ...attributes, value: first });
  const element = field(label, input, hint || " ");
  const note = element.querySelector("small");
  const value = () => (input.value.trim() === "" ? undefined : read(input.value));
  const check = () => {
    const is = value();
    input.setCustomValidity(is === null ? wanted : "");
    input.setAttribute("aria-invalid", is === null ? "true" : "false");
    say(note, is === null ? wanted : (is !== undefined && as(is)) || hint || " ");
  };
  input.addEventListener("input", () => { check(); changed(); });
  check();
  return { element, input, value, isChanged: () => input.value !== first };
}

/** A choice among words, by their values. If the first value has no word, it is offered as it is. */
export function choice({ label, words, first = "", changed, attributes = {}, isLabelled = true }) {
  const all = Object.hasOwn(words, first) ? words : { ...words, [first]: first };
  const input = h("select", attributes, Object.entries(all).map(([value, text]) => h("option", { value }, text)));
  input.value = first;
  input.addEventListener("input", () => changed());
  if (!isLabelled) input.setAttribute("aria-label", label);
  return { element: isLabelled ? field(label, input) : input, input, value: () => input.value, isChanged: () => input.value !== first };
}

/**
 * The names, by id, of the prizes for which the function "is" returns true. Prizes with
 * the same name are shown with their ids. none is the word for no prize.
 */
export function prizeWords(at, is = () => true, none = null) {
  const words = none === null ? {} : { "": none };
  const once = new Set(), twice = new Set();
  for (const { name } of at.pool.prizes) (once.has(name) ? twice : once).add(name);
  for (const { id, name } of at.pool.prizes.filter(is)) words[id] = twice.has(name) ? `${name} (${id})` : name;
  return words;
}

/** A check box. */
export function box({ label, first = false, changed }) {
  const input = h("input", { type: "checkbox", checked: first });
  input.addEventListener("change", () => changed());
  input.addEventListener("input", () => changed());
  return { element: h("p", {}, h("label", { class: "check" }, input, ` ${label}`)), input, value: () => input.checked, isChanged: () => input.checked !== first };
}

/** A field for a whole number within bounds. */
export function number({ label, first, min, max, changed, hint }) {
  const read = (text) => (/^\d+$/.test(text.trim()) && Number(text) >= min && Number(text) <= max ? Number(text) : null);
  return entry({ label, first: first === undefined ? "" : String(first), read, wanted: t("rulesfields.whole", { min, max }), hint, changed, attributes: { inputmode: "numeric" } });
}

/**
 * The rows of a member of the document that is a list. make(from) returns the row of an
 * element, or for {} a new row: its elements, isChanged() and value().
 */
export function list({ first, member, make, add, max, changed, name }) {
  const place = h("div", { class: "rows" }), rows = [];
  let isChanged = false;
  const append = (from) => {
    const row = make(from);
    const drop = button(t("rulesfields.remove"), () => {
      rows.splice(rows.indexOf(row), 1);
      element.remove();
      isChanged = true;
      more.hidden = false;
      changed();
    }, "small");
    const element = h("div", { class: "fields", role: "group", "aria-label": name }, row.elements, h("p", {}, drop));
    rows.push(row);
    place.append(element);
    more.hidden = rows.length >= max;
    return element;
  };
  const more = button(add, () => {
    isChanged = true;
    append({}).querySelector("input:enabled, select:enabled").focus();
    changed();
  }, "small");
  (first[member] ?? []).forEach(append);
  return {
    elements: [place, h("p", {}, more)],
    write(document) {
      if (isChanged || rows.some((row) => row.isChanged())) withOrWithout(document, member, rows.length ? rows.map((row) => row.value()) : undefined);
    },
  };
}

/** Returns a copy of an object with members set; undefined removes a member. */
export function withMembers(from, members) {
  const object = { ...from, ...members };
  for (const [name, value] of Object.entries(object)) if (value === undefined) delete object[name];
  return object;
}

/** Sets a member of a document; undefined removes it. */
export function withOrWithout(document, member, value) {
  if (value === undefined) delete document[member];
  else document[member] = value;
}
