// One pool: its figures and charts, the actions on it, and its sections.

import { readFailedItems } from "./alerts.js";
import { get, part, send } from "./api.js";
import { agendaSection } from "./agenda.js";
import { noPlans, readPlans } from "./agendaread.js";
import { awardsSection } from "./awards.js";
import { calendarSection } from "./calendar.js";
import { chart } from "./chart.js";
import { ask, complain } from "./dialog.js";
import { button, folded, h, moment, pill, rate, say, sayNumber, table, useZone } from "./dom.js";
import { filesSection, reportSection } from "./files.js";
import { closedWhy, explainImpossible, impossible } from "./impossible.js";
import { lifeSection } from "./life.js";
import { logSection } from "./log.js";
import { moneyBox } from "./money.js";
import { history, lastHour } from "./past.js";
import { pauseNote, pausePool } from "./pause.js";
import { forecast } from "./pools.js";
import { addPrize, importFile, prizesTable } from "./prizes.js";
import { commitmentOf, openWithBeacon, proofSection } from "./proof.js";
import { readyBox } from "./ready.js";
import { rulesSection } from "./rules.js";
import { has, live, mayAct, mayStock, past, readPool, readsPools, watch } from "./state.js";
import { nodes, t } from "./text.js";
import { violationList } from "./violations.js";
import { browserZone } from "./words.js";

const sections = ["", "awards", "rules", "calendar", "agenda", "proof", "log", "files", "manage"];
const unlisted = ["report"]; // reached by a link in another section
const nameOf = (section) => t(`pool.section-${section || "stock"}`);
const ofFulfil = ["awards", "files"], ofAgenda = ["calendar", "agenda"];

export async function poolView(id, section, signal) {
  if (!readsPools()) section ||= "awards";
  if (![...sections, ...unlisted].includes(section) || !readsPools() && !ofFulfil.includes(section)) throw Object.assign(new Error(t("pool.none")), { title: t("pool.noneTitle") });
  const at = { id, signal, pool: await readPool(id) };
  const hasAgenda = readsPools() && (await has("/admin/pools/{pool}/agenda"));
  at.plans = hasAgenda ? await readPlans(at, signal) : noPlans;
  await readZone(at);
  at.commitment = await commitmentOf(at.pool, signal);
  const head = heading(at), box = readsPools() && moneyBox(at), ready = readyBox(at, section);
  const body = h("section", { class: "body", "aria-label": nameOf(section) });
  const nav = h("nav", { class: "sections", "aria-label": t("pool.sections") },
    sections.filter((key) => readsPools() ? (!ofAgenda.includes(key) || hasAgenda) && (key !== "manage" || mayAct()) : ofFulfil.includes(key)).map((key) =>
      h("a", { href: `#/pools/${part(id)}${key && `/${key}`}`, "aria-current": key === section && "page" }, nameOf(key))));
  const made = await ({ awards: awardsSection, rules: rulesSection, log: logSection, proof: proofSection, calendar: calendarSection, agenda: agendaSection, files: filesSection, report: reportSection, manage: lifeSection }[section] ?? stockSection)(at);
  body.append(...made.elements);
  const explained = explainImpossible(body, at);
  explainImpossible(head.element, at);
  let revision = null;
  const update = () => {
    body.dataset.pool = at.pool.state;
    head.set(at.pool);
    if (box) box.set(at.pool);
    ready.set(at.pool);
    made.set?.(at.pool);
    explained.set();
    if (at.zoneOf !== at.pool.rules) readZone(at);
    if (at.plans.isEmpty || revision === at.pool.revision) return;
    revision = at.pool.revision;
    readFailedItems(at.pool, signal).catch(() => {}); // they are read again at the next revision
  };
  follow(at, update);
  update();
  return [head.element, box && box.element, ready.element, nav, body].filter(Boolean);
}

/** Sets the time zone of the pool's times: the zone of its rules, or the browser's. */
async function readZone(at) {
  const version = at.pool.rules;
  // If this instance cannot read the rules, the rest of the pool is still shown.
  const ruling = version ? await get(`admin/pools/${part(at.id)}/rules?version=${version}`, { signal: at.signal }).catch(() => null) : null;
  const zone = ruling?.rules?.zone;
  if (at.signal.aborted) return;
  Object.assign(at, { zone: zone ?? browserZone(), zoneOf: version, isOwnZone: Boolean(zone) });
  useZone(at.zone);
}

const readEvery = 60_000; // while the page is visible: display texts change neither version nor revision

/**
 * Keeps at.pool up to date by the stream. If the stream does not show the pool
 * completely, it is read every few seconds. Once a minute it is read for the parts that
 * the stream never shows.
 */
