// Files of prizes: their import, after a preview, and files to begin with.

import { call, get, newKey, once, part } from "./api.js";
import { hasDecimalComma, save, write } from "./csv.js";
import { ask } from "./dialog.js";
import { button, count, field, h, table } from "./dom.js";
import { money } from "./money.js";
import { previewed } from "./preview.js";

/** A file of prizes as the spreadsheet of this computer reads it. */
function fileOf(prizes) {
  const excel = hasDecimalComma();
  return write(["prize", "name", "value", "stock", "kind"], prizes.map((p) => ({ ...p, prize: p.id, stock: p.remaining })), { excel, mark: true, comma: excel });
}

const sample = [
  { id: "mug-red", name: "Red mug", value: "9.90", remaining: 100, kind: "prize" },
  { id: "voucher", name: "Voucher, 25 €", value: "25.00", remaining: 20, kind: "prize" },
  { id: "no-luck", name: "Better luck next time", value: "0.00", remaining: null, kind: "blank" },
];

/** A button that saves a file of prizes; read returns them. */
const saved = (label, name, read) => button(label, async () => save(name, fileOf(await read())), "small");

/** Imports a file: first what it would do, then, of the same content, once. The service reads its bytes. */
export function importFile(at) {
  const file = h("input", { type: "file", accept: ".csv,.txt,text/csv" });
  const text = h("textarea", { rows: 5, spellcheck: "false", placeholder: "prize,name,value,stock\ngold,Gold coin,19.90,10" });
  const reason = h("input", { maxlength: 200, value: "import", required: true });
  const path = (dry) => `admin/pools/${part(at.id)}/import?dry_run=${dry}&reason=${part(reason.value)}`;
  let bytes = null;
  const preview = previewed(async () => {
    const body = bytes ?? text.value;
    const { data } = await call("POST", path(true), { body, type: "text/csv" });
    return { seen: { body, key: newKey() }, shows: previewOf(data, at.pool) };
  });
  file.addEventListener("change", async () => {
    preview.clear();
    bytes = file.files[0] ? await file.files[0].arrayBuffer() : null;
    if (!bytes) return;
    text.value = "";
    await preview.check();
  });
  text.addEventListener("input", () => { bytes = null; file.value = ""; preview.clear(); });
  const list = async () => (await get(`admin/pools/${part(at.id)}/prizes`)).prizes;
  ask({
    title: "Import stock", yes: "Import", wide: true,
    body: [
      h("p", {}, "Begin with ", saved("A sample file", "sample.csv", async () => sample), " or ", saved("The present stock", `${at.id}.csv`, list), "."),
      field("File", file, "CSV as Excel saves it: prize, name, value, stock, and maybe kind (blank for a losing ticket). The stock is added."),
      field("Or its text", text), field("Reason", reason), preview.elements,
    ].flat(),
    async act() {
      const seen = preview.seen();
      if (!seen || seen.body !== (bytes ?? text.value)) {
        await preview.check();
        return false; // what is imported was seen before
      }
      const { data } = await once(seen.key, "POST", path(false), { body: seen.body, type: "text/csv" });
      await at.refresh();
      return `Imported: ${count(data.units)} units, ${count(data.added)} new prizes, ${count(data.restocked)} restocked.`;
    },
  });
}

function previewOf(done, pool) {
  const rows = (done.prizes ?? []).slice(0, 100).map((p) => [h("code", {}, p.id), p.name, money(p.value, pool?.currency), p.new ? "new" : "is there", `+${count(p.delta)}`, count(p.stocked)]);
  const budget = pool?.budget && ` The budget is ${money(pool.budget.max, pool?.currency)}${pool.budget.per ? ` per ${pool.budget.per}` : ""}.`;
  return [
    done.encoding === "windows-1252" && h("p", { class: "warning" }, "The file is not UTF-8. It was read as Windows-1252, as Excel saves it: check the names."),
    h("p", {}, `${count(done.units)} units; ${count(done.added)} new prizes, ${count(done.restocked)} restocked. Nothing is written yet.`),
    h("p", {}, `They are worth ${money(done.value, pool?.currency)}; all that remains would then be worth ${money(done.stock_value, pool?.currency)}.`, budget),
    table("What the file would do", ["Prize", "Name", "#Value", "Which", "#Units", "#Stocked then"], rows),
  ].filter(Boolean);
}
