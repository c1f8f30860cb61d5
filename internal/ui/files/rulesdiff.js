// The differences of two rules documents in words, and the merge of one person's changes
// into another's.

import { h, pill } from "./dom.js";
import { prizeWords } from "./rulesfields.js";
import { isText, t } from "./text.js";
import { chanceWords, grouped, lowest, money, perWords, shareWords, withinWords } from "./words.js";

const same = (a, b) => canonical(a) === canonical(b);

/** Converts a value to a text that does not depend on the order of members. */
function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (value && typeof value === "object") return `{${Object.keys(value).sort().map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join()}}`;
  return JSON.stringify(value) ?? "";
}

/** For each member, the function that puts its value into words. */
function says(at) {
  const names = prizeWords(at), name = (id) => names[id] ?? id;
  return {
    win: (v) => t("rulesdiff.win", { chance: chanceWords(v, grouped) }),
    fallback: (v) => t("rulesdiff.fallback", { prize: name(v) }),
    guarantee: (v) => t("rulesdiff.guarantee", { prize: name(v.prize), n: v.after }),
    budget: (v) => t("rulesdiff.budget", { amount: money(v.max, at.pool.currency), per: perWords(v.per) }),
    zone: (v) => t("rulesdiff.zone", { zone: v }),
    tickets: (v) => t(v ? "rulesdiff.tickets" : "rulesdiff.noTickets"),
    disclose: (v) => t(v ? "rulesdiff.disclosed" : "rulesdiff.undisclosed"),
    claims(v) {
      const wins = v.prizes ? t("rulesdiff.winsOf", { prizes: v.prizes.map(name).join(", ") }) : t("rulesdiff.wins");
      const claims = v.within ? t("rulesdiff.claimsWithin", { wins, within: withinWords(v.within) }) : t("rulesdiff.claims", { wins });
      return v.return === false ? t("rulesdiff.noReturn", { claims }) : claims;
    },
    limits: (l) => t(limitTexts[l.of] ?? "rulesdiff.limitWins", { n: l.max, prize: name(l.prize), per: perWords(l.per) }),
    low: (l) => t("rulesdiff.low", { n: l.below, prize: name(l.prize) }),
    blocked: (user) => user,
    odds: ([id, share, of]) => t("rulesdiff.chance", { prize: name(id), chance: shareWords(share, of, grouped) }),
  };
}

const limitTexts = { draws: "rulesdiff.limitDraws", prize: "rulesdiff.limitPrize" };

/** The word for a member of a document; for an unknown member its name in the JSON. */
export const memberWords = (member) => (isText(`rulesdiff.member-${member}`) ? t(`rulesdiff.member-${member}`) : member);

/** The members that are lists. Elements of two documents with the same key are the same element. */
const keys = { limits: (l) => `${l.of} ${l.prize ?? ""}`, low: (l) => l.prize, blocked: (user) => user, odds: ([id]) => id };

const elements = (member, value) => (member === "odds" ? Object.entries(value?.prizes ?? {}).map(([id, share]) => [id, ...inLowest(share, value.of)]) : value ?? []);

/**
 * A share of a whole in lowest terms, so that a chance does not differ if only the whole
 * does. An unexpected value stays as it is.
 */
function inLowest(share, of) {
  if (!Number.isSafeInteger(share) || !Number.isSafeInteger(of) || share < 0 || of < 1) return [share, of];
  const { a, b } = lowest({ a: BigInt(share), b: BigInt(of) });
  return [Number(a), Number(b)];
}

/** The differences, as lines of [kind, member, text]; kind is added, removed or changed. */
export function differences(before, after, at) {
  const words = says(at);
  const say = (member, value, isElement = false) => {
    try {
      return keys[member] && !isElement ? JSON.stringify(value) : words[member](value);
    } catch {
      return JSON.stringify(value);
    }
  };
  const lines = [];
  for (const member of [...new Set([...Object.keys(before), ...Object.keys(after)])]) {
    const [old, now] = [before[member], after[member]];
    if (same(old, now)) continue;
    if (keys[member] && [old, now].every((value) => value === undefined || isList(member, value))) {
      lines.push(...listDifferences(member, elements(member, old), elements(member, now), (of, value) => say(of, value, true)));
    } else if (old === undefined) lines.push(["added", member, say(member, now)]);
    else if (now === undefined) lines.push(["removed", member, say(member, old)]);
    else lines.push(["changed", member, `${say(member, old)} → ${say(member, now)}`]);
  }
  return lines;
}

const isList = (member, value) => (member === "odds" ? Boolean(value?.prizes) : Array.isArray(value));

function listDifferences(member, before, after, say) {
  const left = before.filter((old) => !after.some((now) => same(old, now)));
  const lines = [];
  for (const now of after.filter((now) => !before.some((old) => same(old, now)))) {
    const at = left.findIndex((old) => keys[member](old) === keys[member](now));
    if (at < 0) lines.push(["added", member, say(member, now)]);
    else lines.push(["changed", member, `${say(member, left.splice(at, 1)[0])} → ${say(member, now)}`]);
  }
  lines.push(...left.map((old) => ["removed", member, say(member, old)]));
  if (lines.length === 0 && before.length > 0) lines.push(["changed", member, t(member === "odds" ? "rulesdiff.wholeOnly" : "rulesdiff.order")]);
  return lines;
}

const namedMax = 8, linesMax = 50;
const colours = { added: "open", removed: "bad", changed: "paused" };

/** A text about blocked users, with the names of the first ones. */
function blockedWords(all) {
  const users = all.slice(0, namedMax).join(", "), n = all.length;
  return n > namedMax ? t("rulesdiff.blockedMore", { n, users, more: n - namedMax }) : t("rulesdiff.blocked", { n, users });
}

/**
 * The differences as a list. If there are many lines of one kind and member, such as
 * blocked users, only the first are shown.
 */
export function differenceList(before, after, at) {
  const groups = new Map();
  for (const [kind, member, text] of differences(before, after, at)) {
    const key = `${kind} ${member}`;
    if (!groups.has(key)) groups.set(key, { kind, member, texts: [] });
    groups.get(key).texts.push(text);
  }
  const line = (kind, member, text) => h("li", {}, pill(t(`rulesdiff.kind-${kind}`), colours[kind]), " ", h("code", {}, memberWords(member)), " ", h("span", { class: "break" }, text));
  return h("ul", { class: "differences" }, [...groups.values()].flatMap(({ kind, member, texts }) => {
    if (member === "blocked") return line(kind, member, blockedWords(texts));
    return [...texts.slice(0, linesMax).map((text) => line(kind, member, text)), texts.length > linesMax && line(kind, member, t("rulesdiff.more", { n: texts.length - linesMax }))].filter(Boolean);
  }));
}

/**
 * Applies my changes of a document to theirs. A member that only one of us changed has
 * that person's value, and a member that both changed has mine.
 */
export function onTop(base, mine, theirs) {
  const document = { ...theirs }, both = [];
  for (const member of new Set([...Object.keys(base), ...Object.keys(mine)])) {
    if (same(base[member], mine[member])) continue;
    if (!same(base[member], theirs[member]) && !same(mine[member], theirs[member])) both.push(member);
    if (mine[member] === undefined) delete document[member];
    else document[member] = mine[member];
  }
  // A document has either odds or win: if I set one of them, it replaces the other one of
  // theirs.
  for (const [law, other] of [["odds", "win"], ["win", "odds"]]) {
    if (same(base[law], mine[law]) || document[law] === undefined || document[other] === undefined || mine[other] !== undefined) continue;
    delete document[other];
    both.push(other);
  }
  return { document, both };
}

export { same as isSame };
