// One award: its state, its steps, and the actions on it.

import { get, part } from "./api.js";
import { ask } from "./dialog.js";
import { button, count, fact, folded, h, pill, table, time } from "./dom.js";
import { mayAct, mayShip, readsPools } from "./state.js";
import { claim, fulfil, named, reopen, replaceCode, showCode, voidAwards } from "./steps.js";
import { nodes, t } from "./text.js";
import { money } from "./words.js";

const colours = { won: "closed", claimed: "paused", fulfilled: "open", expired: "closed", voided: "bad" };

/** Shows an award with its steps, and offers the actions that the user may take. after is called after each action. */
export async function showAward(at, version, after) {
  const life = await get(`admin/pools/${part(at.id)}/awards/${version}`, { signal: at.signal });
  const codes = await codesOf(at, life);
  const acts = offers(at, life, codes, after).map(([text, act, kind]) => button(text, () => { dialog.close(); act(); }, kind));
  const dialog = ask({
    title: named([life]), no: t("award.close"), wide: true,
    body: [
      h("p", {}, standing(life)),
      h("dl", { class: "facts" }, fact(t("award.won"), time(life.at)), fact(t("award.value"), money(life.value, at.pool.currency)), fact(t("award.reference"), life.reference && h("span", { class: "break" }, life.reference))),
      life.steps.length ? stepsTable(life.steps) : h("p", { class: "quiet" }, t("award.nothing")),
      acts.length ? h("div", { class: "actions" }, acts) : null,
      folded(h("dl", { class: "facts" },
        fact(t("award.award"), count(life.version)), fact(t("award.draw"), h("code", { class: "break" }, life.draw)), fact(t("award.ordinal"), count(life.ordinal)), fact(t("award.unit"), count(life.unit)), fact(t("award.prize"), h("code", {}, life.prize)))),
    ].flat().filter(Boolean),
  });
}

/** The state of an award, since when, and until when it can be claimed. */
function standing(life) {
  const state = pill(t(`award.is-${life.state}`), colours[life.state]), since = time(life.since);
  if (!life.needs_claim || life.state !== "won") return nodes("award.since", { state, at: since });
  return life.claim_until ? nodes("award.claimUntil", { state, at: since, until: time(life.claim_until) }) : nodes("award.claimAnytime", { state, at: since });
}

function stepsTable(steps) {
  return table(t("award.steps"), [t("award.when"), t("award.who"), t("award.step"), t("award.about")], steps.map((s) => [
    time(s.at), h("span", { class: "break" }, s.actor), t(`award.step-${s.to}`),
    h("span", { class: "break" }, [s.reference, s.reason, s.returned !== null && t("award.returned")].filter(Boolean).join("; ") || "–"),
  ]));
}

/** The counts of the codes of an award's prize, null if the prize has no codes or the award's code may not be shown. */
async function codesOf(at, life) {
  const isOpen = ["claimed", "fulfilled"].includes(life.state) || life.state === "won" && !life.needs_claim;
  const mayHave = readsPools() ? at.pool.prizes.some((p) => p.id === life.prize && p.codes) : life.kind === "prize";
  if (!mayShip() || !isOpen || !mayHave) return null;
  try {
    return await get(`admin/pools/${part(at.id)}/prizes/${part(life.prize)}/codes`, { signal: at.signal });
  } catch (problem) {
    if (problem.status === 409) return null; // the prize has no codes
    throw problem;
  }
}

/** The actions on an award that its state and the user's role allow. */
function offers(at, life, codes, after) {
  const isOpen = ["won", "claimed", "fulfilled"].includes(life.state) && life.kind === "prize";
  const one = [life];
  return [
    isOpen && mayShip() && life.state !== "fulfilled" && [t("award.fulfil"), () => fulfil(at, one, after)],
    mayShip() && life.state === "won" && life.needs_claim && [t("award.claim"), () => claim(at, life, after)],
    mayShip() && life.state === "fulfilled" && [t("award.correct"), () => fulfil(at, one, after)],
    mayAct() && life.state === "fulfilled" && [t("award.reopen"), () => reopen(at, one, after)],
    codes && [t("award.showCode"), () => showCode(at, life, after)],
    codes && [t("award.replaceCode"), () => replaceCode(at, life, codes.reserve, after)],
    isOpen && mayAct() && [t("award.void"), () => voidAwards(at, one, after), "danger"],
  ].filter(Boolean);
}
