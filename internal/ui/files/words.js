// Parses the chances, amounts, times and users that people type into rules, and formats
// them. Words of all languages of the page are accepted in each language.

import { locale, t } from "./text.js";

const thousands = /^[1-9]\d{0,2}(?:[.,' \u00a0\u202f’]\d{3})+$/;

/** Parses a whole number, with or without thousands separators; null for any other text. */
function whole(text) {
  const typed = text.trim();
  if (/^\d+$/.test(typed)) return BigInt(typed);
  return thousands.test(typed) ? BigInt(typed.replace(/\D/g, "")) : null;
}

const divisor = (a, b) => (b === 0n ? a : divisor(b, a % b));
export const denominatorMax = 1_000_000_000n;

/** Reduces a chance to lowest terms. */
export function lowest({ a, b }) {
  const common = divisor(b, a);
  return { a: a / common, b: b / common };
}

/**
 * Parses a chance such as "1 in 20", "1 von 20", "5 %" or "1/20" into its two numbers.
 * Those of a percentage are in lowest terms. null for any other text, and for chances
 * above 1.
 */
export function readChance(text) {
  const percent = text.trim().match(/^(\d+)(?:[.,](\d+))?\s*%$/);
  let a = null, b = null;
  if (percent) {
    const [, before, after = ""] = percent;
    a = BigInt(before + after);
    b = 100n * 10n ** BigInt(after.length);
    ({ a, b } = lowest({ a, b }));
  } else {
    const parts = text.trim().match(/^(.+?)\s*(?:\b(?:in|of|von|aus)\b|\/)\s*(.+)$/i);
    if (parts) [a, b] = [whole(parts[1]), whole(parts[2])];
  }
  return a === null || b === null || b === 0n || a > b || b > denominatorMax ? null : { a, b };
}

/** Makes t format a whole number of a document with thousands separators. Not every field would accept these. */
export const grouped = (n) => (/^\d{1,15}$/.test(n) ? Number(n) : n);

/** A fraction of a document in words that readChance accepts. For sentences, written is the function that formats the numbers. */
export const chanceWords = (fraction, written = (n) => n) => fraction.replace(/^(.*)\/(.*)$/, (_, a, b) => t("words.chance", { a: written(a), b: written(b) }));

const percents = new Intl.NumberFormat(locale, { maximumSignificantDigits: 4, useGrouping: false }); // never in the form 1e-7

/** A fraction such as 1/3 as a percentage, from its exact text. */
export function percent(fraction) {
  const [above, below = "1"] = fraction.split("/");
  return Number((BigInt(above) * 10n ** 12n) / BigInt(below)) / 1e10;
}

/** A percentage in words, as exactly as people read it. */
export const percentWords = (n) => t("words.percent", { n: percents.format(n) });

/** A share of a whole, in lowest terms, in words. */
export function shareWords(share, of, written) {
  const common = divisor(BigInt(of), BigInt(share)) || 1n;
  return Number(share) === 0 ? "0" : chanceWords(`${BigInt(share) / common}/${BigInt(of) / common}`, written);
}

/** The least common multiple. */
export const multiple = (a, b) => (a / divisor(a, b)) * b;

const formats = new Map();

/** Formats an amount such as "19.90" in the browser's language, with cents. */
export function money(amount, currency) {
  const key = currency || "";
  if (!formats.has(key)) formats.set(key, new Intl.NumberFormat(locale, { minimumFractionDigits: 2, maximumFractionDigits: 2, ...(key && { style: "currency", currency: key }) }));
  return formats.get(key).format(amount); // the text is formatted, because a number would round large amounts
}

const codes = new Set(Intl.supportedValuesOf?.("currency") ?? ["EUR", "USD", "GBP", "CHF"]);

/** Whether the letters before or after an amount mean a currency. "5k" and "5 Mio" are not the amount 5. */
const isCurrency = (text) => /\p{Sc}/u.test(text) && !/^\p{Sc}\p{L}/u.test(text) || codes.has(text.toUpperCase()) || /^(?:euros?|s?fr\.?|kr\.?|kč|zł)$/i.test(text);

/**
 * Parses an amount with a comma or a point before its cents, with or without thousands
 * separators and a currency. Returns it in the form of documents, null for any other
 * text.
 */
export function readAmount(text) {
  const [, before, amount, after] = text.trim().match(/^([\p{Sc}\p{L}.]*)\s*(.*?)\s*([\p{Sc}\p{L}.]*)$/u) ?? [];
  if (amount === undefined || [before, after].some((unit) => unit && !isCurrency(unit))) return null;
  const parts = amount.match(/^(.*?)(?:[.,](\d{1,2}))?$/);
  const units = whole(parts[1]);
  return units === null || units > 999_999_999_999n ? null : `${units}.${(parts[2] ?? "").padEnd(2, "0")}`;
}

const lengths = [
  [/^(?:d(?:ays?)?|tg|tag(?:en?)?)$/, 24, "h"],
  [/^(?:h|hours?|std|stunden?)$/, 1, "h"],
  [/^(?:m|mins?|minutes?|minuten?)$/, 1, "m"],
  [/^(?:s|secs?|seconds?|sek|sekunden?)$/, 1, "s"],
];

/**
 * Parses a length of time such as "14 days", "14 Tage" or "336h". Returns it in the form
 * of documents, null for any other text.
 */
export function readLength(text) {
  const typed = text.trim();
  if (/^(?:\d+(?:\.\d+)?(?:h|m|s|ms|us|µs|ns))+$/.test(typed)) return typed;
  const [, n, unit = ""] = typed.match(/^(\d{1,6})\s*([a-z]+)\.?$/i) ?? [];
  const [, times, of] = lengths.find(([names]) => names.test(unit.toLowerCase())) ?? [];
  return of ? `${n * times}${of}` : null;
}

/** The number of days in a document's length of time, "" if it is not whole days. */
function wholeDays(text) {
  const [, hours] = text.match(/^(\d+)h$/) ?? [];
  return hours && hours % 24 === 0 ? String(hours / 24) : "";
}

/** A document's length of time in words: in days if they are whole. readLength accepts these words. */
export const lengthWords = (text) => (wholeDays(text) ? t("words.days", { n: wholeDays(text) }) : text);

/** The words for "within" a length of time. */
export const withinWords = (text) => (wholeDays(text) ? t("words.withinDays", { n: wholeDays(text) }) : t("words.within", { time: text }));

const calendar = ["hour", "day", "week", "month"];

/** Whether this is a window of the calendar, which depends on a time zone. */
export const isCalendar = (per) => calendar.includes(per);

/** The window of a limit or a budget in words. */
export const perWords = (per) => (!per ? t("words.inAll") : isCalendar(per) ? t(`words.per-${per}`) : withinWords(per));

/** The time zone of this browser. */
export const browserZone = () => Intl.DateTimeFormat().resolvedOptions().timeZone;

/** The different lines of a text, without blanks around them, and the number of duplicates that were left out. */
export function readLines(text) {
  const all = text.split(/\r\n|\n|\r/).map((line) => line.trim()).filter(Boolean);
  const lines = [...new Set(all)];
  return { lines, twice: all.length - lines.length };
}

const heads = ["user", "users", "userid", "id", "nutzer", "benutzer", "teilnehmer", "kunde", "utilisateur", "usuario"];

/**
 * The users in a file: its lines, or for CSV its first column. The file is decoded as
 * UTF-8, otherwise as Windows-1252.
 */
export function readUsers(bytes, name) {
  let text, isWindows = false;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    text = new TextDecoder("windows-1252").decode(bytes);
    isWindows = true;
  }
  let { lines } = readLines(text);
  if (/\.csv$/i.test(name)) lines = lines.map(firstField).filter(Boolean);
  if (heads.includes(lines[0]?.toLowerCase().replace(/[ _-]/g, ""))) lines.shift();
  return { lines, isWindows };
}

function firstField(line) {
  const [, quoted] = line.match(/^"((?:[^"]|"")*)"/) ?? [];
  return (quoted?.replaceAll('""', '"') ?? line.split(/[,;\t]/)[0]).trim();
}

