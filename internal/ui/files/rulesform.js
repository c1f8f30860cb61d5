// Rules as a form. It changes the members that its user changes, and no other: what it
// does not know, and what nobody touched, stays in the document as it is.

import { h } from "./dom.js";
import { withOrWithout } from "./rulesfields.js";
import { claimsPart, lowPart, usersPart } from "./rulesusers.js";
import { budgetPart, guaranteePart, lawPart, limitsPart } from "./ruleslaw.js";
import { zonePart } from "./ruleszone.js";
import { t } from "./text.js";

/** Whether a value of the document has the shape that its part of the form shows. */
const shapes = {
  win: isText, fallback: isText, zone: isText, tickets: isFlag, disclose: isFlag,
  odds: (v) => isObject(v) && isCount(v.of) && isObject(v.prizes) && Object.values(v.prizes).every(isCount),
  guarantee: (v) => isObject(v) && isCount(v.after) && isText(v.prize),
  limits: (v) => Array.isArray(v) && v.every((l) => isObject(l) && isText(l.of) && isCount(l.max) && isOptional(l.prize) && isOptional(l.per)),
  budget: (v) => isObject(v) && isText(v.max) && isOptional(v.per),
  blocked: (v) => Array.isArray(v) && v.every((user) => isText(user) && !/[\r\n]/.test(user) && user === user.trim()) && new Set(v).size === v.length,
  low: (v) => Array.isArray(v) && v.every((l) => isObject(l) && isText(l.prize) && isCount(l.below)),
  claims: (v) => isObject(v) && isOptional(v.within) && (v.return === undefined || isFlag(v.return)) && (v.prizes === undefined || Array.isArray(v.prizes) && v.prizes.every(isText)),
};

function isText(v) { return typeof v === "string"; }
function isFlag(v) { return typeof v === "boolean"; }
function isCount(v) { return Number.isSafeInteger(v) && v >= 0; }
function isObject(v) { return typeof v === "object" && v !== null && !Array.isArray(v); }
function isOptional(v) { return v === undefined || isText(v); }

/** The parts of the form: the name of their heading, and the members that each of them changes. */
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
 * The form of a document. changed() is called when something was typed. document() is the
 * document as it is typed, and show(member) marks the part of a member.
 */
export function rulesForm(first, at, changed) {
  const made = parts.map(([name, members, make]) => {
    const odd = members.filter((member) => first[member] !== undefined && !shapes[member](first[member]));
    const part = odd.length ? onlyJSON(odd) : make({ first, at, changed });
    const whole = Object.fromEntries(members.map((member) => [member, first[member]])); // as it could be read last
    return { members, part, whole, element: h("fieldset", { dataset: { members: members.join(" ") } }, h("legend", {}, t(`rulesform.part-${name}`)), part.elements) };
  });
  const unknown = Object.keys(first).filter((member) => !shapes[member]);
  return {
    elements: [...made.map(({ element }) => element), unknown.length > 0 && h("p", { class: "warning" }, t("rulesform.unknown", { members: quoted(unknown) }))].filter(Boolean),
    /** Whether the service refuses the document, whatever is typed into the form. */
    isStrange: unknown.length > 0,
    document() {
      const document = structuredClone(first);
      for (const { members, part, whole, element } of made) {
        // A field that cannot be read removes nothing: its part stays as it could be read last.
        if (faultyOf(element)) members.forEach((member) => withOrWithout(document, member, whole[member]));
        else {
          part.write?.(document);
          members.forEach((member) => { whole[member] = document[member]; });
        }
      }
      return document;
    },
    /** What nobody may overlook: the first field that holds what the form cannot read. */
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

/** In place of a part whose members are written in a way that no field shows. */
const onlyJSON = (members) => ({ elements: [h("p", { class: "warning" }, t("rulesform.onlyJSON", { members: quoted(members) }))] });
