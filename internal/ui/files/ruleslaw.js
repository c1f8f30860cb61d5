// The parts of the form of rules about what a draw gives: chances, guarantee, limits, budget.

import { h, say } from "./dom.js";
import { choice, entry, list, number, prizeWords, shown, withMembers, withOrWithout } from "./rulesfields.js";
import { t } from "./text.js";
import { chanceWords, denominatorMax, isCalendar, lengthWords, lowest, money, multiple, percentWords, readAmount, readChance, readLength, shareWords } from "./words.js";

const isWin = (prize) => prize.kind !== "blank";
const isEndlessBlank = (prize) => prize.kind === "blank" && prize.stocked === null;

/** Formats a chance as a percentage, rounded for reading. */
function asPercent({ a, b }) {
  const text = percentWords((Number(a) / Number(b)) * 100), all = percentWords(100);
  return text === all && a !== b ? t("ruleslaw.almostAll", { all }) : text;
}

export function lawPart({ first, at, changed }) {
  const law = choice({ label: t("ruleslaw.draw"), first: first.odds ? "odds" : first.win ? "win" : "all", changed: () => { show(); changed(); },
    words: { all: t("ruleslaw.takesUnit"), win: t("ruleslaw.winsByChance"), odds: t("ruleslaw.hasOdds") } });
  const win = entry({ label: t("ruleslaw.chance"), first: first.win ? chanceWords(first.win) : "", wanted: t("ruleslaw.chanceWanted"), changed, hint: t("ruleslaw.chanceHint"),
    read: (text) => { const c = readChance(text); return c && c.a > 0n ? c : null; }, as: asPercent });
  const odds = oddsTable(first.odds, at, () => { show(); changed(); });
  const words = prizeWords(at, isEndlessBlank, t("ruleslaw.noFallback"));
  const fallback = choice({ label: t("ruleslaw.fallback"), first: first.fallback ?? "", words, changed });
  const none = !at.pool.prizes.some(isEndlessBlank) && h("p", { class: "quiet" }, t("ruleslaw.noBlank"));
  const show = () => {
    shown(win.element, law.value() === "win");
    shown(odds.element, law.value() === "odds");
    win.input.required = law.value() === "win";
    const wrong = odds.judge();
    law.input.setCustomValidity(law.value() === "odds" ? wrong : "");
  };
  show();
  return {
    elements: [law.element, win.element, odds.element, fallback.element, none],
    write(document) {
      if (law.isChanged() || win.isChanged()) {
        delete document.win;
        const chance = win.value();
        if (law.value() === "win" && chance) document.win = `${chance.a}/${chance.b}`;
      }
      if (law.isChanged() && law.value() !== "odds") delete document.odds;
      else if (law.value() === "odds" && (law.isChanged() || odds.isChanged())) document.odds = odds.value();
      if (fallback.isChanged()) withOrWithout(document, "fallback", fallback.value() || undefined);
    },
  };
}

/** The fields for fixed chances: shares of a whole, which becomes larger if a chance needs it. */
function oddsTable(first, at, changed) {
  const ids = [...new Set([...at.pool.prizes.filter((p) => isWin(p)).map((p) => p.id), ...Object.keys(first?.prizes ?? {})])];
  const names = prizeWords(at);
  const zero = (text) => (/^0+\s*%?$/.test(text.trim()) ? { a: 0n, b: 1n } : readChance(text));
  const rest = h("p", { class: "quiet" });
  const rows = ids.map((id) => [id, entry({ label: names[id] ?? id, first: shareWords(first?.prizes[id] ?? 0, first?.of ?? 1), wanted: t("ruleslaw.chanceWanted"), read: zero, as: asPercent, changed })]);
  /**
   * The whole, and the share of each chance. The whole stays a multiple of the present
   * one if it does not become too large.
   */
  const shares = () => {
    const chances = rows.map(([id, row]) => [id, lowest(row.isChanged() || first?.prizes[id] === undefined ? row.value() ?? { a: 0n, b: 1n } : { a: BigInt(first.prizes[id]), b: BigInt(first.of) })]);
    const least = chances.reduce((of, [, { b }]) => multiple(of, b), 1n), kept = multiple(BigInt(first?.of ?? 1), least);
    const of = kept > denominatorMax ? least : kept;
    return { of, prizes: chances.map(([id, { a, b }]) => [id, (a * of) / b]) };
  };
  return {
    element: h("div", {}, h("div", { class: "fields" }, rows.map(([, row]) => row.element)), rest),
    isChanged: () => rows.some(([, row]) => row.isChanged()),
    /** Shows how many draws get no prize. Returns what is wrong with the chances together, "" if nothing is. */
    judge() {
      const { of, prizes } = shares();
      const left = prizes.reduce((sum, [, share]) => sum - share, of);
      const wrong = left < 0n ? t("ruleslaw.tooMuch") : of > denominatorMax ? t("ruleslaw.noWhole", { max: Number(denominatorMax) }) : "";
      say(rest, wrong || t("ruleslaw.rest", { share: asPercent({ a: left, b: of }) }));
      return wrong;
    },
    value() {
      const { of, prizes } = shares();
      return withMembers(first, { of: Number(of), prizes: Object.fromEntries(prizes.map(([id, share]) => [id, Number(share)])) });
    },
  };
}

