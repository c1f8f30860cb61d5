// Rules as a form. It changes only the members that the user edits. Members that it does
// not support, or that nobody edits, stay in the document unchanged.

import { h } from "./dom.js";
import { withOrWithout } from "./rulesfields.js";
import { claimsPart, lowPart, usersPart } from "./rulesusers.js";
import { budgetPart, guaranteePart, lawPart, limitsPart } from "./ruleslaw.js";
import { zonePart } from "./ruleszone.js";
import { t } from "./text.js";

/** For each member, whether its value has a shape that the form can show. */
const shapes = {
  win: isString, fallback: isString, zone: isString, tickets: isFlag, disclose: isFlag,
  odds: (v) => isObject(v) && isCount(v.of) && isObject(v.prizes) && Object.values(v.prizes).every(isCount),
  guarantee: (v) => isObject(v) && isCount(v.after) && isString(v.prize),
  limits: (v) => Array.isArray(v) && v.every((l) => isObject(l) && isString(l.of) && isCount(l.max) && isOptional(l.prize) && isOptional(l.per)),
  budget: (v) => isObject(v) && isString(v.max) && isOptional(v.per),
  blocked: (v) => Array.isArray(v) && v.every((user) => isString(user) && !/[\r\n]/.test(user) && user === user.trim()) && new Set(v).size === v.length,
  low: (v) => Array.isArray(v) && v.every((l) => isObject(l) && isString(l.prize) && isCount(l.below)),
  claims: (v) => isObject(v) && isOptional(v.within) && (v.return === undefined || isFlag(v.return)) && (v.prizes === undefined || Array.isArray(v.prizes) && v.prizes.every(isString)),
};

function isString(v) { return typeof v === "string"; }
function isFlag(v) { return typeof v === "boolean"; }
function isCount(v) { return Number.isSafeInteger(v) && v >= 0; }
function isObject(v) { return typeof v === "object" && v !== null && !Array.isArray(v); }
function isOptional(v) { return v === undefined || isString(v); }

/** The parts of the form: the name of the heading, the members that the part changes, and its function. */
const parts = [
  ["chances", ["win", "odds", "fallback"], lawPart],
  ["guarantee", ["guarantee"], guaranteePart],
  ["limits", ["limits"], limitsPart],
  ["budget", ["budget"], budgetPart],
  ["zone", ["zone"], zonePart],
  ["users", ["tickets", "blocked", "disclose"], usersPart],
  ["low", ["low"], lowPart],
  ["claims", ["claims"], claimsPart],
];

/**
 * The form of a document. changed() is called after each change. document() returns the
 * document that the form describes, and show(member) marks the part with a member.
 */
export function rulesForm(first, at, changed) {
  const made = parts.map(([name, members, make]) => {
    const odd = members.filter((member) => first[member] !== undefined && !shapes[member](first[member]));
    const part = odd.length ? onlyJSON(odd) : make({ first, at, changed });
    const whole = Object.fromEntries(members.map((member) => [member, first[member]])); // the members when the part could last be read
    return { members, part, whole, element: h("fieldset", { dataset: { members: members.join(" ") } }, h("legend", {}, t(`rulesform.part-${name}`)), part.elements) };
  });
  const unknown = Object.keys(first).filter((member) => !shapes[member]);
  return {
    elements: [...made.map(({ element }) => element), unknown.length > 0 && h("p", { class: "warning" }, t("rulesform.unknown", { members: quoted(unknown) }))].filter(Boolean),
    /** Whether the document has unknown members, so that the service refuses it for any input. */
    isStrange: unknown.length > 0,
    document() {
      const document = structuredClone(first);
      for (const { members, part, whole, element } of made) {
        // A field that cannot be read removes nothing: its part keeps the members that
        // could be read last.
        if (faultyOf(element)) members.forEach((member) => withOrWithout(document, member, whole[member]));
        else {
          part.write?.(document);
          members.forEach((member) => { whole[member] = document[member]; });
        }
      }
      return document;
    },
    /** The first field whose text the form cannot read. */
    faulty: () => made.map(({ element }) => faultyOf(element)).find(Boolean),
    show(member) {
      made.forEach(({ members, element }) => element.classList.toggle("wrong", members.includes(member)));
      made.find(({ members }) => members.includes(member))?.element.scrollIntoView({ block: "nearest" });
    },
    preset: (per) => made.forEach(({ part }) => part.preset?.(per)),
  };
}

const faultyOf = (element) => element.querySelector(":invalid:not(fieldset)");

const quoted = (members) => members.map((member) => `"${member}"`).join(", ");

/** Replaces a part whose members have a shape that no field can show. */
const onlyJSON = (members) => ({ elements: [h("p", { class: "warning" }, t("rulesform.onlyJSON", { members: quoted(members) }))] });
