// The banner above every view with what needs attention: spent budgets, low stock,
// planned items that failed, audits that found something, late jobs.

import { get, part, pause } from "./api.js";
import { button, duration, folded, h, moment } from "./dom.js";
import { called } from "./jobs.js";
import { last } from "./log.js";
import { nothingToWin } from "./money.js";
import { live, readsPools, watch } from "./state.js";
import { sentenceOf, t } from "./text.js";
import { brokenRule, ruleOf } from "./violations.js";

const jobsEvery = 60_000; // while the page is visible
const lateAfter = 600; // seconds, as in the alert rules of Prometheus
const failedFor = 7 * 86_400_000, failedMax = 3; // per pool: for how long failed items are shown, in ms, and how many
const shownMax = 5;
const key = "drawsvc-dismissed";

/** The warnings that do not come from the stream: about jobs, and about the agendas of pools, by the pool's id. */
const known = { jobs: [], agenda: new Map() };
const changed = new EventTarget();

/**
 * The keys of dismissed warnings. A key is removed when the state that caused it ends, so
 * that the next warning is shown.
 */
const dismissed = {
  all: () => new Set(JSON.parse(sessionStorage.getItem(key) ?? "[]")),
  set: (keys) => sessionStorage.setItem(key, JSON.stringify([...keys])),
};

const ofPool = (id) => `#/pools/${part(id)}`;

/** The warnings from the stream. A used-up budget is left out in the pool's own view, which shows it in red. */
function ofStream() {
  const warnings = [];
  for (const pool of live.pools.values()) {
    const isShown = location.hash.startsWith(ofPool(pool.id)) && /^(\/|$)/.test(location.hash.slice(ofPool(pool.id).length));
    if (pool.nothing?.why === "budget" && !isShown) warnings.push({ key: `budget ${pool.id} ${pool.nothing.since ?? ""}`, pool, text: nothingToWin(pool), href: ofPool(pool.id) });
    for (const low of pool.low ?? []) {
      const name = pool.prizes?.find((prize) => prize.id === low.prize)?.name ?? low.prize;
      const text = low.remaining === 0 ? t("alerts.empty", { name }) : t("alerts.low", { name, n: low.remaining });
      warnings.push({ key: `${low.remaining === 0 ? "empty" : "low"} ${pool.id} ${low.prize}`, pool, text, href: ofPool(pool.id) });
    }
  }
  return warnings;
}

/** Reads which planned items of a pool failed recently. Callers call it when the pool has a new revision. */
export async function readFailedItems(pool, signal) {
  const since = Date.now() - failedFor;
  const { entries } = await last({ id: pool.id, signal }, true, pool.version);
  const failed = entries.filter((entry) => entry.what === "agenda" && entry.body.failed && Date.parse(entry.at) > since).slice(0, failedMax);
  known.agenda.set(pool.id, failed.map((entry) => ({
    key: `agenda ${pool.id} ${entry.version}`, pool, text: t("alerts.failed", { at: moment(entry.at), why: sentenceOf({ code: entry.body.failed, message: entry.body.failed }) }), said: entry.body.detail, href: `${ofPool(pool.id)}/agenda`,
  })));
  changed.dispatchEvent(new Event("change"));
}

/** Reads the jobs, and the report of the last audit if there was a new audit. */
async function readJobs(seen, signal) {
  const { jobs } = await get("admin/jobs", { signal });
  const warnings = jobs.filter((job) => job.enabled && job.overdue_seconds > lateAfter)
    .map((job) => ({ key: `late ${job.name} ${job.due_at}`, text: t("alerts.late", { job: called(job), by: duration(job.overdue_seconds) }), href: "#/jobs" }));
  const audit = jobs.find((job) => job.name === "audit");
  if (audit && audit.status !== "running" && seen.token !== audit.token) Object.assign(seen, { token: audit.token, report: (await get("admin/jobs/audit", { signal })).report });
  if (audit?.last_error) warnings.push({ key: `audit failed ${audit.token}`, text: t("alerts.noAudit"), said: audit.last_error, href: "#/jobs" });
  for (const broken of seen.report?.ok === false ? seen.report.broken ?? [] : []) {
    warnings.push({ key: `audit ${broken.pool} ${broken.first}`, pool: live.pools.get(broken.pool) ?? { name: broken.pool }, text: t("alerts.audit", { n: broken.violations, first: brokenRule(ruleOf(broken.first)) }), said: broken.first, href: ofPool(broken.pool) });
  }
  known.jobs = warnings;
}

/** Returns the banner, which is updated until signal aborts. */
export function banner(signal) {
  const list = h("ul"), more = h("p", { class: "quiet", hidden: true });
  const element = h("section", { class: "alerts", "aria-label": t("alerts.title"), hidden: true }, list, more);
  const region = h("div", { role: "status", "aria-live": "polite" }, element);
  let shown = "";
  const update = () => {
    const all = [...ofStream(), ...known.agenda.values(), ...known.jobs].flat();
    const keys = new Set(all.map((warning) => warning.key)), put = dismissed.all();
    const isKnown = live.at !== null; // before the first frame it is not known which states have ended
    const stays = [...put].filter((k) => keys.has(k) || !isKnown || !/^(budget|low|empty) /.test(k));
    if (stays.length !== put.size) dismissed.set(stays);
    const open = all.filter((warning) => !put.has(warning.key));
    const text = JSON.stringify(open.map(({ key, pool, text }) => [key, pool?.name, text]));
    if (text === shown) return;
    shown = text;
    element.hidden = open.length === 0;
    list.replaceChildren(...open.slice(0, shownMax).map((warning) => line(warning, update)));
    more.hidden = open.length <= shownMax;
    more.textContent = t("alerts.more", { n: open.length - shownMax });
  };
  watch(update, signal);
  changed.addEventListener("change", update, { signal });
  addEventListener("hashchange", update, { signal });
  if (readsPools()) poll(signal, update);
  return region;
}

function line(warning, update) {
  const dismiss = button(t("alerts.dismiss"), () => {
    dismissed.set(new Set([...dismissed.all(), warning.key]));
    update();
  }, "small");
  return h("li", {}, h("div", {}, h("span", { class: "break" }, warning.pool && h("b", {}, `${warning.pool.name}: `), h("a", { href: warning.href }, warning.text)), warning.said && folded(h("p", { class: "break" }, warning.said))), dismiss);
}

/** Reads the jobs once a minute, while the page is visible. */
async function poll(signal, update) {
  const seen = { token: null, report: null };
  known.jobs = [];
  known.agenda.clear();
  while (!signal.aborted) {
    if (document.visibilityState === "visible") {
      try {
        await readJobs(seen, signal);
        update();
      } catch {
        // The header of the page shows that the service does not answer. The next reading
        // tries again.
      }
    }
    await pause(jobsEvery * (0.8 + 0.4 * Math.random()));
  }
}
