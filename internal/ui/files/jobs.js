// The jobs that run once in a fleet.

import { get, part, send } from "./api.js";
import { ask, complain } from "./dialog.js";
import { button, duration, fact, field, h, pill, table, time } from "./dom.js";
import { mayAct } from "./state.js";

/** What each job does, in words. */
const words = {
  audit: "Checks that every draw, every unit and every step is right.",
  statement: "Writes each day's report: what every prize has given, and what is left.",
  claims: "Ends wins that nobody claimed in time, and returns them to stock where the rules say so.",
  catalogue: "Fetches the descriptions of prizes.",
  hooks: "Sends what happens to the webhooks.",
};

export async function jobsView(signal) {
  const list = h("div");
  const read = async () => {
    const { jobs } = await get("admin/jobs", { signal });
    list.replaceChildren(...jobs.map((job) => card(job, read)));
  };
  await read();
  const timer = setInterval(() => read().catch(complain), 5000);
  signal.addEventListener("abort", () => clearInterval(timer));
  return [h("h1", {}, "Jobs"), h("p", { class: "quiet" }, "Each runs on one instance of the fleet at a time."), list];
}

function card(job, read) {
  return h("section", { class: "job", "aria-label": job.name, dataset: { job: job.name } },
    h("div", { class: "title" },
      h("div", { class: "row" }, h("h2", {}, job.name), pill(job.enabled ? job.status : "off", job.enabled ? (job.status === "running" ? "open" : "closed") : "paused"), job.requested && pill("requested", "paused")),
      h("div", { class: "actions" }, button("Runs", () => runs(job).catch(complain)),
        mayAct() && button("Run now…", () => run(job, read)),
        mayAct() && button("Schedule…", () => schedule(job, read)),
        mayAct() && button(job.enabled ? "Switch off…" : "Switch on…", () => turn(job, read)))),
    words[job.name] && h("p", {}, words[job.name]),
    h("dl", { class: "facts" },
      fact("Schedule", h("code", {}, job.schedule)), fact("Due", time(job.due_at)),
      fact("Last success", job.last_success ? time(job.last_success) : "never"),
      fact("Runs on", job.holder), fact("Pinned to", job.host),
      fact("Overdue", job.overdue_seconds > 0 && duration(job.overdue_seconds)),
      fact("Last error", job.last_error && h("span", { class: "break" }, job.last_error)),
      fact("Changed by", job.changed_by && h("span", {}, job.changed_by, ", ", time(job.changed_at)))));
}

function run(job, read) {
  ask({
    title: `Run ${job.name} now?`, yes: "Run", body: h("p", {}, "One instance begins within seconds."),
    async act() {
      await send("POST", `admin/jobs/${part(job.name)}/run`);
      await read();
      return `${job.name} was requested.`;
    },
  });
}

function schedule(job, read) {
  const when = h("input", { required: true, maxlength: 200, value: job.schedule, autocomplete: "off", spellcheck: "false", class: "code" });
  const host = h("input", { maxlength: 200, value: job.host ?? "", autocomplete: "off", spellcheck: "false" });
  ask({
    title: `Schedule of ${job.name}`, yes: "Set the schedule",
    body: [field("Schedule", when, "Such as every 6h, or five fields of cron, perhaps behind CRON_TZ=Europe/Berlin."), field("Host", host, "It then runs on that machine alone; empty for any.")],
    async act() {
      const change = { schedule: when.value.trim() };
      if (host.value.trim() !== (job.host ?? "")) change.host = host.value.trim() || null;
      await send("PATCH", `admin/jobs/${part(job.name)}`, change);
      await read();
      return `${job.name} runs ${change.schedule}.`;
    },
  });
}

function turn(job, read) {
  const to = !job.enabled;
  ask({
    title: `Switch ${job.name} ${to ? "on" : "off"}?`, yes: to ? "Switch on" : "Switch off",
    body: h("p", {}, to ? "It runs on its schedule again." : "It then runs only when somebody asks for a run."),
    async act() {
      await send("PATCH", `admin/jobs/${part(job.name)}`, { enabled: to });
      await read();
      return `${job.name} is ${to ? "on" : "off"}.`;
    },
  });
}

async function runs(job) {
  const { runs } = await get(`admin/jobs/${part(job.name)}/runs?limit=1000`);
  const rows = runs.slice(-50).reverse().map((r) => [time(r.started_at), r.finished_at ? time(r.finished_at) : "–", r.host, r.result ? pill(r.result, r.result === "ok" ? "open" : "bad") : pill("running", "paused"), h("span", { class: "break" }, r.error ?? r.asked_by ?? "")]);
  ask({ title: `Runs of ${job.name}`, no: "Close", wide: true, body: rows.length ? table("Runs", ["Begun", "Finished", "Host", "Result", "Error, or who asked"], rows) : h("p", {}, "None yet.") });
}