function follow(at, update) {
  let asked = Date.now(), read = at.pool.version; // read is the version at which the pool was last read
  at.refresh = async () => {
    asked = Date.now();
    try {
      at.pool = await readPool(at.id);
      read = at.pool.version;
      at.commitment = await commitmentOf(at.pool, at.signal);
      if (!at.signal.aborted) update();
    } catch (problem) {
      complain(problem);
    }
  };
  at.recommit = async () => {
    at.commitment = await commitmentOf(at.pool, at.signal);
    if (!at.signal.aborted) update();
  };
  watch(() => {
    const now = live.pools.get(at.id), before = at.pool;
    if (now?.version < before.version && Date.now() - asked < 5000) return; // this frame is older than the pool that was read after an action
    if (now?.prizes) at.pool = { ...now, prizes: withKept(now.prizes, before.prizes), archived: false, opening: before.opening, text: before.text, fair: before.fair };
    else if (now) at.pool = { ...at.pool, ...now, prizes: at.pool.prizes };
    // The stream contains neither announced rounds nor commitments.
    const isCommitted = now?.committed && (now.revision !== before.revision || now.state === "paused" && now.version !== before.version);
    const isOld = now && document.visibilityState === "visible" && Date.now() - asked > readEvery;
    if (isOld || isCommitted || now?.prizes?.length > before.prizes.length || (!now?.prizes && now?.version !== read && Date.now() - asked > 5000)) at.refresh();
    update();
  }, at.signal);
}

/**
 * The prizes of the stream, with the members that the stream lacks: whether they have
 * codes, and their display texts.
 */
function withKept(prizes, before) {
  const kept = new Map(before.map((p) => [p.id, p]));
  return prizes.map((prize) => ({ ...prize, codes: Boolean(kept.get(prize.id)?.codes), display: kept.get(prize.id)?.display }));
}

function heading(at) {
  const name = h("h1", {}), state = h("span"), seal = h("a", { class: "pill seal", href: `#/pools/${part(at.id)}/proof` }, t("pool.verifiable")), facts = h("p", { class: "quiet" }), inner = h("span");
  const technical = folded(inner);
  technical.hidden = !readsPools();
  const actions = h("div", { class: "actions" });
  const pause = pauseNote(at);
  let offered = "";
  return {
    element: h("div", { class: "title" }, h("div", {}, h("p", { class: "crumbs" }, h("a", { href: "#/" }, t("pool.campaigns")), " / ", h("code", {}, at.id)), h("div", { class: "row" }, name, state, seal), facts, technical, pause.element), actions),
    set(pool) {
      say(name, pool.name);
      const word = t(`states.${pool.state}`);
      if (state.textContent !== word) state.replaceChildren(pill(word, pool.state));
      seal.hidden = !pool.committed;
      if (!readsPools()) return;
      say(facts, [...dates(at.plans.states, pool.state), pool.archived && t("states.archived"), t(at.isOwnZone ? "pool.zone" : "pool.browserZone", { zone: at.zone })].filter(Boolean).join(" · "));
      say(inner, t(pool.rules ? "pool.engineRules" : "pool.engine", { mode: pool.mode ?? t("pool.serviceMode"), version: pool.version, rules: pool.rules }));
      pause.set(pool).catch(complain);
      const now = `${pool.state} ${at.commitment?.level} ${Boolean(pool.opening)}`;
      if (offered === now) return;
      offered = now;
      actions.replaceChildren(...offers(at, pool).filter(Boolean));
    },
  };
}

/** Texts about when the planned states open and close the pool. */
function dates(planned, state) {
  const next = (to) => planned.find((item) => item.state === to && Date.parse(item.at) > Date.now());
  return [["open", "pool.opens"], ["closed", "pool.closes"]].map(([to, words]) => state !== to && state !== "closed" && next(to) && t(words, { at: moment(next(to).at) }));
}

/** The actions on a pool in its state. */
const offers = (at, pool) => [
  mayAct() && pool.state === "open" && button(t("pool.pause"), () => pausePool(at)),
  mayAct() && pool.state === "closed" && notPossible(t("pool.open")),
  mayAct() && pool.state === "paused" && button(t("pool.open"), () => at.commitment?.level === "beacon" ? openWithBeacon(at) : changeState(at, "open", t("pool.openTitle"), t("pool.openHint"), t("pool.openYes"))),
  mayAct() && pool.state !== "closed" && button(t("pool.close"), () => changeState(at, "closed", t("pool.closeTitle"), t("pool.closeHint"), t("pool.closeYes")), "danger"),
  button(t("pool.audit"), () => audit(at)),
];

