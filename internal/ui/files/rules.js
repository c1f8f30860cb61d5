// The rules of a pool, the odds that they mean, and a simulation of them.

import { call, get, part, send } from "./api.js";
import { ask, problemText } from "./dialog.js";
import { bar, button, count, field, h, pill, table, time } from "./dom.js";
import { mayAct } from "./state.js";

export async function rulesSection(at) {
  const current = h("div"), odds = h("div", { "aria-live": "polite" }), result = h("div", { "aria-live": "polite" });
  const own = { version: 0, document: null };
  const path = `admin/pools/${part(at.id)}/rules`;

  const read = async () => {
    const rules = at.pool.rules ? await get(path, { signal: at.signal }) : null;
    Object.assign(own, { version: rules?.version ?? 0, document: rules?.rules ?? null });
    current.replaceChildren(...(rules?.rules
      ? [h("p", { class: "quiet" }, `Version ${count(rules.version)}, by ${rules.actor}, `, time(rules.at)), h("pre", { tabindex: "0" }, JSON.stringify(rules.rules, null, 2))]
      : [h("p", {}, "No rules: each draw takes one unit, uniformly at random among all that remain.")]));
    odds.replaceChildren(...oddsOf(await get(`admin/pools/${part(at.id)}/odds`, { signal: at.signal }), at.pool));
  };
  const change = h("div", { class: "actions changes" }, mayAct() && button("Change the rules…", () => edit(at, path, own, read)), mayAct() && button("Remove them…", () => remove(at, path, own, read), "danger"));

  const user = h("input", { type: "search", maxlength: 128, required: true, autocomplete: "off", placeholder: "user", "aria-label": "User whose odds to show" });
  const ofUser = h("form", { class: "row" }, user, h("button", { type: "submit" }, "Odds of a user"));
  ofUser.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      odds.replaceChildren(h("p", {}, "For ", h("q", {}, user.value), ", now:"), ...oddsOf(await get(`admin/pools/${part(at.id)}/odds?user=${part(user.value.trim())}`), at.pool));
    } catch (problem) {
      odds.replaceChildren(h("div", { class: "error" }, problemText(problem)));
    }
  });

  await read();
  let seen = at.pool.rules;
  return {
    elements: [
      h("div", { class: "title" }, h("h2", {}, "Rules in force"), change), current,
      h("div", { class: "title" }, h("h2", {}, "Odds of the next draw"), ofUser), odds,
      h("h2", {}, "Simulation"), simulation(at, result), result,
    ],
    set(pool) {
      if (pool.rules === seen) return;
      seen = pool.rules;
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

function oddsOf(found, pool) {
  if (found.refused) return [h("p", {}, pill("refused", "paused"), ` ${found.detail}`)];
  const names = new Map(pool.prizes.map((p) => [p.id, p.name]));
  const row = (name, id, chance) => {
    const share = bar(name);
    share.set(percent(chance), 100);
    share.element.classList.remove("low");
    return [h("span", {}, h("b", {}, name), " ", id && h("code", {}, id)), share.element, shown(chance), h("code", {}, chance)];
  };
  const rows = found.odds.slice(0, 200).map((c) => row(names.get(c.prize) ?? c.prize, c.prize, c.chance));
  if (percent(found.none) > 0) rows.push(row("The fallback", "", found.none));
  const g = found.guarantee;
  const losing = new Set(pool.prizes.filter((p) => p.kind === "blank").map((p) => p.id));
  const lost = found.odds.filter((c) => losing.has(c.prize)).reduce((sum, c) => sum + percent(c.chance), percent(found.none));
  const chance = lost >= 100 ? h("strong", { class: "bad" }, "Nothing can be won now.") : `A draw wins with ${shownPercent(100 - lost)} now.`;
  return [
    h("p", { class: "quiet" }, chance, ` Law of ${found.law === "fixed" ? "fixed odds" : "stock"} at version ${count(found.version)}.`,
      g && ` After ${count(g.after)} misses ${g.prize} is guaranteed${g.rate ? `; ${shown(g.rate)} of many draws of one user win` : ""}.`),
    table("Odds", ["Prize", "Share", "#Chance", "#Exactly"], rows),
  ];
}

function edit(at, path, own, read) {
  const text = h("textarea", { rows: 14, spellcheck: "false", required: true, class: "code" });
  const inForce = JSON.stringify(own.document ?? { fallback: "none", win: "1/4" }, null, 2);
  const version = own.version;
  const tried = h("div", { class: "preview", "aria-live": "polite" });
  const draft = drafts(`rules:${at.id}`);
  text.value = draft.read() ?? inForce;
  const kept = h("p", { class: "warning" }, "This is your draft, which is not in force. ", button("Discard it", () => { draft.drop(); text.value = inForce; kept.hidden = true; }, "small"));
  kept.hidden = text.value === inForce;
  text.addEventListener("input", () => { draft.keep(text.value); tried.replaceChildren(); });
  const tryIt = button("Check and simulate", () => simulateDraft(at, text.value, tried, tryIt));
  ask({
    title: "Change the rules", yes: "Put in force", wide: true,
    body: [
      h("p", {}, "They bind from the next draw on, on every instance. What was drawn stays."), kept, field("The whole document", text, "JSON, as the campaign guide explains it."),
      h("p", {}, tryIt), tried,
    ],
    async act() {
      await call("PUT", path, { body: text.value, headers: { "If-Match": `"${version}"` } });
      draft.drop();
      await at.refresh();
      await read();
      return "The rules are in force.";
    },
  });
}

/** A text that is not sent yet. It survives the dialog and a reload, and ends with the tab. */
function drafts(name) {
  const key = `draft:${name}`;
  return {
    read: () => sessionStorage.getItem(key),
    keep: (text) => sessionStorage.setItem(key, text),
    drop: () => sessionStorage.removeItem(key),
  };
}

/** Checks a draft of rules, and shows what 20,000 draws would give under it. Nothing is written. */
async function simulateDraft(at, draft, place, by) {
  by.disabled = true;
  place.replaceChildren(h("p", { class: "quiet" }, "Drawing in memory…"));
  try {
    const { data } = await call("POST", `admin/pools/${part(at.id)}/simulation?draws=20000&users=1000&rate=50`, { body: draft });
    place.replaceChildren(h("p", {}, "The document is good. 20,000 draws of 1,000 users would give:"), ...simulated(data));
  } catch (problem) {
    place.replaceChildren(h("div", { class: "error" }, problemText(problem)));
  } finally {
    by.disabled = false;
  }
}

function remove(at, path, own, read) {
  const version = own.version;
  ask({
    title: "Remove the rules?", yes: "Remove the rules", kind: "danger",
    body: h("p", {}, "From the next draw on, each takes one unit, uniformly at random among all that remain."),
    async act() {
      await send("DELETE", path, undefined, { "If-Match": `"${version}"` });
      await at.refresh();
      await read();
      return "The pool has no rules.";
    },
  });
}

/** The form of a simulation: it begins where the pool stands, and writes nothing. */
function simulation(at, place) {
  const draws = h("input", { type: "number", min: 1, max: 100000, value: 20000, required: true, inputmode: "numeric" });
  const users = h("input", { type: "number", min: 1, max: 100000, value: 1000, required: true, inputmode: "numeric" });
  const rate = h("input", { type: "number", min: 1, max: 1000000, step: 1, value: 50, required: true, inputmode: "decimal" });
  const run = h("button", { type: "submit" }, "Simulate");
  const form = h("form", { class: "fields" }, field("Draws", draws), field("Users", users), field("Draws per second", rate), h("p", {}, run));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    run.disabled = true;
    place.replaceChildren(h("p", { class: "quiet" }, "Drawing in memory…"));
    try {
      const wanted = `draws=${Number(draws.value)}&users=${Number(users.value)}&rate=${Number(rate.value)}`;
      place.replaceChildren(...simulated(await get(`admin/pools/${part(at.id)}/simulation?${wanted}`)));
    } catch (problem) {
      place.replaceChildren(h("div", { class: "error" }, problemText(problem)));
    } finally {
      run.disabled = false;
    }
  });
  return form;
}

