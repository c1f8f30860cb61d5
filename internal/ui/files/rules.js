// The rules of a pool: what they mean, the odds of the next draw, and a simulation.

import { get, part, send } from "./api.js";
import { ask, problemText } from "./dialog.js";
import { bar, button, count, h, pill, table, time } from "./dom.js";
import { editRules, meaning } from "./rulesdialog.js";
import { simulationForm } from "./simulation.js";
import { mayAct } from "./state.js";

export async function rulesSection(at) {
  const current = h("div"), odds = h("div", { "aria-live": "polite" }), result = h("div", { class: "step", "aria-live": "polite" });
  const own = { version: 0, document: null, actor: "", at: "" };
  const path = `admin/pools/${part(at.id)}/rules`, simulated = simulationForm(at, own, result);

  const read = async () => {
    const rules = at.pool.rules ? await get(path, { signal: at.signal }) : null;
    Object.assign(own, { version: rules?.version ?? 0, document: rules?.rules ?? null, actor: rules?.actor, at: rules?.at });
    current.replaceChildren(...(rules?.rules
      ? [h("p", { class: "quiet" }, `By ${rules.actor}, `, time(rules.at)), rules.words && meaning(rules.words),
        h("details", {}, h("summary", {}, `The document, version ${count(rules.version)}`), h("pre", { tabindex: "0" }, JSON.stringify(rules.rules, null, 2)))].filter(Boolean)
      : [h("p", {}, "No rules: each draw takes one unit, at random: every unit that remains is equally likely.")]));
    offer();
    simulated.preset();
    odds.replaceChildren(...oddsOf(await get(`admin/pools/${part(at.id)}/odds`, { signal: at.signal }), at.pool, own));
  };
  const drop = mayAct() && button("Remove them…", () => remove(at, path, own, read), "danger");
  const change = h("div", { class: "actions changes" }, mayAct() && button("Change the rules…", () => editRules(at, path, own, read)), drop);
  const final = h("span", { class: "quiet", hidden: true }, "The pool is closed: its rules stay as they are."); // in place of what is offered before
  const offer = () => {
    final.hidden = !mayAct() || at.pool.state !== "closed";
    if (drop) drop.hidden = !own.document;
  };

  const user = h("input", { type: "search", maxlength: 128, required: true, autocomplete: "off", placeholder: "user", "aria-label": "User whose odds to show" });
  const ofUser = h("form", { class: "row" }, user, h("button", { type: "submit" }, "Odds of a user"));
  ofUser.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      odds.replaceChildren(h("p", {}, "For ", h("q", {}, user.value), ", now:"), ...oddsOf(await get(`admin/pools/${part(at.id)}/odds?user=${part(user.value.trim())}`), at.pool, own));
    } catch (problem) {
      odds.replaceChildren(h("div", { class: "error" }, problemText(problem)));
    }
  });

  await read();
  const shownOf = (pool) => `${pool.rules} ${pool.state}`;
  let seen = shownOf(at.pool);
  return {
    elements: [
      h("div", { class: "title" }, h("h2", {}, "Rules in force"), change, final), current,
      h("div", { class: "title" }, h("h2", {}, "Odds of the next draw"), ofUser), odds,
      h("h2", {}, "Simulation"), simulated.element, result,
    ],
    set(pool) {
      if (shownOf(pool) === seen) return;
      seen = shownOf(pool);
      read().catch(() => {});
    },
  };
}

/** A fraction as a percentage, from its exact text. */
function percent(fraction) {
  const [above, below = "1"] = fraction.split("/");
  const digits = 8n;
  const parts = (BigInt(above) * 10n ** (digits + 2n)) / BigInt(below);
  return Number(parts) / 10 ** Number(digits);
}

const shownPercent = (n) => `${n.toPrecision(4).replace(/\.?0+$/, "")} %`;
const shown = (fraction) => shownPercent(percent(fraction));

/** How many draws win, in words: one in so many where that is a whole number. */
function chanceOfDraws(win, now) {
  const every = 100 / win;
  return every < 1e6 && Math.abs(every - Math.round(every)) < 1e-6 * every ? (Math.round(every) === 1 ? `Every draw wins${now}.` : `1 draw in ${count(Math.round(every))} wins${now}.`) : `A draw wins with ${shownPercent(win)}${now}.`;
}

const unlessOpen = { paused: "Nobody can draw while the pool is paused. Opened as it is: ", closed: "The pool is closed: nobody can draw. As it was closed: " };

function oddsOf(found, pool, own) {
  if (found.refused) return [h("p", {}, pill("refused", "paused"), ` ${found.detail}`)];
  const names = new Map(pool.prizes.map((p) => [p.id, p.name]));
  const row = (name, id, chance) => {
    const share = bar(name);
    share.set(percent(chance), 100);
    share.element.classList.remove("low");
    return [h("span", {}, h("b", {}, name), " ", id && h("code", {}, id)), share.element, shown(chance), h("code", {}, chance)];
  };
  const rows = found.odds.slice(0, 200).map((c) => row(names.get(c.prize) ?? c.prize, c.prize, c.chance));
  if (percent(found.none) > 0) rows.push(row(names.get(own.document?.fallback) ?? "no prize", own.document?.fallback, found.none));
  const g = found.guarantee;
  const losing = new Set(pool.prizes.filter((p) => p.kind === "blank").map((p) => p.id));
  const lost = found.odds.filter((c) => losing.has(c.prize)).reduce((sum, c) => sum + percent(c.chance), percent(found.none));
  const isLost = !found.odds.some((c) => !losing.has(c.prize) && percent(c.chance) > 0), before = unlessOpen[pool.state] ?? "";
  const chance = isLost ? h("strong", { class: "bad" }, "Nothing can be won now.") : before + chanceOfDraws(100 - lost, before ? "" : " now");
  return [
    h("p", { class: "quiet" }, chance, g && ` After ${count(g.after)} misses ${names.get(g.prize) ?? g.prize} is guaranteed${g.rate ? `; ${shown(g.rate)} of many draws of one user win` : ""}.`),
    table("Odds", ["Prize", "Share", "#Chance", "#Exactly"], rows),
    h("details", {}, h("summary", {}, "Technical"), h("p", {}, `Law of ${found.law === "fixed" ? "fixed odds" : "stock"} at version ${count(found.version)}.`)),
  ];
}

function remove(at, path, own, read) {
  const version = own.version;
  ask({
    title: "Remove the rules?", yes: "Remove the rules", kind: "danger",
    body: h("p", {}, "From the next draw on, each takes one unit, at random: every unit that remains is equally likely."),
    async act() {
      try {
        await send("DELETE", path, undefined, { "If-Match": `"${version}"` });
      } catch (problem) {
        if (problem.status !== 412 && problem.code !== "rules-changed") throw problem;
        throw Object.assign(new Error("Close this question, and read the new rules before you remove them."), { title: "Somebody changed the rules meanwhile" });
      }
      await at.refresh();
      await read();
      return "The pool has no rules.";
    },
  });
}
