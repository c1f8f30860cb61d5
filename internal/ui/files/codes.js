// The codes of a prize: how many there are, and files of them. No code is shown.

import { call, get, newKey, once, part } from "./api.js";
import { ask } from "./dialog.js";
import { count, fact, field, folded, h, table } from "./dom.js";
import { chosen, previewed } from "./preview.js";
import { mayAct } from "./state.js";
import { nodes, t } from "./text.js";

/**
 * Shows the counts of a prize's codes. An admin can import a file: first a preview is
 * shown, then the same content is imported once.
 */
export async function showCodes(at, prize) {
  const path = `admin/pools/${part(at.id)}/prizes/${part(prize.id)}/codes`;
  const counts = h("div", {}, countsOf(await get(path)));
  const refresh = async () => counts.replaceChildren(...countsOf(await get(path)));
  const form = mayAct() && at.pool.state !== "closed" && importForm(at, path, refresh);
  ask({
    title: t("codes.title", { prize: prize.name }), wide: true, no: t("codes.close"), yes: form && t("codes.import"),
    body: [counts, form?.elements].flat(),
    act: form?.act,
  });
}

function countsOf(codes) {
  const keys = Object.entries(codes.keys).map(([id, n]) => `${id}: ${count(n)}`).join(", ");
  return [
    table(t("codes.counts"), [`#${t("codes.codes")}`, `#${t("codes.stocked")}`, `#${t("codes.issued")}`, `#${t("codes.reserve")}`], [[count(codes.places), count(codes.stocked), count(codes.issued), count(codes.reserve)]]),
    h("p", { class: "quiet" }, t("codes.about")),
    keys && folded(h("dl", { class: "facts" }, fact(t("codes.keys"), keys))),
  ].filter(Boolean);
}

function importForm(at, path, refresh) {
  const file = h("input", { type: "file", accept: ".txt,.csv,text/plain,text/csv", required: true });
  const reserve = h("input", { type: "checkbox" }), skip = h("input", { type: "checkbox" });
  const query = (dry) => `${path}?reserve=${reserve.checked}&skip=${skip.checked}&dry_run=${dry}`;
  const preview = previewed(async () => {
    const body = await chosen(file, t("codes.tooLarge"));
    const { data } = await call("POST", query(true), { body, type: "text/plain" });
    const said = [t("codes.wouldAdd", { n: data.added }), data.skipped && t("codes.known", { n: data.skipped }), t("codes.nothingYet")];
    return { seen: { body, key: newKey() }, shows: [h("p", {}, said.filter(Boolean).join(" "))] };
  });
  for (const input of [file, reserve, skip]) input.addEventListener("change", preview.clear);
  return {
    elements: [
      field(t("codes.file"), file, t("codes.fileHint")),
      field(t("codes.intoReserve"), reserve, t("codes.intoReserveHint")), field(t("codes.passOver"), skip, t("codes.passOverHint")),
      preview.elements,
    ].flat(),
    async act() {
      const seen = preview.seen();
      if (!seen) {
        await preview.check();
        return false; // nothing is imported before its preview was shown
      }
      const { data } = await once(seen.key, "POST", query(false), { body: seen.body, type: "text/plain" });
      preview.show(
        h("p", { role: "status" }, [t("codes.added", { n: data.added }), t("codes.inReserve", { n: data.reserve })].join(" ")),
        h("p", {}, nodes("codes.salt", { salt: h("code", { class: "break" }, data.salt) })));
      await Promise.all([at.refresh(), refresh()]);
      return false; // the dialog stays open, because it shows the salt
    },
  };
}
