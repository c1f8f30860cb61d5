// The prizes of a pool: their stock, up and down, and files of them.

import { call, newKey, once, part, send } from "./api.js";
import { ask, problemText } from "./dialog.js";
import { bar, button, count, field, h, say, sayNumber, table } from "./dom.js";
import { mayAct, mayStock } from "./state.js";

/** The table of prizes; set(prizes) shows them as they are now. */
export function prizesTable(at) {
  const body = h("tbody", { role: "rowgroup" });
  const head = ["Prize", "Stock", "Remaining", "Stocked", "Issued", "Value"];
  const element = h("div", { class: "scroll" }, h("table", { role: "table", class: "prizes" }, h("caption", { class: "unseen" }, "Prizes and their stock"),
    h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, head.map((text, i) => h("th", { scope: "col", role: "columnheader", class: i > 1 && "number" }, text)), mayStock() && h("th", { scope: "col", role: "columnheader" }, h("span", { class: "unseen" }, "Acts")))), body));
  const rows = new Map();
  return {
    element,
    set(prizes) {
      for (const [id, row] of rows) if (!prizes.some((p) => p.id === id)) { row.element.remove(); rows.delete(id); }
      for (const prize of prizes) {
        if (!rows.has(prize.id)) {
          rows.set(prize.id, newRow(at, prize.id));
          body.append(rows.get(prize.id).element);
        }
        rows.get(prize.id).set(prize);
      }
    },
  };
}

function newRow(at, id) {
  const cell = (label) => h("td", { role: "cell", class: "number", "data-label": label });
  const name = h("b"), share = bar("Stock"), remaining = cell("Remaining"), stocked = cell("Stocked"), issued = cell("Issued"), value = cell("Value");
  const corrects = mayAct() && button("Correct…", () => correct(at, at.pool.prizes.find((p) => p.id === id)), "small changes");
  const moves = button("Stock…", () => stock(at, at.pool.prizes.find((p) => p.id === id)), "small changes");
  const element = h("tr", { role: "row", dataset: { prize: id } }, h("th", { scope: "row", role: "rowheader" }, name, h("code", {}, id)), h("td", { role: "cell", class: "share" }, share.element), remaining, stocked, issued, value,
    mayStock() && h("td", { role: "cell", class: "acts" }, moves, " ", corrects));
  return {
    element,
    set(prize) {
      say(name, prize.name);
      sayNumber(remaining, prize.remaining);
      sayNumber(stocked, prize.stocked);
      sayNumber(issued, prize.issued);
      say(value, prize.kind === "blank" ? "no win" : prize.value);
      share.set(prize.remaining ?? 0, prize.stocked ?? 0);
      if (corrects) corrects.hidden = prize.issued > 0; // what was won has the name and value that it had
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

const kindOf = () => h("select", {}, h("option", { value: "prize" }, "a prize"), h("option", { value: "blank" }, "a losing ticket"));

export function addPrize(at) {
  const id = h("input", { required: true, pattern: "[a-z0-9][a-z0-9._\\-]{0,63}", autocomplete: "off", autocapitalize: "off" });
  const name = h("input", { required: true, maxlength: 200, autocomplete: "off" });
  const value = h("input", { pattern: "[0-9]{1,12}(\\.[0-9]{1,2})?", inputmode: "decimal", autocomplete: "off" });
  const kind = kindOf();
  const units = h("input", { type: "number", min: 0, max: 1000000000000, step: 1, inputmode: "numeric" });
  ask({
    title: "Add a prize", yes: "Add the prize",
    body: [field("Id", id), field("Name", name), field("Value", value, "Such as 19.90."), field("Kind", kind), field("Units", units, "A losing ticket without a number is endless.")],
    async act() {
      const prize = { id: id.value, name: name.value, kind: kind.value };
      if (value.value && kind.value === "prize") prize.value = value.value;
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

/** The text of a file: UTF-8, or else Windows-1252, which has a letter for every byte. */
function decode(bytes) {
  try {
    return { text: new TextDecoder("utf-8", { fatal: true }).decode(bytes), windows: false };
  } catch {
    return { text: new TextDecoder("windows-1252").decode(bytes), windows: true };
  }
}

/** Imports a file: first what it would do, then, of the same content, once. */
export function importFile(at) {
  const file = h("input", { type: "file", accept: ".csv,text/csv" });
  const text = h("textarea", { rows: 7, spellcheck: "false", placeholder: "prize,name,value,stock\ngold,Gold coin,19.90,10" });
  const reason = h("input", { maxlength: 200, value: "import", required: true });
  const preview = h("div", { class: "preview", "aria-live": "polite" });
  const path = (dry) => `admin/pools/${part(at.id)}/import?dry_run=${dry}&reason=${part(reason.value)}`;
  let seen = null;
  const clear = () => { seen = null; preview.replaceChildren(); };
  file.addEventListener("change", async () => {
    if (!file.files[0]) return clear();
    const read = decode(await file.files[0].arrayBuffer());
    text.value = read.text;
    clear();
    if (read.windows) preview.replaceChildren(h("p", { class: "warning" }, "The file is not UTF-8. It was read as Windows-1252, as Excel saves it: check the names."));
  });
  text.addEventListener("input", clear);
  const check = async () => {
    clear();
    const body = text.value;
    try {
      const { data } = await call("POST", path(true), { body, type: "text/csv" });
      seen = { body, key: newKey() };
      preview.replaceChildren(...previewOf(data));
    } catch (problem) {
      preview.replaceChildren(h("div", { class: "error" }, problemText(problem)));
    }
  };
  ask({
    title: "Import stock", yes: "Import", wide: true,
    body: [field("File", file, "CSV with the columns prize, name, value, stock and maybe kind."), field("Or its text", text), field("Reason", reason), h("p", {}, button("Preview", check)), preview],
    async act() {
      if (!seen || seen.body !== text.value) {
        await check();
        return false; // what is imported was seen before
      }
      const { data } = await once(seen.key, "POST", path(false), { body: seen.body, type: "text/csv" });
      await at.refresh();
      return `Imported: ${count(data.units)} units, ${count(data.added)} new prizes, ${count(data.restocked)} restocked.`;
    },
  });
}

function previewOf(done) {
  const rows = (done.prizes ?? []).slice(0, 100).map((p) => [h("code", {}, p.id), p.new ? "new" : "is there", `+${count(p.delta)}`, count(p.stocked)]);
  return [
    h("p", {}, `${count(done.units)} units; ${count(done.added)} new prizes, ${count(done.restocked)} restocked. Nothing is written yet.`),
    table("What the file would do", ["Prize", "Which", "#Units", "#Stocked then"], rows),
  ];
}
