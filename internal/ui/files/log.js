// The history of a pool: who did what.

import { get, part } from "./api.js";
import { complain } from "./dialog.js";
import { button, count, h, pill, table, time } from "./dom.js";
import { isText, nodes, t } from "./text.js";

const pageMax = 200;
const signed = (n) => `${n > 0 ? "+" : ""}${count(n)}`;

export async function logSection(at) {
  const place = h("div");
  const only = h("input", { type: "checkbox", id: "only", checked: true });
  let before = null; // the next page ends at this version; null means the newest
  const older = button(t("log.older"), () => read().catch(complain));
  const read = async () => {
    const { entries, from } = await last(at, only.checked, before ?? at.pool.version);
    place.replaceChildren(entries.length ? logTable(entries) : h("p", { class: "quiet" }, t("log.nothing")));
    before = from;
    older.hidden = from === 0;
  };
  const again = () => { before = null; return read().catch(complain); };
  only.addEventListener("change", again);
  await read();
  return {
    elements: [h("div", { class: "title" }, h("h2", {}, t("log.title")), h("div", { class: "actions" }, h("label", { class: "check", for: "only" }, only, ` ${t("log.only")}`), button(t("log.newest"), again), older)), place],
  };
}

/** Returns the last entries up to a version, newest first. from is the version before the oldest of them. */
export async function last(at, acts, to) {
  const page = (after) => get(`admin/pools/${part(at.id)}/log?after=${after}&limit=1000${acts ? "&acts=true" : ""}`, { signal: at.signal });
  // Pages begin after a version. So reading begins ever further back, until there are
  // enough entries.
  for (let reach = pageMax; ; reach *= acts ? 32 : 2) {
    const after = Math.max(0, to - reach);
    const found = await page(after);
    const within = found.entries.filter((e) => e.version <= to);
    const isWhole = found.next === null || found.next >= to;
    if (!isWhole || within.length >= pageMax || after === 0) {
      const whole = isWhole ? within : await forward(page, found, to);
      const entries = whole.slice(-pageMax).reverse();
      return { entries, from: entries.length === pageMax ? entries.at(-1).version - 1 : after };
    }
  }
}

/** Reads on from a page up to a version, at most twenty pages. Returns the last entries. */
async function forward(page, found, to) {
  let kept = found.entries;
  for (let pages = 0; found.next !== null && found.next < to && pages < 20; pages++) {
    found = await page(found.next);
    kept = [...kept, ...found.entries.filter((e) => e.version <= to)].slice(-pageMax);
  }
  return kept;
}

function logTable(entries) {
  return table(t("log.title"), [t("log.when"), t("log.who"), t("log.what"), `#${t("log.entry")}`], entries.map((e) => [time(e.at), h("span", { class: "break" }, e.kind === "award" ? e.user : e.actor || "–"), what(e), count(e.version)]));
}

/** An entry in words. */
function what(e) {
  if (e.kind === "award") return h("span", {}, pill(t("log.award"), "closed"), " ", drawn(e));
  if (e.kind === "move") return h("span", {}, pill(t("log.move"), "paused"), " ", moved(e));
  const body = e.what === "rules" ? (e.body.rules ? t("log.inForce") : t("log.removed")) : h("code", { class: "break" }, Object.entries(e.body ?? {}).filter(([, value]) => value !== null).map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`).join(", "));
  return h("span", {}, pill(isText(`log.what-${e.what}`) ? t(`log.what-${e.what}`) : e.what, "open"), " ", body);
}

function drawn(e) {
  const holes = { unit: e.unit, name: e.name, draw: h("code", { class: "break" }, e.draw) };
  if (e.redirect) Object.assign(holes, { prize: e.redirect.drawn ?? t("log.noPrize"), why: t(`log.why-${e.redirect.why}`) });
  return nodes(e.redirect ? "log.redirected" : "log.drawn", holes);
}

function moved(e) {
  const holes = { units: e.delta === null ? t("log.endless") : signed(e.delta), prize: h("code", {}, e.prize), reason: h("span", { class: "break" }, isText(`log.reason-${e.reason}`) ? t(`log.reason-${e.reason}`) : e.reason) };
  if (e.stocked !== null) holes.stocked = e.stocked;
  return nodes(e.stocked === null ? "log.moved" : "log.movedTo", holes);
}
