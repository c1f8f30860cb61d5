// The meaning of rules in sentences. In English they are the service's. In another
// language the page makes them from the document, with the same meaning.

import { h } from "./dom.js";
import { differences } from "./rulesdiff.js";
import { prizeWords } from "./rulesfields.js";
import { language, t } from "./text.js";
import { chanceWords, grouped, isCalendar } from "./words.js";

/** Whether the agenda has winning moments, also past ones. They are not a member of the rules. */
export const hasMoments = (at) => Boolean(at.plans?.hasMoments);

const list = (all, lang) => h("ul", { class: "meaning", lang }, all.map((sentence) => h("li", {}, sentence)));

/**
 * The sentences about a document, with one about winning moments if there are any. said
 * are the service's sentences, in English; or null.
 */
export function meaning(said, document, at) {
  const isSaid = said && language === "en";
  const all = isSaid ? [...said] : sentences({ ...document, disclose: document.disclose ?? false }, at);
  return list(hasMoments(at) ? [...all, t("rulesmeaning.moments")] : all, isSaid && "en");
}

/** The same for players. The service's words include winning moments. rules is null if the service cannot read them. */
export function meaningForPlayers({ words, rules, moments }, at) {
  if (language === "en" || !rules) return list(words, "en");
  const all = sentences(rules, at);
  return list(moments ? [...all, t("rulesmeaning.moments")] : all);
}

/**
 * Sentences about each member, and about members that the document leaves out. A member
 * that players may not read has the value true.
 */
function sentences(document, at) {
  const { budget, blocked = [], claims, guarantee, odds, tickets, win } = document;
  const limits = Array.isArray(document.limits) ? document.limits : [], pers = [...limits, budget].map((of) => of?.per);
  const own = { blocked: undefined, guarantee: undefined, tickets: undefined, win: undefined }; // the text of a difference is too short for these
  for (const member of ["budget", "odds"]) if (document[member] === true) own[member] = undefined;
  const whole = { ...document, ...own, ...(pers.some(isCalendar) && { zone: document.zone ?? "UTC" }) };
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
  const hasLimit = limits.some((limit) => limit.of !== "draws");
  if (budget && hasLimit) said.push(t("rulesmeaning.beyond"));
  else if (budget || hasLimit) said.push(t(budget ? "rulesmeaning.beyondBudget" : "rulesmeaning.beyondLimit"));
  if (claims?.within && claims.return !== false) said.push(t("rulesmeaning.returns"));
  return said;
}

/** Whether the fraction win is 1, which is also its default. */
const isCertain = (win) => typeof win !== "string" || new Set(win.split("/").map(Number)).size === 1;

function guaranteeWords({ after, prize }, at) {
  const name = prizeWords(at)[prize] ?? prize;
  return after === 0 ? t("rulesmeaning.consolation", { prize: name }) : t("rulesmeaning.guarantee", { n: after, prize: name });
}
