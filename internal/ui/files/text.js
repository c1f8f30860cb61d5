// The texts of the page in the browser's language, and the locale for numbers and dates.

import { texts as english } from "./text.en.js";

/** The languages that have a file text.….js. The first one is used if the browser prefers none of them. */
export const languages = ["en", "de"];

const wanted = navigator.languages ?? [navigator.language];
const isLocale = (tag) => {
  try {
    return Intl.NumberFormat.supportedLocalesOf(tag).length > 0;
  } catch {
    return false; // not a valid language tag
  }
};

/** The language of the texts. */
export const language = wanted.map((tag) => tag.toLowerCase().split("-")[0]).find((tag) => languages.includes(tag)) ?? languages[0];

/** The locale of numbers, dates and money: the browser's, whose language may differ from that of the texts. */
export const locale = wanted.find(isLocale);

const fileWithin = 5000; // the timeout for the file of another language, in ms: after it the page is English
const late = (ms) => new Promise((resolve) => setTimeout(resolve, ms, { texts: english }));

const texts = language === "en" ? english : await Promise.race([import(`./text.${language}.js`), late(fileWithin)]).then((file) => file.texts, () => english);
const plurals = new Intl.PluralRules(language);
const numbers = new Intl.NumberFormat(locale, { maximumFractionDigits: 0 });
document.documentElement.lang = texts === english ? "en" : language;

const at = (all, name) => {
  const dot = name.indexOf(".");
  return all[name.slice(0, dot)]?.[name.slice(dot + 1)];
};

/** Whether a text with this name exists. */
export const isText = (name) => at(english, name) !== undefined;

/** The text with a name; the value of the hole n chooses its plural form. */
function text(name, holes) {
  const found = at(texts, name) ?? at(english, name) ?? name;
  return typeof found === "string" ? found : found[plurals.select(Number(holes.n))] ?? found.other;
}

const filled = (value) => (typeof value === "number" ? numbers.format(value) : value);

/** A text of the page, such as t("pools.more", { n: 3 }). Numbers are formatted by the locale. */
export const t = (name, holes = {}) => text(name, holes).replace(/\{(\w+)\}/g, (hole, key) => filled(holes[key]) ?? hole);

/** A text as nodes, for h. Its holes may be filled with elements. */
export const nodes = (name, holes = {}) =>
  text(name, holes).split(/(\{\w+\})/).filter(Boolean).map((part) => (/^\{\w+\}$/.test(part) ? filled(holes[part.slice(1, -1)]) ?? part : part));

/** The sentence for the code of a problem. If the code has none, it is the message of the problem. */
export const sentenceOf = (problem) => [problem.code && isText(`errors.${problem.code}`) ? t(`errors.${problem.code}`) : problem.message, problem.note].filter(Boolean).join(" ");
