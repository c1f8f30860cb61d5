// The codes of a prize: how many there are, and files of them. No code is shown.

import { call, get, newKey, once, part } from "./api.js";
import { ask } from "./dialog.js";
import { count, field, h, table } from "./dom.js";
import { chosen, previewed } from "./preview.js";
import { mayAct } from "./state.js";

/** Shows the counts of a prize's codes; an admin imports a file: first what it would do, then, of the same content, once. */
export async function showCodes(at, prize) {
  const path = `admin/pools/${part(at.id)}/prizes/${part(prize.id)}/codes`;
  const counts = h("div", {}, countsOf(await get(path)));
  const refresh = async () => counts.replaceChildren(...countsOf(await get(path)));
  const form = mayAct() && at.pool.state !== "closed" && importForm(at, path, refresh);
  ask({
    title: `Codes of ${prize.name}`, wide: true, no: "Close", yes: form && "Import",
    body: [counts, form?.elements].flat(),
    act: form?.act,
  });
}

function countsOf(codes) {
  const keys = Object.entries(codes.keys).map(([id, n]) => `${id}: ${count(n)}`).join(", ");
  return [
    table("How many codes there are", ["#Codes", "#Stocked", "#Issued", "#Reserve", "Seal keys"], [[count(codes.places), count(codes.stocked), count(codes.issued), count(codes.reserve), keys || "–"]]),
    h("p", { class: "quiet" }, "Unit k of the prize has the code of line k. The reserve is codes without a unit: Stock… makes units of them."),
  ];
}

function importForm(at, path, refresh) {
  const file = h("input", { type: "file", accept: ".txt,.csv,text/plain,text/csv", required: true });
  const reserve = h("input", { type: "checkbox" }), skip = h("input", { type: "checkbox" });
  const query = (dry) => `${path}?reserve=${reserve.checked}&skip=${skip.checked}&dry_run=${dry}`;
  const preview = previewed(async () => {
    const body = await chosen(file, "use drawsvc codes import");
    const { data } = await call("POST", query(true), { body, type: "text/plain" });
    const skipped = data.skipped ? ` ${count(data.skipped)} are known already, and are passed over.` : "";
    return { seen: { body, key: newKey() }, shows: [h("p", {}, `${count(data.added)} codes would be added.${skipped} Nothing is written yet.`)] };
  });
  for (const input of [file, reserve, skip]) input.addEventListener("change", preview.clear);
  return {
    elements: [
      field("File", file, "One code on each line, at most 8 MiB. It is sent to the service, and not shown here."),
      field("Into the reserve only", reserve, "Adds no stock: an agenda or Stock… adds it later."), field("Pass over known codes", skip, "Otherwise a code that the database has already refuses the file."),
      preview.elements,
    ].flat(),
    async act() {
      const seen = preview.seen();
      if (!seen) {
        await preview.check();
        return false; // what is imported was seen before
      }
      const { data } = await once(seen.key, "POST", query(false), { body: seen.body, type: "text/plain" });
      preview.show(
        h("p", { role: "status" }, `${count(data.added)} codes were added. ${count(data.reserve)} are in the reserve.`),
        h("p", {}, "Keep this salt with the file. It proves later that the list was not exchanged, and it is shown only now: ", h("code", { class: "break" }, data.salt)));
      await Promise.all([at.refresh(), refresh()]);
      return false; // the dialog stays, for the salt
    },
  };
}
