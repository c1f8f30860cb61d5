// What rules mean, in sentences: the service's own in English, and those of the document in
// another language, which say the same.

import { h } from "./dom.js";
import { differences } from "./rulesdiff.js";
import { prizeWords } from "./rulesfields.js";
import { language, t } from "./text.js";
import { chanceWords, grouped, isCalendar } from "./words.js";

/** Whether the agenda has had winning moments, which are not a member of the rules. */
export const hasMoments = (at) => (at.agenda ?? []).some((item) => item.moment || item.hidden?.moment);

/**
 * The sentences that a document means, and what moments add. said are those of the service, in
 * English. For players the document is as a page of fairness has it, and said with moments.
 */
export function meaning(said, document, at, forPlayers = false) {
  const isSaid = said && (language === "en" || !document);
  const all = isSaid ? [...said] : sentences(document, at, forPlayers);
  if (hasMoments(at) && !(isSaid && forPlayers)) all.push(t("rulesmeaning.moments"));
  return h("ul", { class: "meaning", lang: isSaid && "en" }, all.map((sentence) => h("li", {}, sentence)));
}

/** What each member says, and what a document means by leaving a member out. A member that players may not read is true. */
function sentences(document, at, forPlayers) {
  const { budget, blocked = [], claims, guarantee, odds, tickets, win } = document;
  const limits = Array.isArray(document.limits) ? document.limits : [], pers = [...limits, budget].map((of) => of?.per);
  const own = { blocked: undefined, guarantee: undefined, tickets: undefined, win: undefined }; // what a difference says shorter
  for (const member of ["budget", "odds"]) if (document[member] === true) own[member] = undefined;
  const whole = { ...document, ...own, ...(pers.some(isCalendar) && { zone: document.zone ?? "UTC" }), ...(!forPlayers && { disclose: document.disclose ?? false }) };
  const said = differences({}, whole, at).map(([, , text]) => t("rulesmeaning.sentence", { text }));
  if (tickets) said.unshift(t("rulesmeaning.tickets"));
  if (odds === true) said.unshift(t("rulesmeaning.someOdds"));
  else if (odds) said.push(t(Object.values(odds.prizes ?? {}).some((share) => share > 0) ? "rulesmeaning.usedUp" : "rulesmeaning.noChance"));
  else if (win === true) said.unshift(t("rulesmeaning.someWin"));
  else said.unshift(isCertain(win) ? t("rulesmeaning.uniform") : t("rulesmeaning.win", { chance: chanceWords(win, grouped) }));
  if (guarantee) said.push(guaranteeWords(guarantee, at));
  if (budget === true) said.push(t("rulesmeaning.someBudget"));
  if (blocked === true) said.push(t("rulesmeaning.someBlocked"));
  else if (blocked.length) said.push(t("rulesmeaning.blocked", { n: blocked.length }));
  if (budget || limits.some((limit) => limit.of !== "draws")) said.push(t("rulesmeaning.beyond"));
  if (claims?.within && claims.return !== false) said.push(t("rulesmeaning.returns"));
  return said;
}

/** Whether a fraction is 1, as that of a document without one is. */
const isCertain = (win) => typeof win !== "string" || new Set(win.split("/").map(Number)).size === 1;

function guaranteeWords({ after, prize }, at) {
  const name = prizeWords(at)[prize] ?? prize;
  return after === 0 ? t("rulesmeaning.consolation", { prize: name }) : t("rulesmeaning.guarantee", { n: after, prize: name });
}