export function guaranteePart({ first, at, changed }) {
  const is = first.guarantee;
  const needs = () => { prize.input.required = after.input.value.trim() !== ""; };
  const after = number({ label: t("ruleslaw.misses"), first: is?.after, min: 0, max: 100_000, hint: t("ruleslaw.missesHint"), changed: () => { needs(); changed(); } });
  const prize = choice({ label: t("ruleslaw.guaranteed"), first: is?.prize ?? "", words: prizeWords(at, isWin, t("ruleslaw.chooseOne")), changed });
  needs();
  return {
    elements: [after.element, prize.element],
    write(document) {
      if (!after.isChanged() && !prize.isChanged()) return;
      const misses = after.value();
      withOrWithout(document, "guarantee", misses === undefined || misses === null ? undefined : withMembers(is, { after: misses, prize: prize.value() || undefined }));
    },
  };
}

const perChoices = () => ({ "": t("ruleslaw.inAll"), hour: t("ruleslaw.hour"), day: t("ruleslaw.day"), week: t("ruleslaw.week"), month: t("ruleslaw.month") });

/** The fields for a window of time: one of the calendar, or a rolling one. */
function period(first, isRolling, changed) {
  const isOwn = first !== undefined && !isCalendar(first);
  const words = { ...perChoices(), ...(isRolling && { rolling: t("ruleslaw.rolling") }) };
  const per = choice({ label: t("ruleslaw.howOften"), first: isOwn && isRolling ? "rolling" : first ?? "", words, changed: () => { show(); changed(per.value()); } });
  const length = entry({ label: t("ruleslaw.time"), first: isOwn ? lengthWords(first) : "", read: readLength, wanted: t("ruleslaw.timeWanted"), changed: () => changed() });
  const show = () => {
    shown(length.element, per.value() === "rolling");
    length.input.required = per.value() === "rolling";
  };
  show();
  return {
    elements: isRolling ? [per.element, length.element] : [per.element],
    isChanged: () => per.isChanged() || length.isChanged(),
    value: () => (per.isChanged() || length.isChanged() ? (per.value() === "rolling" ? length.value() ?? undefined : per.value() || undefined) : first),
  };
}

export function limitsPart({ first, at, changed }) {
  const make = (from) => {
    const of = choice({ label: t("ruleslaw.counted"), first: from.of ?? "draws", words: { draws: t("ruleslaw.draws"), wins: t("ruleslaw.wins"), prize: t("ruleslaw.winsOfPrize") }, changed: () => { show(); changed(); } });
    const prize = choice({ label: t("ruleslaw.prize"), first: from.prize ?? "", words: prizeWords(at, (p) => p.stocked !== null, t("ruleslaw.chooseOne")), changed });
    const max = number({ label: t("ruleslaw.atMost"), first: from.max, min: 1, max: 1_000_000, changed });
    const per = period(from.per, true, changed);
    max.input.required = true;
    const show = () => {
      shown(prize.element, of.value() === "prize");
      prize.input.required = of.value() === "prize";
    };
    show();
    return {
      elements: [max.element, of.element, prize.element, ...per.elements],
      isChanged: () => of.isChanged() || prize.isChanged() || max.isChanged() || per.isChanged(),
      value: () => withMembers(from, { of: of.value(), prize: of.value() === "prize" ? prize.value() || undefined : undefined, max: max.value() ?? from.max, per: per.value() }),
    };
  };
  return list({ first, member: "limits", make, add: t("ruleslaw.addLimit"), max: 16, changed, name: t("ruleslaw.limit") });
}

export function budgetPart({ first, at, changed }) {
  const is = first.budget;
  const max = entry({ label: t("ruleslaw.cost"), first: is?.max ?? "", read: readAmount, wanted: t("ruleslaw.costWanted"), hint: t("ruleslaw.costHint"), changed,
    as: (amount) => t("ruleslaw.amount", { amount: money(amount, at.pool.currency) }), attributes: { inputmode: "decimal" } });
  const per = period(is?.per, false, changed);
  return {
    elements: [h("div", { class: "fields" }, max.element, per.elements)],
    write(document) {
      if (!max.isChanged() && !per.isChanged()) return;
      const amount = max.isChanged() ? max.value() : is?.max;
      withOrWithout(document, "budget", amount === undefined || amount === null ? undefined : withMembers(is, { max: amount, per: per.value() }));
    },
  };
}
