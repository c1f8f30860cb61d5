// The steps until a campaign is ready, each with the place where it is done.

import { part } from "./api.js";
import { ask } from "./dialog.js";
import { button, copied, countOf, h, moment, pill, say } from "./dom.js";
import { readsPools, self } from "./state.js";

const kinds = { done: ["done", "open"], todo: ["to do", "paused"], choice: ["optional", "closed"] };

/** The steps of a pool that nobody has drawn from; set(pool) shows them as they are now. */
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
      say(summary, left ? `${countOf(left, "step")} until the campaign is ready` : `Ready: ${pool.state === "open" ? "players can draw" : `opens ${moment(next(at, "open").at)}`}`);
      list.replaceChildren(...all.map((step) => row(at, step)));
    },
  };
}

function row(at, step) {
  const place = step.section === undefined
    ? button("How…", tokenHelp, "small")
    : h("a", { href: `#/pools/${part(at.id)}${step.section && `/${step.section}`}` }, step.what);
  return h("li", { class: step.is === "done" && "done", dataset: { step: step.key } }, step.section === undefined ? h("b", {}, step.what) : place, pill(...kinds[step.is]), h("span", { class: "quiet" }, step.says), step.section === undefined && step.is !== "done" && place);
}

const isOpen = (item) => !item.hidden && item.done === null;

/** The next planned change of the pool to a state. */
function next(at, ...states) {
  return at.agenda.filter((item) => isOpen(item) && states.includes(item.state)).sort((a, b) => Date.parse(a.at) - Date.parse(b.at))[0];
}

/** The steps: what, whether it is done, to do or a choice, what there is, and the section where it is done. */
const steps = (at, pool) => [prizes(at, pool), rules(pool), dates(at, pool), fairness(pool), tokens()];

function prizes(at, pool) {
  const wins = pool.prizes.filter((p) => p.kind !== "blank"), units = wins.reduce((sum, p) => sum + (p.remaining ?? 0), 0);
  const comes = at.agenda.some((item) => item.hidden || isOpen(item) && (item.moment || item.delta > 0));
  const planned = comes ? ", and more by the agenda" : "";
  if (units > 0) return { key: "prizes", what: "Prizes", is: "done", says: `${countOf(wins.length, "prize")}, ${countOf(units, "unit")}${planned}`, section: "" };
  if (wins.length > 0 && comes) return { key: "prizes", what: "Prizes", is: "done", says: "all stock comes by the agenda", section: "" };
  return { key: "prizes", what: "Prizes", is: "todo", says: wins.length ? "no prize has any units" : "there is no prize", section: "" };
}

const rules = (pool) => (pool.rules
  ? { key: "rules", what: "Rules", is: "done", says: "rules are in force", section: "rules" }
  : { key: "rules", what: "Rules", is: "choice", says: "no rules: each draw takes one unit, and a user may draw any number of times", section: "rules" });

function dates(at, pool) {
  const opens = next(at, "open"), ends = next(at, "closed", "paused");
  const end = ends ? `${ends.state === "closed" ? "closes" : "pauses"} ${moment(ends.at)}` : "no end is planned";
  const step = { key: "dates", what: "Dates", section: "agenda" };
  if (pool.state === "open") return { ...step, is: "done", says: `open now; ${end}` };
  if (opens) return { ...step, is: "done", says: `opens ${moment(opens.at)}; ${end}` };
  return { ...step, is: "todo", says: "no opening is planned: plan one, or open the pool by hand" };
}

function fairness(pool) {
  const step = { key: "fairness", what: "Fairness", section: "proof" };
  if (pool.committed) return { ...step, is: "done", says: "the draws are committed and can be verified" };
  return { ...step, is: "choice", says: pool.state === "paused" ? "not provable; a pool is committed before it opens" : "not provable; only a paused pool can be committed" };
}

function tokens() {
  const step = { key: "tokens", what: "Access for your shop" };
  const says = { token: "a token of role draw is valid", anyone: "anybody may draw, without a token", nobody: "no token of role draw is valid: players cannot draw" };
  if (!says[self.draws]) return { ...step, is: "choice", says: "have your IT check that your shop has a token of role draw" };
  return { ...step, is: self.draws === "nobody" ? "todo" : "done", says: says[self.draws] };
}

/** How somebody with a shell makes a token of role draw. */
function tokenHelp() {
  const words = "drawsvc token new --name shop --role draw";
  ask({
    title: "A token for your shop", no: "Close",
    body: [
      h("p", {}, "Your shop draws with a token of role draw. IT makes one on the machine of the service, adds its entry to the file of tokens, and gives the token to the shop. Sign in again to see it here."),
      h("figure", { class: "paste" }, h("figcaption", {}, h("span", {}, "The command"), copied(words)), h("pre", { tabindex: "0" }, words)),
    ],
  });
}