function simulated(s) {
  const share = (n) => (n === null ? "–" : `${(n * 100).toPrecision(4)} %`);
  const rows = s.prizes.slice(0, 200).map((p) => [h("code", {}, p.prize), count(p.count), share(p.share), share(p.expected), p.z === null ? "–" : p.z.toFixed(2), p.sold_out_after === null ? "–" : count(p.sold_out_after)]);
  const refused = Object.values(s.refusals ?? {}).reduce((sum, n) => sum + n, 0);
  const rest = [...Object.entries(s.redirects ?? {}).map(([why, n]) => `redirected, ${why}: ${count(n)}`), ...Object.entries(s.refusals ?? {}).map(([code, n]) => `refused, ${code}: ${count(n)}`)];
  const isCompared = s.prizes.some((p) => p.z !== null);
  return [
    h("p", {}, s.unlikely ? pill("unlikely", "bad") : isCompared && pill("as expected", "open"), refused > 0 && pill(`${count(refused)} of ${count(s.draws + refused)} turned away`, "paused"), ` ${count(s.draws)} draws. `, s.spent !== "0.00" && `Value given under the budget: ${s.spent}. `, rest.join("; ")),
    table("Result of the simulation", ["Prize", "#Drawn", "#Share", "#Expected", "#Deviation (σ)", "#Sold out after"], rows),
  ];
}
