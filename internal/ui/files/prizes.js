// The prizes of a pool, and moves of their stock.

import { newKey, once, part, send } from "./api.js";
import { showCodes } from "./codes.js";
import { ask, complain } from "./dialog.js";
import { bar, button, count, field, h, say, sayNumber } from "./dom.js";
import { closedWhy, impossible } from "./impossible.js";
import { describe, shownName, shownParts } from "./shown.js";
import { mayAct, mayStock } from "./state.js";
import { t } from "./text.js";
import { money } from "./words.js";

export { importFile } from "./prizefile.js";

const shownMax = 100;

/** The table of prizes. set(prizes) updates it. */
export function prizesTable(at) {
  const find = h("input", { type: "search", "aria-label": t("prizes.find"), placeholder: t("prizes.find"), autocomplete: "off", spellcheck: "false" });
  const note = h("p", { class: "quiet", role: "status" }), filter = h("form", { class: "search", hidden: true, onsubmit: (event) => event.preventDefault() }, find);
  const body = h("tbody", { role: "rowgroup" });
  const head = [t("prizes.prize"), t("prizes.stock"), t("prizes.remaining"), t("prizes.stocked"), t("prizes.issued"), t("prizes.value"), t("prizes.given")];
  const element = h("div", {}, filter, note, h("div", { class: "scroll" }, h("table", { role: "table", class: "prizes" }, h("caption", { class: "unseen" }, t("prizes.caption")),
    h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, head.map((text, i) => h("th", { scope: "col", role: "columnheader", class: i > 1 && "number" }, text)), mayStock() && h("th", { scope: "col", role: "columnheader" }, h("span", { class: "unseen" }, t("prizes.acts"))))), body)));
  const rows = new Map();
  const set = (all) => {
    const word = all.length > shownMax ? find.value.trim().toLowerCase() : ""; // the search applies only while its field is shown
    const found = word ? all.filter((p) => `${p.id} ${p.name} ${shownName(p)}`.toLowerCase().includes(word)) : all;
    const prizes = found.slice(0, shownMax);
    filter.hidden = all.length <= shownMax;
    say(note, found.length > prizes.length ? t("prizes.first", { n: prizes.length, all: found.length }) : word && found.length === 0 ? t("prizes.none") : "");
    for (const [id, row] of rows) if (!prizes.some((p) => p.id === id)) { row.element.remove(); rows.delete(id); }
    for (const prize of prizes) {
      if (!rows.has(prize.id)) rows.set(prize.id, newRow(at, prize.id));
      rows.get(prize.id).set(prize);
    }
    prizes.forEach((prize, i) => {
      const row = rows.get(prize.id).element;
      if (body.children[i] !== row) body.insertBefore(row, body.children[i] ?? null);
    });
  };
  find.addEventListener("input", () => set(at.pool.prizes));
  return { element, set };
}

function newRow(at, id) {
  const cell = (label) => h("td", { role: "cell", class: "number", "data-label": label });
  const name = h("b"), share = bar(t("prizes.stock")), remaining = cell(t("prizes.remaining")), stocked = cell(t("prizes.stocked")), issued = cell(t("prizes.issued")), value = cell(t("prizes.value")), given = cell(t("prizes.given"));
  const corrects = mayAct() && button(t("prizes.correct"), () => correct(at, at.pool.prizes.find((p) => p.id === id)), "small changes");
  const describes = mayAct() && button(t("prizes.describe"), () => describe(at, at.pool.prizes.find((p) => p.id === id)), "small"), parts = shownParts();
  const moves = button(t("prizes.change"), () => stock(at, at.pool.prizes.find((p) => p.id === id)), "small changes");
  const codes = button(t("prizes.codes"), () => showCodes(at, at.pool.prizes.find((p) => p.id === id)).catch(complain), "small");
  const who = h("th", { scope: "row", role: "rowheader" }, name, h("code", {}, id), parts.element);
  const element = h("tr", { role: "row", dataset: { prize: id } }, who, h("td", { role: "cell", class: "share" }, share.element), remaining, stocked, issued, value, given,
    mayStock() && h("td", { role: "cell", class: "acts" }, moves, " ", corrects, " ", describes));
  return {
    element,
    set(prize) {
      say(name, shownName(prize));
      parts.set(prize);
      sayNumber(remaining, prize.remaining);
      sayNumber(stocked, prize.stocked);
      sayNumber(issued, prize.issued);
      say(value, prize.kind === "blank" ? t("prizes.blank") : money(prize.value, at.pool.currency));
      say(given, prize.kind === "blank" ? "–" : money(prize.given ?? "0.00", at.pool.currency));
      if (prize.codes && !codes.isConnected) who.append(codes);
      share.set(prize.remaining ?? 0, prize.stocked ?? 0);
      if (corrects) impossible(corrects, at.pool.state === "closed" ? closedWhy : prize.issued > 0 ? t("prizes.isIssued", { n: prize.issued }) : "");
      share.element.hidden = moves.hidden = prize.stocked === null; // an endless blank has no stock
    },
  };
}

