// The prizes of a pool, and their stock, up and down.

import { newKey, once, part, send } from "./api.js";
import { showCodes } from "./codes.js";
import { ask, complain } from "./dialog.js";
import { bar, button, count, countOf, field, h, say, sayNumber } from "./dom.js";
import { money } from "./money.js";
import { closedWhy, impossible } from "./impossible.js";
import { describe, shownName, shownParts } from "./shown.js";
import { mayAct, mayStock } from "./state.js";

export { importFile } from "./prizefile.js";

const shownMax = 100;

/** The table of prizes; set(prizes) shows them as they are now. */
export function prizesTable(at) {
  const find = h("input", { type: "search", "aria-label": "Find a prize", placeholder: "Find a prize", autocomplete: "off", spellcheck: "false" });
  const note = h("p", { class: "quiet", role: "status" }), filter = h("form", { class: "search", hidden: true, onsubmit: (event) => event.preventDefault() }, find);
  const body = h("tbody", { role: "rowgroup" });
  const head = ["Prize", "Stock", "Remaining", "Stocked", "Issued", "Value", "Given"];
  const element = h("div", {}, filter, note, h("div", { class: "scroll" }, h("table", { role: "table", class: "prizes" }, h("caption", { class: "unseen" }, "Prizes and their stock"),
    h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, head.map((text, i) => h("th", { scope: "col", role: "columnheader", class: i > 1 && "number" }, text)), mayStock() && h("th", { scope: "col", role: "columnheader" }, h("span", { class: "unseen" }, "Acts")))), body)));
  const rows = new Map();
  const set = (all) => {
    const word = find.value.trim().toLowerCase(), found = word ? all.filter((p) => `${p.id} ${p.name}`.toLowerCase().includes(word)) : all;
    const prizes = found.slice(0, shownMax);
    filter.hidden = all.length <= shownMax;
    say(note, found.length > prizes.length ? `The first ${count(prizes.length)} of ${count(found.length)}. Find others by name.` : "");
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
  const name = h("b"), share = bar("Stock"), remaining = cell("Remaining"), stocked = cell("Stocked"), issued = cell("Issued"), value = cell("Value"), given = cell("Given");
  const corrects = mayAct() && button("Correct…", () => correct(at, at.pool.prizes.find((p) => p.id === id)), "small changes");
  const describes = mayAct() && button("Shown as…", () => describe(at, at.pool.prizes.find((p) => p.id === id)), "small"), parts = shownParts();
  const moves = button("Stock…", () => stock(at, at.pool.prizes.find((p) => p.id === id)), "small changes");
  const codes = button("Codes…", () => showCodes(at, at.pool.prizes.find((p) => p.id === id)).catch(complain), "small");
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
      say(value, prize.kind === "blank" ? "no win" : money(prize.value, at.pool.currency));
      say(given, prize.kind === "blank" ? "–" : money(prize.given ?? "0.00", at.pool.currency));
      if (prize.codes && !codes.isConnected) who.append(codes);
      share.set(prize.remaining ?? 0, prize.stocked ?? 0);
      if (corrects) impossible(corrects, at.pool.state === "closed" ? closedWhy : prize.issued > 0 ? `${countOf(prize.issued, "unit was", "units were")} drawn with this name and value. What players see can still change: Shown as….` : "");
      share.element.hidden = moves.hidden = prize.stocked === null; // an endless one has none
    },
  };
}

/** Moves stock up or down, once. */
function stock(at, prize) {
  const way = h("select", {}, h("option", { value: "1" }, "add units"), h("option", { value: "-1" }, "withdraw units"));
  const units = h("input", { type: "number", min: 1, max: 1000000000000, step: 1, required: true, inputmode: "numeric" });
  const reason = h("input", { required: true, maxlength: 200, autocomplete: "off" });
  let key = newKey(), sent = "";
  ask({
    title: `Stock of ${prize.name}`, yes: "Move the stock",
    body: [h("p", { class: "quiet" }, `${count(prize.remaining ?? 0)} remain of ${count(prize.stocked ?? 0)} stocked.`), field("What", way), field("Units", units), field("Reason", reason, "It is kept in the log, with your name.")],
    async act() {
      const body = JSON.stringify({ delta: Number(way.value) * Number(units.value), reason: reason.value });
      if (sent && sent !== body) key = newKey(); // another move than the one before
      sent = body;
      const { data } = await once(key, "POST", `admin/pools/${part(at.id)}/prizes/${part(prize.id)}/stock`, { body });
      await at.refresh();
      return `${prize.name}: ${data.delta > 0 ? "+" : ""}${count(data.delta)}, ${count(data.remaining)} remain.`;
    },
  });
}

const kindOf = () => h("select", {}, h("option", { value: "prize" }, "a prize"), h("option", { value: "codes" }, "a prize whose units have codes"), h("option", { value: "blank" }, "a losing ticket"));

export function addPrize(at) {
  const id = h("input", { required: true, pattern: "[a-z0-9][a-z0-9._\\-]{0,63}", autocomplete: "off", autocapitalize: "off" });
  const name = h("input", { required: true, maxlength: 200, autocomplete: "off" });
  const value = h("input", { pattern: "[0-9]{1,12}(\\.[0-9]{1,2})?", inputmode: "decimal", autocomplete: "off" });
  const kind = kindOf();
  const units = h("input", { type: "number", min: 0, max: 1000000000000, step: 1, inputmode: "numeric" });
  ask({
    title: "Add a prize", yes: "Add the prize",
    body: [field("Id", id), field("Name", name), field("Value", value, "Such as 19.90."), field("Kind", kind), field("Units", units, "A losing ticket without a number is endless. A prize with codes gets its units from a file of codes.")],
    async act() {
      const prize = { id: id.value, name: name.value, kind: kind.value };
      if (kind.value === "codes") Object.assign(prize, { kind: "prize", codes: true });
      if (value.value && prize.kind === "prize") prize.value = value.value;
      if (units.value !== "") prize.stock = Number(units.value);
      await send("POST", `admin/pools/${part(at.id)}/prizes`, prize);
      await at.refresh();
      return `${name.value} was added.`;
    },
  });
}

/** Corrects name or value, which the service allows before the first award. */
function correct(at, prize) {
  const name = h("input", { required: true, maxlength: 200, value: prize.name, autocomplete: "off" });
  const value = h("input", { required: true, pattern: "[0-9]{1,12}(\\.[0-9]{1,2})?", value: prize.value, inputmode: "decimal", disabled: prize.kind === "blank" });
  ask({
    title: `Correct ${prize.id}`, yes: "Correct the prize",
    body: [h("p", { class: "quiet" }, "Only before the first award of the prize."), field("Name", name), field("Value", value)],
    async act() {
      const change = { name: name.value };
      if (prize.kind !== "blank") change.value = value.value;
      await send("PATCH", `admin/pools/${part(at.id)}/prizes/${part(prize.id)}`, change);
      await at.refresh();
      return "The prize was corrected.";
    },
  });
}
