// The public page of fairness of a pool: what can be won, by which rules, and a check of receipts. It needs no token.

import { bar, copied, field, h, operator, outside, pill, table } from "./dom.js";
import { checkReceipt } from "./receipt.js";
import { meaningForPlayers } from "./rulesmeaning.js";
import { locale, nodes, sentenceOf, t } from "./text.js";
import { money, percent, percentWords } from "./words.js";

const root = document.getElementById("fair");
const answerMax = 1 << 20; // characters of a pasted answer

/** Formats a time in the time zone of the rules, with the zone. */
function zoned(text, zone) {
  const written = (timeZone) => {
    const at = new Intl.DateTimeFormat(locale, { timeZone, dateStyle: "full", timeStyle: "short" }).format(new Date(text));
    return h("time", { datetime: text }, t("fair.zoned", { at, zone: timeZone }));
  };
  try {
    return written(zone);
  } catch { // the browser does not support the zone
    return written("UTC");
  }
}

function dates(facts) {
  const at = (moment) => ({ at: zoned(moment, facts.zone) });
  return h("div", {}, h("p", { class: "row" }, pill(t(`states.${facts.state}`), facts.state), t(`fair.is-${facts.state}`)),
    facts.opens_at && h("p", {}, nodes("fair.opens", at(facts.opens_at))), facts.closes_at && h("p", {}, nodes("fair.ends", at(facts.closes_at))));
}

/** The prizes. A picture is a link, because the page loads nothing from other hosts. */
function prizes(facts) {
  const worth = (p) => Number(p.value) > 0 && h("span", { class: "quiet" }, ` ${money(p.value, facts.currency)}`);
  const links = (p) => [outside(p.image ?? "", t("fair.picture")), outside(p.link ?? "", t("fair.link"))].filter(Boolean);
  const item = (p) => h("li", { dataset: { prize: p.id } }, h("div", {}, h("b", {}, p.name), worth(p), p.description && h("p", { class: "quiet" }, p.description)), h("span", { class: "row" }, links(p)));
  return [
    h("h2", {}, t("fair.prizes")), h("ul", { class: "files" }, facts.prizes.map(item)),
    facts.more > 0 && h("p", { class: "quiet" }, t("fair.more", { n: facts.more })),
  ];
}

function odds(facts) {
  if (!facts.odds) return [];
  const names = new Map(facts.prizes.map((p) => [p.id, p.name]));
  const row = (name, chance) => {
    const share = bar(name, { says: t("fair.chance"), isLow: () => false });
    share.set(percent(chance), 100);
    return [name, share.element, percentWords(percent(chance)), h("code", {}, chance)];
  };
  const lost = [facts.odds.none, ...facts.odds.odds.filter((c) => !names.has(c.prize)).map((c) => c.chance)].filter((chance) => !chance.startsWith("0/"));
  const rows = facts.odds.odds.filter((c) => names.has(c.prize)).map((c) => row(names.get(c.prize), c.chance));
  rows.push(...lost.map((chance) => row(t("fair.noWin"), chance)));
  return [
    h("h2", {}, t("fair.odds")), table(t("fair.oddsTable"), [t("fair.prize"), t("fair.share"), `#${t("fair.chanceOf")}`, `#${t("fair.exactly")}`], rows),
    facts.odds.moments && h("p", { class: "quiet" }, t("fair.moments")),
  ];
}

function paste(title, words) {
  return h("figure", { class: "paste" }, h("figcaption", {}, title, copied(words)), h("pre", { tabindex: "0", "aria-label": title }, words));
}

function commitment({ commitment: c }) {
  if (!c) return [h("h2", {}, t("fair.proof")), h("p", {}, t("fair.secret"))];
  return [
    h("h2", {}, t("fair.proof")),
    h("p", {}, c.level === "beacon" ? t("fair.beacon") : t("fair.committed"), " ", c.revealed ? t("fair.revealed") : t("fair.willReveal")),
    h("p", { class: "quiet" }, t("fair.keep")),
    paste(t("fair.commitment"), c.note), paste(t("fair.key"), c.key),
  ];
}

