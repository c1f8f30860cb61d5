// Files of prizes: their import, after a preview, and files to start from.

import { call, get, newKey, once, part } from "./api.js";
import { hasDecimalComma, save, write } from "./csv.js";
import { ask } from "./dialog.js";
import { button, count, field, h, table } from "./dom.js";
import { previewed } from "./preview.js";
import { nodes, t } from "./text.js";
import { money, perWords } from "./words.js";

/** Returns a file of prizes in the form that spreadsheets in the browser's language need. */
function fileOf(prizes) {
  const excel = hasDecimalComma();
  return write(["prize", "name", "value", "stock", "kind"], prizes.map((p) => ({ ...p, prize: p.id, stock: p.remaining })), { excel, mark: true, comma: excel });
}

const sample = [
  { id: "mug-red", name: t("prizefile.sampleMug"), value: "9.90", remaining: 100, kind: "prize" },
  { id: "voucher", name: t("prizefile.sampleVoucher"), value: "25.00", remaining: 20, kind: "prize" },
  { id: "no-luck", name: t("prizefile.sampleBlank"), value: "0.00", remaining: null, kind: "blank" },
];

/** A button that saves a file of the prizes that read returns. */
const saved = (label, name, read) => button(label, async () => save(name, fileOf(await read())), "small");

/** Adds to the problem of a file an explanation of what is wrong with its lines. */
function explained(problem) {
  const [wrong, id = ""] = problem.message.match(/\bprize id must match \S+(?: not "([^"]*)")?/) ?? [];
  const ids = wrong && (/[A-Z]/.test(id) ? t("prizefile.capitals", { id }) : t("prizefile.ids"));
  return Object.assign(problem, { note: [ids, /\bstock must be\b/.test(problem.message) && t("prizefile.numbers")].filter(Boolean).join(" ") });
}

/** Imports a file: first a preview is shown, then the same content is imported once. The service decodes its bytes. */
export function importFile(at) {
  const file = h("input", { type: "file", accept: ".csv,.txt,text/csv" });
  const text = h("textarea", { rows: 5, spellcheck: "false", placeholder: ["prize,name,value,stock", `mug-red,${t("prizefile.sampleMug")},9.90,100`].join("\n") });
  const reason = h("input", { maxlength: 200, value: t("prizefile.aReason"), required: true });
  const path = (dry) => `admin/pools/${part(at.id)}/import?dry_run=${dry}&reason=${part(reason.value)}`;
  let bytes = null;
  const preview = previewed(async () => {
    const body = bytes ?? text.value;
    const { data } = await call("POST", path(true), { body, type: "text/csv" }).catch((problem) => { throw explained(problem); });
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
    title: t("prizefile.title"), yes: t("prizefile.import"), wide: true,
    body: [
      h("p", {}, nodes("prizefile.begin", { sample: saved(t("prizefile.sample"), "sample.csv", async () => sample), present: saved(t("prizefile.present"), `${at.id}.csv`, list) })),
      field(t("prizefile.file"), file, t("prizefile.fileHint")),
      field(t("prizefile.text"), text), field(t("prizefile.reason"), reason), preview.elements,
    ].flat(),
    async act() {
      const seen = preview.seen();
      if (!seen || seen.body !== (bytes ?? text.value)) {
        await preview.check();
        return false; // nothing is imported before its preview was shown
      }
      const { data } = await once(seen.key, "POST", path(false), { body: seen.body, type: "text/csv" });
      await at.refresh();
      return t("prizefile.imported", counts(data));
    },
  });
}

const counts = ({ units, added, restocked }) => ({ units: t("prizefile.units", { n: units }), added: t("prizefile.added", { n: added }), restocked: t("prizefile.restocked", { n: restocked }) });

function previewOf(done, pool) {
  const { budget, currency } = pool ?? {}, max = budget && money(budget.max, currency);
  const rows = (done.prizes ?? []).slice(0, 100).map((p) => [h("code", {}, p.id), p.name, money(p.value, currency), t(p.new ? "prizefile.new" : "prizefile.known"), `+${count(p.delta)}`, count(p.stocked)]);
  const worth = t("prizefile.worth", { value: money(done.value, currency), stock: money(done.stock_value, currency) });
  const limit = budget && (budget.per ? t("prizefile.budgetPer", { max, per: perWords(budget.per) }) : t("prizefile.budget", { max }));
  return [
    done.encoding === "windows-1252" && h("p", { class: "warning" }, t("prizefile.windows")),
    h("p", {}, t("prizefile.counts", counts(done))),
    h("p", {}, [worth, limit].filter(Boolean).join(" ")),
    table(t("prizefile.preview"), [t("prizefile.prize"), t("prizefile.name"), `#${t("prizefile.value")}`, t("prizefile.which"), `#${t("prizefile.delta")}`, `#${t("prizefile.stocked")}`], rows),
  ].filter(Boolean);
}
