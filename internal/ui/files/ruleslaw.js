// The parts of the form of rules about what a draw gives: chances, guarantee, limits, budget.

import { h, say } from "./dom.js";
import { money } from "./money.js";
import { choice, entry, list, number, prizeWords, shown, withMembers, withOrWithout } from "./rulesfields.js";
import { chanceWords, denominatorMax, isCalendar, lengthWords, lowest, multiple, readAmount, readChance, readLength, shareWords } from "./words.js";

const chanceWanted = "Write a chance such as 1 in 20 or 5 %.";
const isWin = (prize) => prize.kind !== "blank";
const isEndlessBlank = (prize) => prize.kind === "blank" && prize.stocked === null;

/** A chance as a percentage, as exactly as one reads it. */
function percentWords({ a, b }) {
  const text = percents.format((Number(a) / Number(b)) * 100);
  return text === "100" && a !== b ? "almost 100 %" : `${text} %`;
}
const percents = new Intl.NumberFormat("en", { maximumSignificantDigits: 4, useGrouping: false }); // never 1e-7

export function lawPart({ first, at, changed }) {
  const law = choice({ label: "A draw", first: first.odds ? "odds" : first.win ? "win" : "all", changed: () => { show(); changed(); },
    words: { all: "always takes a unit of the stock", win: "wins with a chance, and then the stock decides", odds: "has a fixed chance for each prize" } });
  const win = entry({ label: "Chance", first: first.win ? chanceWords(first.win) : "", wanted: chanceWanted, changed, hint: "Such as 1 in 20 or 5 %.",
    read: (text) => { const c = readChance(text); return c && c.a > 0n ? c : null; }, as: percentWords });
  const odds = oddsTable(first.odds, at, () => { show(); changed(); });
  const words = prizeWords(at, isEndlessBlank, "nothing: the pool can sell out");
  const fallback = choice({ label: "A draw that gets no prize gives", first: first.fallback ?? "", words, changed });
  const none = !at.pool.prizes.some(isEndlessBlank) && h("p", { class: "quiet" }, "Rules that let draws lose need a losing ticket: add a prize of that kind without a number of units, under Stock.");
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

/** The fixed chances: shares of a whole, which grows where a chance needs it. */
function oddsTable(first, at, changed) {
  const ids = [...new Set([...at.pool.prizes.filter((p) => isWin(p)).map((p) => p.id), ...Object.keys(first?.prizes ?? {})])];
  const names = prizeWords(at);
  const zero = (text) => (/^0+\s*%?$/.test(text.trim()) ? { a: 0n, b: 1n } : readChance(text));
  const rest = h("p", { class: "quiet" });
  const rows = ids.map((id) => [id, entry({ label: names[id] ?? id, first: shareWords(first?.prizes[id] ?? 0, first?.of ?? 1), wanted: chanceWanted, read: zero, as: percentWords, changed })]);
  /** The whole that all chances are shares of, and the shares; it is that of before where it can be. */
  const shares = () => {
    const chances = rows.map(([id, row]) => [id, lowest(row.isChanged() || first?.prizes[id] === undefined ? row.value() ?? { a: 0n, b: 1n } : { a: BigInt(first.prizes[id]), b: BigInt(first.of) })]);
    const least = chances.reduce((of, [, { b }]) => multiple(of, b), 1n), kept = multiple(BigInt(first?.of ?? 1), least);
    const of = kept > denominatorMax ? least : kept;
    return { of, prizes: chances.map(([id, { a, b }]) => [id, (a * of) / b]) };
  };
  return {
    element: h("div", {}, h("div", { class: "fields" }, rows.map(([, row]) => row.element)), rest),
    isChanged: () => rows.some(([, row]) => row.isChanged()),
    /** Says how many draws get no prize. Returns what is wrong with the chances together, "" for nothing. */
    judge() {
      const { of, prizes } = shares();
      const left = prizes.reduce((sum, [, share]) => sum - share, of);
      const wrong = left < 0n ? "The chances are more than 100 % together." : of > denominatorMax ? "The chances have no common whole up to 1,000,000,000. Write them as percentages, such as 0.012 %." : "";
      say(rest, wrong || `${percentWords({ a: left, b: of })} of the draws get no prize.`);
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
  const after = number({ label: "Guarantee a prize after so many misses in a row", first: is?.after, min: 0, max: 100_000, hint: "Empty for none. 0 gives every loser a consolation prize.", changed: () => { needs(); changed(); } });
  const prize = choice({ label: "Guaranteed prize", first: is?.prize ?? "", words: prizeWords(at, isWin, "choose one"), changed });
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

const perChoices = { "": "in all", hour: "per hour", day: "per day", week: "per week, from Monday", month: "per month" };

/** How often: a window of the calendar, or a rolling one. */
function period(first, isRolling, changed) {
  const isOwn = first !== undefined && !isCalendar(first);
  const words = isRolling ? { ...perChoices, rolling: "within a time of…" } : perChoices;
  const per = choice({ label: "How often", first: isOwn && isRolling ? "rolling" : first ?? "", words, changed: () => { show(); changed(per.value()); } });
  const length = entry({ label: "Time", first: isOwn ? lengthWords(first) : "", read: readLength, wanted: "Write a time such as 7 days or 36h.", changed: () => changed() });
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
    const of = choice({ label: "Counted", first: from.of ?? "draws", words: { draws: "draws of a user", wins: "wins of a user", prize: "wins of one prize" }, changed: () => { show(); changed(); } });
    const prize = choice({ label: "Prize", first: from.prize ?? "", words: prizeWords(at, (p) => p.stocked !== null, "choose one"), changed });
    const max = number({ label: "At most", first: from.max, min: 1, max: 1_000_000, changed });
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
  return list({ first, member: "limits", make, add: "Add a limit", max: 16, changed, name: "Limit" });
}

export function budgetPart({ first, at, changed }) {
  const is = first.budget;
  const max = entry({ label: "The prizes cost at most", first: is?.max ?? "", read: readAmount, wanted: "Write an amount such as 5000, 5.000,00 or 5,000.00.", hint: "Empty for no budget.", changed,
    as: (amount) => `That is ${money(amount, at.pool.currency)}.`, attributes: { inputmode: "decimal" } });
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
