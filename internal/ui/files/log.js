// The history of a pool: who did what.

import { planWords, whyFailed } from "./agenda.js";
import { get, part } from "./api.js";
import { complain } from "./dialog.js";
import { button, count, folded, h, moment, pill, table, time } from "./dom.js";
import { prizeWords } from "./rulesfields.js";
import { isText, nodes, t } from "./text.js";
import { money } from "./words.js";

const pageMax = 200;
const signed = (n) => `${n > 0 ? "+" : ""}${count(n)}`;

export async function logSection(at) {
  const place = h("div");
  const only = h("input", { type: "checkbox", id: "only", checked: true });
  let before = null; // the next page ends at this version; null means the newest
  const older = button(t("log.older"), () => read().catch(complain));
  const read = async () => {
    const { entries, from } = await last(at, only.checked, before ?? at.pool.version);
    place.replaceChildren(entries.length ? logTable(at, entries) : h("p", { class: "quiet" }, t("log.nothing")));
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

function logTable(at, entries) {
  return table(t("log.title"), [t("log.when"), t("log.who"), t("log.what"), `#${t("log.entry")}`], entries.map((e) => [time(e.at), h("span", { class: "break" }, e.kind === "award" ? e.user : e.actor || "–"), what(at, e), count(e.version)]));
}

/** What an entry says, in words. */
function what(at, e) {
  if (e.kind === "award") return h("span", {}, pill(t("log.award"), "closed"), " ", drawn(e));
  if (e.kind === "move") return h("span", {}, pill(t("log.move"), "paused"), " ", moved(e));
  const said = e.what !== "rules" && Object.entries(e.body ?? {}).filter(([, value]) => value !== null).map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`).join(", ");
  return h("div", {}, pill(t(isText(`log.what-${e.what}`) ? `log.what-${e.what}` : "log.what-other"), "open"), " ", h("span", { class: "break" }, changed[e.what]?.(e.body ?? {}, at) ?? ""), said && folded(h("code", { class: "break" }, said)));
}

/** What a change says, by its kind. What has no words stands in its folded members. */
const changed = {
  created: ({ name, state }) => t("log.named", { name, state: t(`states.${state}`) }),
  state: ({ state, reason, notice }) => [t(`states.${state}`), reason && t("pause.because", { reason }), notice && t("pause.players", { notice })].filter(Boolean).join(". "),
  mode: ({ mode }) => mode ?? t("pool.serviceMode"),
  name: ({ name }) => name,
  archived: ({ archived }) => t(archived ? "log.isArchived" : "log.isShown"),
  prize: ({ prize, name, value, was = {} }, at) => [
    prize, name !== undefined && t("log.becomes", { was: was.name ?? "", is: name }),
    value !== undefined && t("log.becomes", { was: money(was.value ?? 0, at.pool.currency), is: money(value, at.pool.currency) }),
  ].filter(Boolean).join(": "),
  rules: ({ rules }) => t(rules ? "log.inForce" : "log.removed"),
  agenda: planned,
  commit: () => t("log.isCommitted"),
  opening: ({ round }) => t("log.round", { round: String(round) }),
  skip: () => t("log.isSkipped"),
  "user-forgotten": ({ awards }) => t("life.erased", { n: awards }),
  codes: ({ prize, count: n, dropped }) => (dropped === undefined ? t("log.codesAdded", { n, prize }) : t("log.codesDropped", { n: dropped, prize })),
};

/** What was planned, removed or not possible. */
function planned(body, at) {
  if (body.failed) return whyFailed(body);
  if (body.removed) return t("log.unplanned", { n: body.count ?? 1 });
  if (body.count !== undefined) return t("log.planned", { n: body.count });
  const names = prizeWords(at);
  return t("agenda.removeWhat", { what: planWords((id) => names[id] ?? id, body), at: moment(body.at) });
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
