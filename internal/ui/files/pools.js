// The list of all pools, with the remaining stock of each.

import { part } from "./api.js";
import { bar, button, duration, h, moment, pill, rate, say, sayNumber } from "./dom.js";
import { showExample } from "./example.js";
import { budgetGiven } from "./money.js";
import { newPool } from "./newpool.js";
import { poolSearch } from "./poolsearch.js";
import { live, mayAct, watch } from "./state.js";
import { nodes, t } from "./text.js";

export async function poolsView(signal) {
  const list = h("ul", { class: "pools" });
  const note = h("p", { class: "quiet" });
  const first = h("p", { hidden: true }, nodes("pools.noneNext", { make: button(t("pools.makeOne"), () => newPool(), "strong"), example: button(t("pools.example"), showExample) }));
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
    first.hidden = Boolean(found) || pools.length > 0 || !live.is || !mayAct();
    say(note, found ? "" : pools.length ? (live.whole ? "" : t("pools.first")) : live.is ? t("pools.none") : live.why || t("pools.reading"));
  };
  const search = poolSearch({ changed: () => update(), signal });
  watch(update, signal);
  update();
  return [
    h("div", { class: "title" }, h("h1", {}, t("pools.title")), h("div", { class: "actions" }, search.form, mayAct() && button(t("pools.new"), () => newPool()))),
    search.note, note, first, list, h("p", {}, search.more),
  ];
}

/** The row of a pool in the list. */
function newRow(pool) {
  const name = h("b", {}), state = h("span", { class: "row" }), seal = h("span"), left = h("span", { class: "big" }), of = h("span"), speed = h("span"), given = h("span"), end = h("span"), nothing = pill(t("pools.nothing"), "bad");
  nothing.hidden = true;
  const share = bar(t("pools.stock")), facts = h("span", { class: "facts" }, h("span", {}, nodes("pools.left", { left, of })), speed, given, end, nothing);
  const element = h("li", {}, h("a", { href: `#/pools/${part(pool.id)}`, dataset: { pool: pool.id } },
    h("span", { class: "name" }, name, h("code", {}, pool.id), state, seal), share.element, facts));
  return {
    element,
    set(p) {
      say(name, p.name);
      const shown = t(`states.${p.state}`) + (p.archived ? t("states.archived") : "");
      if (state.textContent !== shown) state.replaceChildren(pill(t(`states.${p.state}`), p.state), p.archived ? pill(t("states.archived"), "archived") : "");
      facts.hidden = share.element.hidden = p.remaining === undefined; // some roles may read only the name
      if (facts.hidden) return;
      if (p.committed && !seal.firstChild) seal.append(pill(t("pools.verifiable"), "seal"));
      sayNumber(left, p.remaining);
      sayNumber(of, p.stocked);
      share.set(p.remaining, p.stocked);
      say(speed, t("pools.speed", { rate: rate(p.rate ?? 0) }));
      say(given, budgetGiven(p));
      say(end, p.nothing ? "" : forecast(p));
      if (nothing.hidden !== !p.nothing) nothing.hidden = !p.nothing;
    },
  };
}

/** A text about when the stock of a pool will end. If the planned states are known, they may close the pool earlier. */
export function forecast(pool, planned = []) {
  if (pool.stocked > 0 && pool.remaining === 0) return t("pools.soldOut");
  if (pool.state !== "open") return t("pools.noDraws", { state: t(`states.${pool.state}`) });
  if (pool.nothing) return t("pools.nothingNow");
  const closes = planned.find((item) => item.state === "closed")?.at;
  if (closes && !(Date.parse(pool.ends_at) < Date.parse(closes))) return t("pools.lasts", { at: moment(closes) });
  if (!pool.ends_at) return t("pools.noEnd");
  if (pool.ends_at === pool.budget?.ends_at) return t("pools.budgetEnds", { at: moment(pool.ends_at) });
  const seconds = (Date.parse(pool.ends_at) - Date.parse(live.at)) / 1000;
  return t("pools.ends", { in: duration(Math.max(0, seconds)), at: moment(pool.ends_at) });
}
