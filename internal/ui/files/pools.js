// All pools, with what remains of each.

import { part } from "./api.js";
import { bar, button, duration, h, moment, pill, rate, say, sayNumber } from "./dom.js";
import { budgetGiven } from "./money.js";
import { newPool } from "./newpool.js";
import { poolSearch } from "./poolsearch.js";
import { live, mayAct, watch } from "./state.js";

export async function poolsView(signal) {
  const list = h("ul", { class: "pools" });
  const note = h("p", { class: "quiet" });
  const rows = new Map();
  const update = () => {
    const found = search.found();
    const pools = found ? found.map((pool) => ({ ...pool, ...live.pools.get(pool.id) })) : [...live.pools.values()];
    const ids = new Set(pools.map((pool) => pool.id));
    for (const [id, row] of rows) if (!ids.has(id)) { row.element.remove(); rows.delete(id); }
    pools.forEach((pool, i) => {
      if (!rows.has(pool.id)) rows.set(pool.id, newRow(pool));
      const row = rows.get(pool.id);
      if (list.children[i] !== row.element) list.insertBefore(row.element, list.children[i] ?? null);
      row.set(pool);
    });
    say(note, found ? "" : pools.length ? (live.whole ? "" : "The first 100 pools. Find others by name.") : live.is ? "There is no pool yet." : live.why || "Reading the pools…");
  };
  const search = poolSearch({ changed: () => update(), signal });
  watch(update, signal);
  update();
  return [
    h("div", { class: "title" }, h("h1", {}, "Pools"), h("div", { class: "actions" }, search.form, mayAct() && button("New pool…", newPool))),
    search.note, note, list, h("p", {}, search.more),
  ];
}

/** A pool in the list. */
function newRow(pool) {
  const name = h("b", {}), state = h("span", { class: "row" }), seal = h("span"), left = h("span", { class: "big" }), of = h("span"), speed = h("span"), given = h("span"), end = h("span"), nothing = pill("nothing can be won", "bad");
  nothing.hidden = true;
  const share = bar("Stock"), facts = h("span", { class: "facts" }, h("span", {}, left, " of ", of, " remain"), speed, given, end, nothing);
  const element = h("li", {}, h("a", { href: `#/pools/${part(pool.id)}`, dataset: { pool: pool.id } },
    h("span", { class: "name" }, name, h("code", {}, pool.id), state, seal), share.element, facts));
  return {
    element,
    set(p) {
      say(name, p.name);
      if (state.textContent !== p.state + (p.archived ? "archived" : "")) state.replaceChildren(pill(p.state), p.archived ? pill("archived") : "");
      facts.hidden = share.element.hidden = p.remaining === undefined; // a role may read the name only
      if (facts.hidden) return;
      if (p.committed && !seal.firstChild) seal.append(pill("verifiable", "seal"));
      sayNumber(left, p.remaining);
      sayNumber(of, p.stocked);
      share.set(p.remaining, p.stocked);
      say(speed, `${rate(p.rate ?? 0)} draws/s`);
      say(given, budgetGiven(p));
      say(end, p.nothing ? "" : forecast(p));
      if (nothing.hidden !== !p.nothing) nothing.hidden = !p.nothing;
    },
  };
}

/** When the stock of a pool ends, in words. */
export function forecast(pool) {
  if (pool.stocked > 0 && pool.remaining === 0) return "sold out";
  if (pool.state !== "open") return `no draws: ${pool.state}`;
  if (pool.nothing) return "nothing can be won now";
  if (!pool.ends_at) return "no end in sight";
  if (pool.ends_at === pool.budget?.ends_at) return `budget used up about ${moment(pool.ends_at)}`;
  const seconds = (Date.parse(pool.ends_at) - Date.parse(live.at)) / 1000;
  return `ends in ${duration(Math.max(0, seconds))}, ${moment(pool.ends_at)}`;
}