/** A button for an action that is impossible because the pool is closed. */
function notPossible(text) {
  const by = button(text);
  impossible(by, closedWhy);
  return by;
}

function changeState(at, state, title, body, yes) {
  const revision = at.pool.revision;
  ask({
    title, yes, kind: state === "closed" ? "danger" : "", body: h("p", {}, body),
    async act() {
      await send("PATCH", `admin/pools/${part(at.id)}`, { state }, { "If-Match": `"${revision}"` });
      await at.refresh();
      return t("pool.changed", { state: t(`states.${state}`) });
    },
  });
}

/** Audits the pool, and shows the result. */
async function audit(at) {
  const place = h("div", { "aria-live": "polite" }, h("p", { class: "quiet" }, t("pool.auditReads")));
  const dialog = ask({ title: t("pool.audit"), body: place, no: t("pool.auditClose"), wide: true });
  try {
    const found = await get(`admin/pools/${part(at.id)}/audit`);
    const rows = found.prizes.map((p) => [h("code", {}, p.prize), number(p.stocked), number(p.issued), number(p.awards), number(p.remaining), number(p.over_issued)]);
    place.replaceChildren(
      h("p", { dataset: { ok: found.ok, version: found.version } }, nodes("pool.audited", { result: pill(t(found.ok ? "pool.allWell" : "pool.violated"), found.ok ? "open" : "bad"), version: found.version })),
      found.violations.length ? violationList(found.violations) : "",
      table(t("pool.prizes"), [t("pool.prize"), ...["pool.stocked", "pool.issued", "pool.awards", "pool.remaining", "pool.overIssued"].map((name) => `#${t(name)}`)], rows));
  } catch (problem) {
    dialog.close();
    complain(problem);
  }
}

/** The points before a time. The value at the end of them is kept until that time. */
function upTo(points, time) {
  const kept = points.filter((p) => p.at < time);
  return kept.length < points.length ? [...kept, { at: time - 1, y: points[kept.length].y }] : kept;
}

function number(n) {
  const element = h("span");
  sayNumber(element, n);
  return element;
}

/** The section with the figures, the charts and the prizes of a pool. */
async function stockSection(at) {
  const figure = (label, kind) => {
    const value = h("b", { dataset: { figure: kind } });
    return { element: h("div", {}, h("span", {}, label), value), value };
  };
  const remaining = figure(t("pool.remaining"), "remaining"), issued = figure(t("pool.issued"), "issued"), speed = figure(t("pool.speed"), "rate"), end = figure(t("pool.forecast"), "end");
  const stock = chart({ label: t("pool.remaining"), kind: "stock", close: true });
  const speeds = chart({ label: t("pool.speed"), kind: "rate", whole: false });
  const whole = chart({ label: t("pool.history"), kind: "whole" });
  const begun = { whole: [], rates: [], remaining: [] };
  const then = { ...at.pool };
  const from = Date.parse(live.at ?? new Date());
  Promise.all([history(then, at.signal), lastHour(then, from, at.signal)])
    .then(([whole, hour]) => Object.assign(begun, { whole }, hour)).catch(complain);
  const prizes = prizesTable(at);
  const spoken = h("p", { class: "unseen", "aria-live": "polite" });
  let said = 0;
  const actions = h("div", { class: "actions changes" }, mayAct() && button(t("pool.addPrize"), () => addPrize(at)), mayStock() && button(t("pool.importFile"), () => importFile(at)));
  return {
    elements: [
      h("div", { class: "figures" }, [remaining, issued, speed, end].map((f) => f.element)),
      h("div", { class: "charts" }, stock.element, speeds.element), whole.element,
      h("div", { class: "title" }, h("h2", {}, t("pool.prizes")), actions), prizes.element, spoken,
    ],
    set(pool) {
      sayNumber(remaining.value, pool.remaining);
      sayNumber(issued.value, pool.issued);
      say(speed.value, pool.rate === null ? "–" : rate(pool.rate));
      say(end.value, forecast(pool, at.plans.states));
      const points = past(at.id), joined = (before, y) => [...upTo(before, points[0]?.at ?? Infinity), ...points.map((p) => ({ at: p.at, y: p[y] }))];
      stock.set(joined(begun.remaining, "remaining"));
      speeds.set(joined(begun.rates, "rate"));
      whole.set([...begun.whole, { at: Date.parse(live.at ?? new Date()), y: pool.version }]);
      prizes.set(pool.prizes);
      if (Date.now() - said > 20000) {
        said = Date.now();
        say(spoken, t("pool.spoken", { left: pool.remaining, of: pool.stocked, forecast: forecast(pool, at.plans.states) }));
      }
    },
  };
}
