// What rules mean, in sentences: the service's own in English, and those of the document in
// another language.

import { h } from "./dom.js";
import { differences } from "./rulesdiff.js";
import { language, t } from "./text.js";
import { isCalendar } from "./words.js";

/** The sentences that a document means. said are those of the service. */
export const meaning = (said, document, at) => h("ul", { class: "meaning" }, (language === "en" ? said : sentences(document, at)).map((sentence) => h("li", {}, sentence)));

/** What each member says, and what a document means by leaving a member out. */
function sentences(document, at) {
  const { budget, blocked = [] } = document, limits = Array.isArray(document.limits) ? document.limits : [], pers = [...limits, budget].map((of) => of?.per);
  const whole = { disclose: false, ...(pers.some(isCalendar) && { zone: "UTC" }), ...document };
  const said = differences({}, { ...whole, blocked: undefined }, at).map(([, , text]) => text);
  if (!document.win && !document.odds) said.unshift(t("rulesmeaning.uniform"));
  if (blocked.length) said.push(t("rulesmeaning.blocked", { n: blocked.length }));
  if (budget || limits.some((limit) => limit.of !== "draws")) said.push(t("rulesmeaning.beyond"));
  return said;
}
