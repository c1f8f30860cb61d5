// The steps until a campaign is ready, each with a link to its section.

import { part } from "./api.js";
import { ask } from "./dialog.js";
import { button, copied, h, moment, pill, say } from "./dom.js";
import { readsPools, self } from "./state.js";
import { t } from "./text.js";

const colours = { done: "open", todo: "paused", choice: "closed" };

/** The box with the steps of a pool from which nobody has drawn. set(pool) updates it. */
export function readyBox(at, section) {
  const summary = h("summary", {}), list = h("ol");
  const element = h("details", { class: "ready", open: section === "", hidden: true }, summary, list);
  let shown = "";
  return {
    element,
    set(pool) {
      element.hidden = !readsPools() || pool.awards > 0 || pool.state === "closed";
      if (element.hidden) return;
      const all = steps(at, pool), text = JSON.stringify(all);
      if (text === shown) return;
      shown = text;
      const left = all.filter((step) => step.is === "todo").length;
      element.dataset.left = left;
      say(summary, left ? t("ready.left", { n: left }) : pool.state === "open" ? t("ready.open") : t("ready.opens", { at: moment(next(at, "open").at) }));
      list.replaceChildren(...all.map((step) => row(at, step)));
    },
  };
}

function row(at, step) {
  const place = step.section === undefined
    ? button(t("ready.how"), tokenHelp, "small")
    : h("a", { href: `#/pools/${part(at.id)}${step.section && `/${step.section}`}` }, step.what);
  return h("li", { class: step.is === "done" && "done", dataset: { step: step.key } }, step.section === undefined ? h("b", {}, step.what) : place, pill(t(`ready.is-${step.is}`), colours[step.is]), h("span", { class: "quiet" }, step.says), step.section === undefined && step.is !== "done" && place);
}

/** The next planned change of the pool to one of the states. */
const next = (at, ...states) => at.plans.states.find((item) => states.includes(item.state));

/**
 * The steps. Each has a name, says whether it is done, still to do or optional, describes
 * the present state, and names its section.
 */
const steps = (at, pool) => [prizes(at, pool), rules(pool), dates(at, pool), fairness(pool), tokens()];

function prizes(at, pool) {
  const wins = pool.prizes.filter((p) => p.kind !== "blank"), units = wins.reduce((sum, p) => sum + (p.remaining ?? 0), 0);
  const step = { key: "prizes", what: t("ready.prizes"), section: "" };
  if (units > 0) return { ...step, is: "done", says: t(at.plans.addsUnits ? "ready.stockAndMore" : "ready.stock", { prizes: t("ready.prizeCount", { n: wins.length }), units: t("ready.unitCount", { n: units }) }) };
  if (wins.length > 0 && at.plans.addsUnits) return { ...step, is: "done", says: t("ready.stockComes") };
  return { ...step, is: "todo", says: t(wins.length ? "ready.noUnits" : "ready.noPrize") };
}

const rules = (pool) => ({ key: "rules", what: t("ready.rules"), section: "rules", ...(pool.rules ? { is: "done", says: t("ready.hasRules") } : { is: "choice", says: t("ready.noRules") }) });

function dates(at, pool) {
  const opens = next(at, "open"), ends = next(at, "closed", "paused");
  const end = ends ? t(ends.state === "closed" ? "ready.closes" : "ready.pauses", { at: moment(ends.at) }) : t("ready.noEnd");
  const step = { key: "dates", what: t("ready.dates"), section: "agenda" };
  if (pool.state === "open") return { ...step, is: "done", says: t("ready.isOpen", { end }) };
  if (opens) return { ...step, is: "done", says: t("ready.willOpen", { at: moment(opens.at), end }) };
  return { ...step, is: "todo", says: t("ready.noOpening") };
}

function fairness(pool) {
  const step = { key: "fairness", what: t("ready.fairness"), section: "proof" };
  if (pool.committed) return { ...step, is: "done", says: t("ready.proven") };
  return { ...step, is: "choice", says: t(pool.state === "paused" ? "ready.notProven" : "ready.notPaused") };
}

function tokens() {
  const step = { key: "tokens", what: t("ready.access") };
  const says = { token: "ready.token", anyone: "ready.anyone", nobody: "ready.nobody" }[self.draws];
  return { ...step, is: !says ? "choice" : self.draws === "nobody" ? "todo" : "done", says: t(says ?? "ready.unknown") };
}

/** Shows how to create a token of role draw with a shell. */
function tokenHelp() {
  const words = "drawsvc token new --name shop --role draw";
  ask({
    title: t("ready.keyTitle"), no: t("ready.close"),
    body: [
      h("p", {}, t("ready.keyHint")),
      h("figure", { class: "paste" }, h("figcaption", {}, h("span", {}, t("ready.command")), copied(words)), h("pre", { tabindex: "0" }, words)),
    ],
  });
}
