// The jobs that run once in a fleet.

import { get, part, send } from "./api.js";
import { ask, complain } from "./dialog.js";
import { button, duration, fact, field, folded, h, pill, table, time } from "./dom.js";
import { mayAct } from "./state.js";
import { isText, nodes, t } from "./text.js";

/** The name of a job for people. */
export const called = ({ name }) => (isText(`jobs.name-${name}`) ? t(`jobs.name-${name}`) : name);

/** Why a run failed, in words. The words of the service are folded. */
const failure = (code, text) => h("div", {}, t(isText(`jobs.why-${code}`) ? `jobs.why-${code}` : "jobs.why-internal"), text && folded(h("p", { class: "break" }, text)));

export async function jobsView(signal) {
  const list = h("div");
  const read = async () => {
    const { jobs } = await get("admin/jobs", { signal });
    const unfolded = [...list.querySelectorAll("details[open]")].map((e) => e.closest("[data-job]").dataset.job);
    list.replaceChildren(...jobs.map((job) => card(job, read)));
    unfolded.forEach((name) => list.querySelector(`[data-job="${name}"] details`)?.toggleAttribute("open", true));
  };
  await read();
  const timer = setInterval(() => read().catch(complain), 5000);
  signal.addEventListener("abort", () => clearInterval(timer));
  return [h("h1", {}, t("jobs.title")), h("p", { class: "quiet" }, t("jobs.about")), list];
}

function card(job, read) {
  return h("section", { class: "job", "aria-label": called(job), dataset: { job: job.name } },
    h("div", { class: "title" },
      h("div", { class: "row" }, h("h2", {}, called(job)), pill(job.enabled ? t(`jobs.is-${job.status}`) : t("jobs.off"), job.enabled ? (job.status === "running" ? "open" : "closed") : "paused"), job.requested && pill(t("jobs.requested"), "paused")),
      h("div", { class: "actions" }, button(t("jobs.runs"), () => runs(job).catch(complain)),
        mayAct() && button(t("jobs.runNow"), () => run(job, read)),
        mayAct() && button(t("jobs.schedule"), () => schedule(job, read)),
        mayAct() && button(job.enabled ? t("jobs.turnOff") : t("jobs.turnOn"), () => turn(job, read)))),
    isText(`jobs.does-${job.name}`) && h("p", {}, t(`jobs.does-${job.name}`)),
    h("dl", { class: "facts" },
      fact(t("jobs.technicalName"), called(job) !== job.name && h("code", {}, job.name)),
      fact(t("jobs.when"), h("code", {}, job.schedule)), fact(t("jobs.due"), time(job.due_at)),
      fact(t("jobs.lastSuccess"), job.last_success ? time(job.last_success) : t("jobs.never")),
      fact(t("jobs.holder"), job.holder), fact(t("jobs.host"), job.host),
      fact(t("jobs.overdue"), job.overdue_seconds > 0 && duration(job.overdue_seconds)),
      fact(t("jobs.lastError"), job.last_error && failure(job.last_error_code, job.last_error)),
      fact(t("jobs.changedBy"), job.changed_by && h("span", {}, nodes("jobs.changed", { who: job.changed_by, at: time(job.changed_at) })))));
}

function run(job, read) {
  ask({
    title: t("jobs.runTitle", { job: called(job) }), yes: t("jobs.runYes"), body: h("p", {}, t("jobs.runAbout")),
    async act() {
      await send("POST", `admin/jobs/${part(job.name)}/run`);
      await read();
      return t("jobs.wasRequested", { job: called(job) });
    },
  });
}

function schedule(job, read) {
  const when = h("input", { required: true, maxlength: 200, value: job.schedule, autocomplete: "off", spellcheck: "false", class: "code" });
  const host = h("input", { maxlength: 200, value: job.host ?? "", autocomplete: "off", spellcheck: "false" });
  ask({
    title: t("jobs.scheduleTitle", { job: called(job) }), yes: t("jobs.scheduleYes"),
    body: [field(t("jobs.when"), when, t("jobs.scheduleHint")), field(t("jobs.hostField"), host, t("jobs.hostHint"))],
    async act() {
      const change = { schedule: when.value.trim() };
      if (host.value.trim() !== (job.host ?? "")) change.host = host.value.trim() || null;
      await send("PATCH", `admin/jobs/${part(job.name)}`, change);
      await read();
      return t("jobs.runsOn", { job: called(job), schedule: change.schedule });
    },
  });
}

function turn(job, read) {
  const to = !job.enabled;
  ask({
    title: to ? t("jobs.onTitle", { job: called(job) }) : t("jobs.offTitle", { job: called(job) }), yes: to ? t("jobs.onYes") : t("jobs.offYes"),
    body: h("p", {}, to ? t("jobs.onAbout") : t("jobs.offAbout")),
    async act() {
      await send("PATCH", `admin/jobs/${part(job.name)}`, { enabled: to });
      await read();
      return to ? t("jobs.isOn", { job: called(job) }) : t("jobs.isOff", { job: called(job) });
    },
  });
}

async function runs(job) {
  const { runs } = await get(`admin/jobs/${part(job.name)}/runs?limit=1000`);
  const rows = runs.slice(-50).reverse().map((r) => [time(r.started_at), r.finished_at ? time(r.finished_at) : "–", r.host, r.result ? pill(t(`jobs.result-${r.result}`), r.result === "ok" ? "open" : "bad") : pill(t("jobs.is-running"), "paused"), r.error ? failure(r.error_code, r.error) : h("span", { class: "break" }, r.asked_by ?? "")]);
  const columns = [t("jobs.begun"), t("jobs.finished"), t("jobs.onHost"), t("jobs.result"), t("jobs.about2")];
  ask({ title: t("jobs.runsOf", { job: called(job) }), no: t("jobs.close"), wide: true, body: rows.length ? table(t("jobs.runs"), columns, rows) : h("p", {}, t("jobs.noRuns")) });
}
