// What an audit has found: a sentence for each broken rule, and the service's words folded under it.

import { folded, h } from "./dom.js";
import { isText, t } from "./text.js";

/** What a broken rule of the audit means, in words. */
export const brokenRule = (rule) => t(isText(`violations.rule-${rule}`) ? `violations.rule-${rule}` : "violations.other");

/** The rule at the beginning of a report's text, such as "over-issued: prize …". */
export const ruleOf = (first) => first.split(":")[0];

/** A list of violations, those of one rule together. */
export function violationList(violations) {
  const rules = [...new Set(violations.map((v) => v.rule))];
  const details = (rule) => violations.filter((v) => v.rule === rule).map((v) => h("li", { class: "break" }, v.detail));
  return h("ul", { class: "lines" }, rules.map((rule) =>
    h("li", { dataset: { rule } }, brokenRule(rule), folded(h("p", {}, h("code", {}, rule)), h("ul", { class: "lines" }, details(rule))))));
}