/** The line and column that a browser's error message names, directly or by the position of the character. */
function placeOf(message, text) {
  const [, line, column] = message.match(/line (\d+),? column (\d+)/) ?? [];
  if (line) return { line: Number(line), column: Number(column) };
  const [, position] = message.match(/position (\d+)/) ?? [];
  const before = text.slice(0, position ?? text.length).split("\n");
  return { line: before.length, column: before.at(-1).length + 1 };
}

const outsideStrings = (text) => text.replace(/"(?:[^"\\]|\\.)*"/g, '""');

/** Parses a JSON text that must be an object. An error has the line and the column, if the browser names them. */
export function readDocument(text) {
  let document;
  try {
    document = JSON.parse(text);
  } catch (error) {
    const place = placeOf(error.message, text);
    const hint = /[“”„‟«»‘’]/.test(outsideStrings(text)) ? t("words.quotes") : /,\s*[}\]]/.test(outsideStrings(text)) ? t("words.comma") : "";
    throw Object.assign(new Error(`${t("words.notJSON", place)} ${hint}`.trim()), { title: t("words.notJSONTitle"), place });
  }
  if (!document || typeof document !== "object" || Array.isArray(document)) throw Object.assign(new Error(t("words.notObject")), { title: t("words.notJSONTitle") });
  return document;
}

/**
 * Parses a JSON text that must not lose anything when it is written again. It may have no
 * member twice, and no number that JavaScript would change.
 */
export function readExactly(text) {
  const document = readDocument(text);
  const tokens = text.match(/"(?:[^"\\]|\\.)*"\s*:?|-?\d[\d.eE+-]*/g) ?? [];
  const members = (value) => (value && typeof value === "object" ? Object.values(value).reduce((sum, part) => sum + members(part), Array.isArray(value) ? 0 : Object.keys(value).length) : 0);
  const isTwice = tokens.filter((token) => token.endsWith(":")).length !== members(document);
  if (!isTwice && tokens.every((token) => token.startsWith('"') || String(Number(token)) === token)) return document;
  throw Object.assign(new Error(t(isTwice ? "words.twice" : "words.otherNumber")), { title: t("words.onlyJSON") });
}