/** The form that checks a receipt. The check runs in the browser, and the receipt is not sent. */
function receipts({ commitment: c }) {
  if (!c) return [];
  const text = h("textarea", { rows: 6, class: "code", required: true, spellcheck: "false", maxlength: answerMax });
  const draw = h("input", { autocomplete: "off", spellcheck: "false", maxlength: 128 }), user = h("input", { autocomplete: "off", spellcheck: "false", maxlength: 128 });
  const result = h("div", { role: "status", class: "preview" });
  const form = h("form", { novalidate: false }, field(t("fair.receipt"), text, t("fair.receiptHint")),
    h("div", { class: "fields" }, field(t("fair.draw"), draw, t("fair.ifKnown")), field(t("fair.user"), user, t("fair.ifKnown"))),
    h("p", {}, h("button", { type: "submit", class: "strong" }, t("fair.check"))), result);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    result.replaceChildren();
    try {
      const found = await checkReceipt(text.value, c.key.trim(), { draw: draw.value, user: user.value });
      result.replaceChildren(...good(found));
    } catch (problem) {
      result.replaceChildren(h("p", { class: "error", dataset: { ok: false } }, nodes("fair.fails", { verdict: h("strong", {}, t("fair.verdict")), why: problem.message })));
    }
  });
  return [h("h2", {}, t("fair.check")), h("p", {}, t("fair.checkAbout")), form];
}

function good({ lines, size }) {
  return [
    h("p", { dataset: { ok: true } }, pill(t("fair.holds"), "open"), " ", t("fair.signed", { n: lines.length }), " ", size > 0 ? t("fair.inLog", { size }) : t("fair.notInLog")),
    table(t("fair.promises"), [`#${t("fair.entry")}`, t("fair.prize"), `#${t("fair.unit")}`, t("fair.at")], lines.map((line) => [String(line.v), h("code", {}, line.prize), String(line.unit), line.at])),
  ];
}

function verifiers({ commitment: c, id }) {
  if (!c) return [];
  const file = (name) => h("a", { href: new URL(`-/${name}`, location.href).href, download: name }, name);
  return [
    h("h2", {}, t("fair.verify")),
    h("p", {}, nodes("fair.programs", { program: h("code", {}, "drawsvc verify"), script: file("verify.py"), helper: file("bls.py") })),
    paste(t("fair.commandLine"), `drawsvc verify ${id}/\npython3 verify.py ${id}/`),
  ];
}

/** The rules in words: the service's sentences in English; in another language sentences made from the document. */
function rules(facts) {
  const named = facts.prizes.concat(Object.entries(facts.names).map(([id, name]) => ({ id, name })));
  return h("div", { dataset: { rules: true } }, meaningForPlayers(facts, { pool: { prizes: named, currency: facts.currency } }));
}

async function show() {
  const answer = await fetch(new URL(`${location.pathname.split("/").pop()}/facts`, location.href), { credentials: "omit", redirect: "error" }).catch(() => null);
  const facts = await answer?.json().catch(() => null);
  if (!answer?.ok || !facts) throw Object.assign(new Error(facts?.detail ?? ""), { code: facts?.code ?? "no-answer" });
  const own = operator !== "drawsvc";
  document.title = t("fair.titleOf", { name: facts.name }) + (own ? ` – ${operator}` : "");
  root.replaceChildren(...[
    own && h("p", { class: "mark" }, operator), h("h1", {}, facts.name), facts.text && h("p", {}, facts.text), dates(facts), ...prizes(facts),
    h("h2", {}, t("fair.rules")), rules(facts),
    ...odds(facts), ...commitment(facts), ...receipts(facts), ...verifiers(facts),
  ].filter(Boolean));
}

show().catch((problem) => root.replaceChildren(h("h1", {}, t("fair.title")), h("p", { class: "error", role: "alert" }, sentenceOf(problem), " ", t("fair.again"))));
