// The files of a pool: winners, payout, daily report, proof; and its final report, for paper.

import { bytes, part } from "./api.js";
import { hasDecimalComma, save, write } from "./csv.js";
import { complain } from "./dialog.js";
import { button, count, fact, field, h, moment, say, table } from "./dom.js";
import { amountOf, budgetGiven, cents, givenInAll, money } from "./money.js";
import { readsPools, self } from "./state.js";
import { daily, hasEnded, payout, winners } from "./winners.js";

const winColumns = ["award", "at", "draw", "ordinal", "user", "prize", "name", "value", "unit", "state", "since", "reference"];
const payColumns = ["user", "wins", "value", "sent", "open"];
const dayColumns = ["day", "prize", "issued", "remaining", "value", "to_version"];

export async function filesSection(at) {
  const program = h("select", {}, h("option", { value: "" }, "CSV: comma, for programs"), h("option", { value: "excel" }, "Excel: semicolon"));
  const comma = h("input", { type: "checkbox" });
  comma.checked = hasDecimalComma();
  const commaField = field("Decimal comma", comma);
  const choose = () => { commaField.hidden = program.value === ""; };
  program.addEventListener("input", choose);
  choose();
  const form = () => ({ excel: program.value !== "", comma: program.value !== "" && comma.checked, amounts: ["value", "sent", "open"] });
  const note = h("p", { class: "quiet", role: "status" });
  const file = (title, words, make) => {
    const by = button("Download", async () => {
      by.disabled = true;
      say(note, `${title}: reading…`);
      try {
        say(note, `${title}: ${await make(form())}`);
      } catch (problem) {
        say(note, "");
        if (!at.signal.aborted) complain(problem);
      } finally {
        by.disabled = false;
      }
    });
    by.setAttribute("aria-label", `Download ${title}`);
    return h("li", {}, h("div", {}, h("h3", {}, title), h("p", { class: "quiet" }, words)), by);
  };
  const saved = (name, columns, rows, f) => {
    save(`${at.id}-${name}.csv`, write(columns, rows, f));
    return `${count(rows.length)} lines.`;
  };
  return {
    elements: [
      h("div", { class: "title" }, h("h2", {}, "Files"), h("div", { class: "actions" }, field("Format", program), commaField)), note,
      h("ul", { class: "files" },
        file("Winners", "Each win with its user, prize, value and what became of it. Times are UTC.", async (f) => saved("winners", winColumns, dated(await winners(at, f.excel), f), f)),
        file("Payout by user", "What each user has won, in all, sent and open. Expired and voided wins do not count.", async (f) => saved("payout", payColumns, payout(await winners(at, f.excel)), f)),
        readsPools() && file("Daily report", "What each prize has given by day. “today” is what the nightly statement does not have yet.", async (f) => saved("days", dayColumns, await daily(at), f)),
        readsPools() && at.commitment && self.role === "admin" && file("Proof", "The files with which anybody can verify the draws. Before the seed is revealed they show what is left: keep them to yourself.", async () => {
          save(`${at.id}-proof.zip`, await bytes("POST", `admin/pools/${part(at.id)}/proof`), "application/zip");
          return "downloaded.";
        }),
        readsPools() && h("li", {}, h("div", {}, h("h3", {}, "Final report"), h("p", { class: "quiet" }, "Figures, prizes and days on a page, to print or to keep as PDF.")), h("a", { class: "as-button", href: `#/pools/${part(at.id)}/report` }, "Show")))],
  };
}

/** Times as spreadsheets read them. */
const dated = (wins, { excel }) => (excel ? wins.map((w) => ({ ...w, at: plainTime(w.at), since: plainTime(w.since) })) : wins);
const plainTime = (text) => text.slice(0, 19).replace("T", " ");

/** The final report of a pool, as it stands now. */
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
      h("div", { class: "title" }, h("h2", {}, "Final report"), h("div", { class: "actions" }, button("Print…", () => print(), "strong"))),
      h("p", { class: "quiet" }, `As of ${moment(new Date().toISOString())}, ${at.zone}. The campaign is ${at.pool.state}.`),
      h("dl", { class: "facts report" },
        fact("Draws", count(at.pool.awards)), fact("Wins", count(wins.length)), fact("Winners", count(new Set(wins.map((w) => w.user)).size)),
        fact("Value given", shown(givenInAll(at.pool.prizes))), fact("Of it expired or voided", counted.length < wins.length && shown(total(wins.filter(hasEnded)))),
        fact("Budget", budgetGiven(at.pool)), fact("Fairness", at.commitment ? "provable: the draws are committed" : "not provable")),
      h("h2", {}, "Prizes"),
      table("Prizes", ["Prize", "#Value", "#Stocked", "#Given", "#Left", "#Value given"], at.pool.prizes.map((p) => [p.name, p.kind === "blank" ? "no win" : shown(p.value), count(p.stocked), count(p.issued), count(p.remaining), p.kind === "blank" ? "–" : shown(p.given)])),
      h("h2", {}, "What became of the wins"),
      states.length ? table("What became of the wins", ["State", "#Wins", "#Value"], states.map(([state, of]) => [state, count(of.length), shown(total(of))])) : h("p", {}, "Nothing was won."),
      h("h2", {}, "Days"),
      table("Days", ["Day", "#Wins", "#Value"], [...perDay].map(([day, lines]) => [day, count(winsOf(lines)), shown(total(lines))])),
    ],
  };
}
