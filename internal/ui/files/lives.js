// The awards of a pool in one state: who waits for a prize, and for how long. Selected
// awards can take a step together.

import { get, pages, part } from "./api.js";
import { showAward } from "./award.js";
import { complain } from "./dialog.js";
import { button, duration, h, say, table, time } from "./dom.js";
import { mayAct, mayShip } from "./state.js";
import { fulfil, reopen, voidAwards } from "./steps.js";
import { t } from "./text.js";

/** The states of an award. States in which somebody waits come first. */
export const states = ["claimed", "won", "fulfilled", "expired", "voided"];

const livesMax = 20000, pagesMax = 200, shownMax = 200, freshEvery = 5000;

/**
 * The list of the awards in a state. In states in which somebody waits, the oldest come
 * first, otherwise the newest.
 */
export function livesList(at, state) {
  const stop = new AbortController();
  const signal = AbortSignal.any([stop.signal, at.signal]);
  const note = h("p", { class: "quiet", role: "status", dataset: { list: state } }, t("lives.reading")), place = h("div"), chosen = new Set();
  const own = { lives: [], first: "", limit: shownMax, isWhole: true, asked: Date.now(), reading: null };
  const acts = actsOf(at, state, () => own.lives.filter((l) => chosen.has(l.version)), () => read());
  const tell = () => {
    const n = own.lives.length;
    const waits = n > 0 && (state === "claimed" || state === "won");
    say(note, [
      t("lives.count", { n, state: t(`award.is-${state}`) }), waits && t("lives.oldest", { age: duration(age(own.lives[0])) }),
      !own.isWhole && t("lives.more"), chosen.size > 0 && t("lives.chosen", { n: chosen.size }),
    ].filter(Boolean).join(" "));
    acts.set(chosen.size);
  };
  const draw = () => {
    const listed = new Set(own.lives.map((l) => l.version)), focused = place.contains(document.activeElement) && document.activeElement.ariaLabel;
    for (const version of chosen) if (!listed.has(version)) chosen.delete(version);
    const rows = own.lives.slice(0, own.limit), rest = own.lives.length - rows.length;
    place.replaceChildren(
      acts.isOffered && own.lives.length ? chooseAll(own, chosen, draw) : "",
      rows.length ? livesTable(at, state, rows, acts.isOffered && chosen, tell, read) : "",
      rest > 0 ? h("p", {}, button(t("lives.showAll", { n: own.lives.length }), () => { own.limit = Infinity; draw(); })) : "");
    if (focused) [...place.querySelectorAll("input")].find((input) => input.ariaLabel === focused)?.focus();
    tell();
  };
  const readAll = async () => {
    own.asked = Date.now();
    const { found, isWhole, first } = await readState(at, state, signal, (n) => say(note, t("lives.read", { n })));
    found.sort((a, b) => (state === "claimed" || state === "won" ? 1 : -1) * (Date.parse(a.since) - Date.parse(b.since) || a.version - b.version));
    Object.assign(own, { lives: found, isWhole, first, asked: Date.now() });
    draw();
  };
  // Only one reading runs at a time. A reading that began before an action may not show
  // its result, so another one follows.
  const read = async () => {
    while (own.reading) await own.reading;
    own.reading = readAll().catch((problem) => { if (!signal.aborted) complain(problem); }).finally(() => { own.reading = null; });
    return own.reading;
  };
  // Steps do not change the pool's version. So the first page of the list, which an index
  // finds, is read again and compared.
  const refresh = async () => {
    if (own.reading || !["claimed", "fulfilled"].includes(state) || Date.now() - own.asked < freshEvery) return;
    own.asked = Date.now();
    const { awards } = await get(pathOf(at, state), { signal });
    if (JSON.stringify(awards) !== own.first) await read();
  };
  const timer = setInterval(() => refresh().catch((problem) => { if (!signal.aborted) complain(problem); }), 1000);
  signal.addEventListener("abort", () => clearInterval(timer));
  read();
  return { elements: [note, acts.element, place], read, end: () => stop.abort(), set() {} };
}

const age = (life) => Math.max(0, (Date.now() - Date.parse(life.since)) / 1000);
const pathOf = (at, state) => `admin/pools/${part(at.id)}/awards?state=${state}&limit=1000`;

async function readState(at, state, signal, onRead) {
  const found = [];
  let isWhole = false, first = "";
  for await (const page of pages(pathOf(at, state), { signal, most: pagesMax })) {
    first ||= JSON.stringify(page.awards);
    found.push(...page.awards);
    isWhole = page.next === null;
    onRead(found.length);
    if (found.length >= livesMax) break;
  }
  return { found, first, isWhole };
}

function chooseAll(own, chosen, draw) {
  const all = h("input", { type: "checkbox", id: "choose-all" });
  all.checked = chosen.size > 0 && chosen.size === own.lives.length;
  all.addEventListener("change", () => {
    chosen.clear();
    if (all.checked) own.lives.forEach((l) => chosen.add(l.version));
    draw();
    document.getElementById("choose-all").focus();
  });
  return h("p", {}, h("label", { class: "check", for: "choose-all" }, all, ` ${t("lives.chooseAll", { n: own.lives.length })}`));
}

function livesTable(at, state, rows, chosen, tell, read) {
  const box = (l) => {
    const input = h("input", { type: "checkbox", "aria-label": t("lives.chooseOne", { name: l.name, user: l.user, version: l.version }) });
    input.checked = chosen.has(l.version);
    input.addEventListener("change", () => {
      if (input.checked) chosen.add(l.version);
      else chosen.delete(l.version);
      tell();
    });
    return input;
  };
  const columns = [chosen && t("lives.choose"), t("lives.age"), t("lives.since"), t("lives.user"), t("lives.prize"), state === "fulfilled" && t("lives.reference"), t("lives.acts")].filter(Boolean);
  return table(t("lives.caption", { state: t(`award.is-${state}`) }), columns, rows.map((l) => [
    chosen && box(l), duration(age(l)), time(l.since), h("span", { class: "break" }, l.user), l.name, state === "fulfilled" && h("span", { class: "break" }, l.reference || "–"),
    button(t("lives.details"), () => showAward(at, l.version, read).catch(complain), "small"),
  ].filter((cell) => cell !== false)));
}

/** The actions on selected awards that their state and the user's role allow. */
function actsOf(at, state, chosenOnes, after) {
  const act = (text, does, kind) => button(text, () => does(at, chosenOnes(), after), kind);
  const isOpen = ["won", "claimed", "fulfilled"].includes(state);
  const buttons = [
    mayShip() && isOpen && act(state === "fulfilled" ? t("award.correct") : t("award.fulfil"), fulfil),
    mayAct() && state === "fulfilled" && act(t("award.reopen"), reopen),
    mayAct() && isOpen && act(t("award.void"), voidAwards, "danger"),
  ].filter(Boolean);
  return {
    element: h("div", { class: "actions" }, buttons), isOffered: buttons.length > 0,
    set: (n) => buttons.forEach((b) => { b.disabled = n === 0; }),
  };
}
