// What people type of rules, and how it is shown: chances, amounts, times, users, zones. The
// words of all languages of the page are read, whichever it speaks.

import { locale, t } from "./text.js";

const thousands = /^[1-9]\d{0,2}(?:[.,' \u00a0\u202f’]\d{3})+$/;

/** A whole number, perhaps with marks of thousands; null for any other text. */
function whole(text) {
  const typed = text.trim();
  if (/^\d+$/.test(typed)) return BigInt(typed);
  return thousands.test(typed) ? BigInt(typed.replace(/\D/g, "")) : null;
}

const divisor = (a, b) => (b === 0n ? a : divisor(b, a % b));
export const denominatorMax = 1_000_000_000n;

/** A chance in lowest terms. */
export function lowest({ a, b }) {
  const common = divisor(b, a);
  return { a: a / common, b: b / common };
}

/** A chance such as "1 in 20", "1 von 20", "5 %" or "1/20" as its two numbers, lowest where it is a percentage; null for any other text, and above 1. */
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

/** A whole number of a document as t writes numbers: with the marks of thousands, which not every field would read. */
export const grouped = (n) => (/^\d{1,15}$/.test(n) ? Number(n) : n);

/** A fraction of a document in words, which readChance takes; in sentences its numbers are grouped. */
export const chanceWords = (fraction, written = (n) => n) => fraction.replace(/^(.*)\/(.*)$/, (_, a, b) => t("words.chance", { a: written(a), b: written(b) }));

const percents = new Intl.NumberFormat(locale, { maximumSignificantDigits: 4, useGrouping: false }); // never 1e-7

/** A percentage in words, as exactly as one reads it. */
export const percentWords = (n) => t("words.percent", { n: percents.format(n) });

/** A share of a whole in lowest terms, in words. */
export function shareWords(share, of, written) {
  const common = divisor(BigInt(of), BigInt(share)) || 1n;
  return Number(share) === 0 ? "0" : chanceWords(`${BigInt(share) / common}/${BigInt(of) / common}`, written);
}

/** The least number that both divide. */
export const multiple = (a, b) => (a / divisor(a, b)) * b;

const formats = new Map();

/** An amount such as "19.90", written as the browser's language does, to the cent. */
export function money(amount, currency) {
  const key = currency || "";
  if (!formats.has(key)) formats.set(key, new Intl.NumberFormat(locale, { minimumFractionDigits: 2, maximumFractionDigits: 2, ...(key && { style: "currency", currency: key }) }));
  return formats.get(key).format(amount); // of the text: a number would round large amounts
}

const codes = new Set(Intl.supportedValuesOf?.("currency") ?? ["EUR", "USD", "GBP", "CHF"]);

/** Whether letters before or after an amount are those of a currency: "5k" and "5 Mio" are other amounts than 5. */
const isCurrency = (text) => /\p{Sc}/u.test(text) && !/^\p{Sc}\p{L}/u.test(text) || codes.has(text.toUpperCase()) || /^(?:euros?|s?fr\.?|kr\.?|kč|zł)$/i.test(text);

/** An amount with a comma or a point before its cents, perhaps with marks of thousands and a currency, as documents have it; null for any other text. */
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

/** A length of time such as "14 days", "14 Tage" or "336h", as documents have it; null for any other text. */
export function readLength(text) {
  const typed = text.trim();
  if (/^(?:\d+(?:\.\d+)?(?:h|m|s|ms|us|µs|ns))+$/.test(typed)) return typed;
  const [, n, unit = ""] = typed.match(/^(\d{1,6})\s*([a-z]+)\.?$/i) ?? [];
  const [, times, of] = lengths.find(([names]) => names.test(unit.toLowerCase())) ?? [];
  return of ? `${n * times}${of}` : null;
}

/** The days of a length of time of a document, where they are whole, as readLength takes them. */
function wholeDays(text) {
  const [, hours] = text.match(/^(\d+)h$/) ?? [];
  return hours && hours % 24 === 0 ? String(hours / 24) : "";
}

/** A length of time of a document in words: whole days where they are. */
export const lengthWords = (text) => (wholeDays(text) ? t("words.days", { n: wholeDays(text) }) : text);

/** That something happens within a length of time, in words. */
export const withinWords = (text) => (wholeDays(text) ? t("words.withinDays", { n: wholeDays(text) }) : t("words.within", { time: text }));

const calendar = ["hour", "day", "week", "month"];

/** Whether windows of this length follow the calendar of a zone. */
export const isCalendar = (per) => calendar.includes(per);

/** How often, in words. */
export const perWords = (per) => (!per ? t("words.inAll") : isCalendar(per) ? t(`words.per-${per}`) : withinWords(per));

/** The time zone of this browser. */
export const browserZone = () => Intl.DateTimeFormat().resolvedOptions().timeZone;

/** The lines of a text without blanks around them, each once, and how many were left out for that. */
export function readLines(text) {
  const all = text.split(/\r\n|\n|\r/).map((line) => line.trim()).filter(Boolean);
  const lines = [...new Set(all)];
  return { lines, twice: all.length - lines.length };
}

const heads = ["user", "users", "userid", "id", "nutzer", "benutzer", "teilnehmer", "kunde", "utilisateur", "usuario"];

/** The users of a file: its lines, or the first column where it is CSV. Letters are UTF-8, else Windows-1252. */
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

/** The place that a browser's error names: by line and column, or by the number of the character. */
function placeOf(message, text) {
  const [, line, column] = message.match(/line (\d+),? column (\d+)/) ?? [];
  if (line) return { line: Number(line), column: Number(column) };
  const [, position] = message.match(/position (\d+)/) ?? [];
  const before = text.slice(0, position ?? text.length).split("\n");
  return { line: before.length, column: before.at(-1).length + 1 };
}

const outsideStrings = (text) => text.replace(/"(?:[^"\\]|\\.)*"/g, '""');

/** The object of a JSON text. What is wrong with it is said with its line and column, where the browser knows them. */
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

/** The object of a JSON text that loses nothing when it is written again: no member twice, no number that another one stands for. */
export function readExactly(text) {
  const document = readDocument(text);
  const tokens = text.match(/"(?:[^"\\]|\\.)*"\s*:?|-?\d[\d.eE+-]*/g) ?? [];
  const members = (value) => (value && typeof value === "object" ? Object.values(value).reduce((sum, part) => sum + members(part), Array.isArray(value) ? 0 : Object.keys(value).length) : 0);
  const isTwice = tokens.filter((token) => token.endsWith(":")).length !== members(document);
  if (!isTwice && tokens.every((token) => token.startsWith('"') || String(Number(token)) === token)) return document;
  throw Object.assign(new Error(t(isTwice ? "words.twice" : "words.otherNumber")), { title: t("words.onlyJSON") });
}
