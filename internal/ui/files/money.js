// Money: the value that a pool has given, the state of its budget, and whether anything
// can be won.

import { part, send } from "./api.js";
import { ask } from "./dialog.js";
import { bar, button, field, h, moment, say } from "./dom.js";
import { forPlayers } from "./shown.js";
import { mayAct } from "./state.js";
import { isText, t } from "./text.js";
import { money } from "./words.js";

/** Converts an amount to cents, so that sums are exact. */
export const cents = (amount) => BigInt(amount.replace(".", ""));

/** Converts cents to an amount. */
export const amountOf = (n) => `${n / 100n}.${String(n % 100n).padStart(2, "0")}`;

const sum = (prizes, value) => amountOf(prizes.reduce((total, prize) => total + value(prize), 0n));
const winnable = (prizes) => prizes.filter((prize) => prize.kind !== "blank" && prize.remaining !== null);

/** The value of the remaining prizes. */
export const stockWorth = (prizes) => sum(winnable(prizes), (prize) => cents(prize.value) * BigInt(prize.remaining));

/** The value of all issued units. */
export const givenInAll = (prizes) => sum(prizes, (prize) => cents(prize.given ?? "0.00"));

/** A sentence about why nothing can be won, "" if something can. */
export function nothingToWin({ nothing }) {
  if (!nothing) return "";
  if (!isText(`money.nothing-${nothing.why}`)) return nothing.detail;
  const why = nothing.why === "budget" && nothing.since ? t("money.budgetSince", { since: moment(nothing.since) }) : t(`money.nothing-${nothing.why}`);
  return [why, nothing.until && t("money.again", { at: moment(nothing.until) })].filter(Boolean).join(" ");
}

/** A text about how much of the budget is given, "" without a budget. */
export const budgetGiven = ({ budget, currency }) => (budget ? t("money.given", { spent: money(budget.spent, currency), max: money(budget.max, currency) }) : "");

/** A text about when the budget will be used up at the present pace, and when it begins again. */
function pace({ budget, nothing, rate }) {
  const resets = budget.resets_at && t("money.again", { at: moment(budget.resets_at) });
  if (nothing) return "";
  const ends = budget.ends_at ? t("money.usedUp", { at: moment(budget.ends_at) }) : rate > 0 && resets ? t("money.lasts") : "";
  return [ends, resets].filter(Boolean).join(" ");
}

/** The box about the money of a pool, which every section shows. set(pool) updates it. */
export function moneyBox(at) {
  const alarm = h("p", { class: "nothing", role: "alert", hidden: true }), share = bar(t("money.budget"), { says: t("money.says"), isLow: (given) => given > 0.9 });
  const given = h("b", { dataset: { figure: "budget" } }), note = h("span", { class: "quiet" }), worth = h("span", { class: "quiet", dataset: { figure: "worth" } });
  const line = h("div", { class: "row money" }, given, share.element, note), second = h("div", { class: "row" }, worth);
  const change = mayAct() && button(t("money.change"), () => setCurrency(at), "small");
  if (change) second.append(change);
  const players = forPlayers(at);
  return {
    element: h("div", { class: "moneys" }, alarm, line, second, players.element),
    set(pool) {
      const nothing = nothingToWin(pool);
      alarm.hidden = !nothing;
      say(alarm, nothing);
      line.hidden = !pool.budget;
      if (pool.budget) {
        say(given, budgetGiven(pool));
        share.set(Number(pool.budget.spent), Number(pool.budget.max));
        say(note, pace(pool));
      }
      say(worth, worthOf(pool));
      players.set(pool);
    },
  };
}

/** Before the first draw a text about the value of the stock and the budget, then about the value that was given. */
function worthOf({ prizes, budget, currency, awards }) {
  if (awards > 0) return budget && !budget.per ? "" : t("money.givenInAll", { amount: money(givenInAll(prizes), currency) });
  const worth = money(stockWorth(prizes), currency);
  if (!budget) return t("money.worth", { worth });
  const max = money(budget.max, currency);
  return budget.per ? t("money.worthPer", { worth, max, per: isText(`money.per-${budget.per}`) ? t(`money.per-${budget.per}`) : budget.per }) : t("money.worthBudget", { worth, max });
}

function setCurrency(at) {
  const code = h("input", { maxlength: 3, pattern: "[A-Za-z]{3}", value: at.pool.currency ?? "", autocomplete: "off", spellcheck: "false" });
  ask({
    title: t("money.title"), yes: t("money.set"),
    body: [field(t("money.currency"), code, t("money.hint"))],
    async act() {
      await send("PATCH", `admin/pools/${part(at.id)}`, { currency: code.value.toUpperCase() || null });
      await at.refresh();
      return t("money.isSet");
    },
  });
}
