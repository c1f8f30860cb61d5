// The files of a pool: winners, payout, daily report and proof. The final report is for
// printing.

import { bytes, part } from "./api.js";
import { hasDecimalComma, save, write } from "./csv.js";
import { complain } from "./dialog.js";
import { button, count, fact, field, h, moment, say, table } from "./dom.js";
import { amountOf, budgetGiven, cents, givenInAll } from "./money.js";
import { readsPools, self } from "./state.js";
import { t } from "./text.js";
import { daily, hasEnded, payout, winners } from "./winners.js";
import { money } from "./words.js";

const winColumns = ["award", "at", "draw", "ordinal", "user", "prize", "name", "value", "unit", "state", "since", "reference"];
const payColumns = ["user", "wins", "value", "sent", "open"];
const dayColumns = ["day", "prize", "issued", "remaining", "value", "to_version"];

export async function filesSection(at) {
  const program = h("select", {}, h("option", { value: "" }, t("files.programs")), h("option", { value: "excel" }, t("files.excel")));
  const comma = h("input", { type: "checkbox" });
  comma.checked = hasDecimalComma();
  const commaField = field(t("files.decimalComma"), comma);
  const choose = () => { commaField.hidden = program.value === ""; };
  program.addEventListener("input", choose);
  choose();
  const form = () => ({ excel: program.value !== "", comma: program.value !== "" && comma.checked, amounts: ["value", "sent", "open"] });
  const note = h("p", { class: "quiet", role: "status" });
  const file = (title, words, make) => {
    const by = button(t("files.download"), async () => {
      by.disabled = true;
      say(note, t("files.reading", { title }));
      try {
        say(note, await make(title, form()));
      } catch (problem) {
        say(note, "");
        if (!at.signal.aborted) complain(problem);
      } finally {
        by.disabled = false;
      }
    });
    by.setAttribute("aria-label", t("files.downloadOf", { title }));
    return h("li", {}, h("div", {}, h("h3", {}, title), h("p", { class: "quiet" }, words)), by);
  };
  const saved = (title, name, columns, rows, f) => {
    save(`${at.id}-${name}.csv`, write(columns, rows, f));
    return t("files.lines", { title, n: rows.length });
  };
  return {
    elements: [
      h("div", { class: "title" }, h("h2", {}, t("files.title")), h("div", { class: "actions" }, field(t("files.format"), program), commaField)), note,
      h("ul", { class: "files" },
        file(t("files.winners"), t("files.winnersAbout"), async (title, f) => saved(title, "winners", winColumns, dated(await winners(at, f.excel), f), f)),
        file(t("files.payout"), t("files.payoutAbout"), async (title, f) => saved(title, "payout", payColumns, payout(await winners(at, f.excel)), f)),
        readsPools() && file(t("files.days"), t("files.daysAbout"), async (title, f) => saved(title, "days", dayColumns, await daily(at), f)),
        readsPools() && at.commitment && self.role === "admin" && file(t("files.proof"), t("files.proofAbout"), async (title) => {
          save(`${at.id}-proof.zip`, await bytes("POST", `admin/pools/${part(at.id)}/proof`), "application/zip");
          return t("files.downloaded", { title });
        }),
        readsPools() && h("li", {}, h("div", {}, h("h3", {}, t("files.report")), h("p", { class: "quiet" }, t("files.reportAbout"))), h("a", { class: "as-button", href: `#/pools/${part(at.id)}/report` }, t("files.show"))))],
  };
}

/** Writes times in the form that spreadsheets recognize. */
const dated = (wins, { excel }) => (excel ? wins.map((w) => ({ ...w, at: plainTime(w.at), since: plainTime(w.since) })) : wins);
const plainTime = (text) => text.slice(0, 19).replace("T", " ");

/** The final report of a pool, with its present state. */
export async function reportSection(at) {
  const [wins, days] = await Promise.all([winners(at), daily(at)]);
  const shown = (amount) => money(amount, at.pool.currency);
  const total = (rows) => amountOf(rows.reduce((all, row) => all + cents(row.value), 0n));
  const counted = wins.filter((w) => !hasEnded(w));
  const states = ["won", "claimed", "fulfilled", "expired", "voided"].map((state) => [state, wins.filter((w) => w.state === state)]).filter(([, of]) => of.length);
  const perDay = new Map();
  for (const line of days) perDay.set(line.day, [...(perDay.get(line.day) ?? []), line]);
  const names = new Map(at.pool.prizes.map((p) => [p.id, p.kind]));
  const winsOf = (lines) => lines.reduce((n, line) => n + (names.get(line.prize) === "blank" ? 0 : Number(line.issued)), 0);
  return {
    elements: [
      h("div", { class: "title" }, h("h2", {}, t("files.report")), h("div", { class: "actions" }, button(t("files.print"), () => print(), "strong"))),
      h("p", { class: "quiet" }, t("files.asOf", { at: moment(new Date().toISOString()), zone: at.zone, state: t(`states.${at.pool.state}`) })),
      h("dl", { class: "facts report" },
        fact(t("files.draws"), count(at.pool.awards)), fact(t("files.wins"), count(wins.length)), fact(t("files.people"), count(new Set(wins.map((w) => w.user)).size)),
        fact(t("files.given"), shown(givenInAll(at.pool.prizes))), fact(t("files.lost"), counted.length < wins.length && shown(total(wins.filter(hasEnded)))),
        fact(t("files.budget"), budgetGiven(at.pool)), fact(t("files.fairness"), at.commitment ? t("files.provable") : t("files.notProvable"))),
      h("h2", {}, t("files.prizes")),
      table(t("files.prizes"), [t("files.prize"), `#${t("files.value")}`, `#${t("files.stocked")}`, `#${t("files.issued")}`, `#${t("files.left")}`, `#${t("files.given")}`], at.pool.prizes.map((p) => [p.name, p.kind === "blank" ? t("files.noWin") : shown(p.value), count(p.stocked), count(p.issued), count(p.remaining), p.kind === "blank" ? "–" : shown(p.given)])),
      h("h2", {}, t("files.became")),
      states.length ? table(t("files.became"), [t("files.state"), `#${t("files.wins")}`, `#${t("files.value")}`], states.map(([state, of]) => [t(`award.is-${state}`), count(of.length), shown(total(of))])) : h("p", {}, t("files.nothing")),
      h("h2", {}, t("files.perDay")),
      table(t("files.perDay"), [t("files.day"), `#${t("files.wins")}`, `#${t("files.value")}`], [...perDay].map(([day, lines]) => [day === "today" ? t("files.today") : day, count(winsOf(lines)), shown(total(lines))])),
    ],
  };
}