/** Adds or withdraws stock, once. */
function stock(at, prize) {
  const way = h("select", {}, h("option", { value: "1" }, t("prizes.add")), h("option", { value: "-1" }, t("prizes.withdraw")));
  const units = h("input", { type: "number", min: 1, max: 1000000000000, step: 1, required: true, inputmode: "numeric" });
  const reason = h("input", { required: true, maxlength: 200, autocomplete: "off" });
  let key = newKey(), sent = "";
  ask({
    title: t("prizes.stockOf", { prize: prize.name }), yes: t("prizes.changeYes"),
    body: [h("p", { class: "quiet" }, t("prizes.remain", { remaining: prize.remaining ?? 0, stocked: prize.stocked ?? 0 })), field(t("prizes.what"), way), field(t("prizes.units"), units), field(t("prizes.reason"), reason, t("prizes.reasonHint"))],
    async act() {
      const body = JSON.stringify({ delta: Number(way.value) * Number(units.value), reason: reason.value });
      if (sent && sent !== body) key = newKey(); // a different move needs a new key
      sent = body;
      const { data } = await once(key, "POST", `admin/pools/${part(at.id)}/prizes/${part(prize.id)}/stock`, { body });
      await at.refresh();
      return t("prizes.changed", { prize: prize.name, delta: `${data.delta > 0 ? "+" : ""}${count(data.delta)}`, remaining: data.remaining });
    },
  });
}

const kindOf = () => h("select", {}, h("option", { value: "prize" }, t("prizes.isPrize")), h("option", { value: "codes" }, t("prizes.isCodes")), h("option", { value: "blank" }, t("prizes.isBlank")));

export function addPrize(at) {
  const id = h("input", { required: true, pattern: "[a-z0-9][a-z0-9._\\-]{0,63}", autocomplete: "off", autocapitalize: "off" });
  const name = h("input", { required: true, maxlength: 200, autocomplete: "off" });
  const value = h("input", { pattern: "[0-9]{1,12}(\\.[0-9]{1,2})?", inputmode: "decimal", autocomplete: "off" });
  const kind = kindOf();
  const units = h("input", { type: "number", min: 0, max: 1000000000000, step: 1, inputmode: "numeric" });
  ask({
    title: t("prizes.addTitle"), yes: t("prizes.addYes"),
    body: [field(t("prizes.id"), id), field(t("prizes.name"), name), field(t("prizes.value"), value, t("prizes.valueHint")), field(t("prizes.kind"), kind), field(t("prizes.units"), units, t("prizes.unitsHint"))],
    async act() {
      const prize = { id: id.value, name: name.value, kind: kind.value };
      if (kind.value === "codes") Object.assign(prize, { kind: "prize", codes: true });
      if (value.value && prize.kind === "prize") prize.value = value.value;
      if (units.value !== "") prize.stock = Number(units.value);
      await send("POST", `admin/pools/${part(at.id)}/prizes`, prize);
      await at.refresh();
      return t("prizes.added", { prize: name.value });
    },
  });
}

/** Corrects the name or the value of a prize. The service allows that before its first award. */
function correct(at, prize) {
  const name = h("input", { required: true, maxlength: 200, value: prize.name, autocomplete: "off" });
  const value = h("input", { required: true, pattern: "[0-9]{1,12}(\\.[0-9]{1,2})?", value: prize.value, inputmode: "decimal", disabled: prize.kind === "blank" });
  ask({
    title: t("prizes.correctTitle", { prize: prize.id }), yes: t("prizes.correctYes"),
    body: [h("p", { class: "quiet" }, t("prizes.correctHint")), field(t("prizes.name"), name), field(t("prizes.value"), value)],
    async act() {
      const change = { name: name.value };
      if (prize.kind !== "blank") change.value = value.value;
      await send("PATCH", `admin/pools/${part(at.id)}/prizes/${part(prize.id)}`, change);
      await at.refresh();
      return t("prizes.corrected");
    },
  });
}
