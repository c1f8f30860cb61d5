// One award: where it stands, what became of it, and what it may become.

import { get, part } from "./api.js";
import { ask } from "./dialog.js";
import { button, count, fact, h, pill, table, time } from "./dom.js";
import { money } from "./money.js";
import { mayAct, mayShip, readsPools } from "./state.js";
import { claim, fulfil, reopen, replaceCode, showCode, voidAwards } from "./steps.js";

const colours = { won: "closed", claimed: "paused", fulfilled: "open", expired: "closed", voided: "bad" };

/** Shows an award with its steps, and offers what the user may do; after is called when something was done. */
export async function showAward(at, version, after) {
  const life = await get(`admin/pools/${part(at.id)}/awards/${version}`, { signal: at.signal });
  const codes = await codesOf(at, life);
  const acts = offers(at, life, codes, after).map(([text, act, kind]) => button(text, () => { dialog.close(); act(); }, kind));
  const dialog = ask({
    title: `${life.name} of ${life.user}`, no: "Close", wide: true,
    body: [
      h("p", {}, pill(life.state, colours[life.state]), " since ", time(life.since), life.needs_claim && life.state === "won" && [", to be claimed ", life.claim_until ? ["until ", time(life.claim_until)] : "at any time"].flat()),
      h("dl", { class: "facts" }, fact("Won", time(life.at)), fact("Value", money(life.value, at.pool.currency)), fact("Reference", life.reference && h("span", { class: "break" }, life.reference))),
      life.steps.length ? stepsTable(life.steps) : h("p", { class: "quiet" }, "Nothing has happened to it since it was won."),
      acts.length ? h("div", { class: "actions" }, acts) : null,
      h("details", {}, h("summary", {}, "Technical"), h("dl", { class: "facts" },
        fact("Award", count(life.version)), fact("Draw", h("code", { class: "break" }, life.draw)), fact("Ordinal", count(life.ordinal)), fact("Unit", count(life.unit)), fact("Prize", h("code", {}, life.prize)))),
    ].flat().filter(Boolean),
  });
}

function stepsTable(steps) {
  return table("Steps of the award", ["When", "Who", "Step", "Reference or reason"], steps.map((s) => [
    time(s.at), h("span", { class: "break" }, s.actor), s.to === "shown" ? "code shown" : s.to === "replaced" ? "code replaced" : s.to,
    h("span", { class: "break" }, [s.reference, s.reason, s.returned !== null && "the unit returned to stock"].filter(Boolean).join("; ") || "–"),
  ]));
}

/** The counts of the codes of an award's prize, null where it has none or its code is not open. */
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

/** What may be done with an award in its state, by the user's role. */
function offers(at, life, codes, after) {
  const isOpen = ["won", "claimed", "fulfilled"].includes(life.state) && life.kind === "prize";
  const one = [life];
  return [
    isOpen && mayShip() && life.state !== "fulfilled" && ["Mark as fulfilled…", () => fulfil(at, one, after)],
    mayShip() && life.state === "won" && life.needs_claim && ["Claim…", () => claim(at, life, after)],
    mayShip() && life.state === "fulfilled" && ["Correct the reference…", () => fulfil(at, one, after)],
    mayAct() && life.state === "fulfilled" && ["Reopen…", () => reopen(at, one, after)],
    codes && ["Show code…", () => showCode(at, life, after)],
    codes && ["Replace the code…", () => replaceCode(at, life, codes.reserve, after)],
    isOpen && mayAct() && ["Void…", () => voidAwards(at, one, after), "danger"],
  ].filter(Boolean);
}
