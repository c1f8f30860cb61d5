// The rules of a pool: what they mean, the odds of the next draw, and a simulation.

import { get, part, send } from "./api.js";
import { ask, problemText } from "./dialog.js";
import { bar, button, folded, h, pill, table, time } from "./dom.js";
import { editRules } from "./rulesdialog.js";
import { hasMoments, meaning } from "./rulesmeaning.js";
import { simulationForm } from "./simulation.js";
import { mayAct } from "./state.js";
import { nodes, sentenceOf, t } from "./text.js";
import { percent, percentWords } from "./words.js";

export async function rulesSection(at) {
  const current = h("div"), odds = h("div", { "aria-live": "polite" }), result = h("div", { class: "step", "aria-live": "polite" });
  const own = { version: 0, document: null, actor: "", at: "" };
  const path = `admin/pools/${part(at.id)}/rules`, simulated = simulationForm(at, own, result);

  const read = async () => {
    const rules = at.pool.rules ? await get(path, { signal: at.signal }) : null;
    Object.assign(own, { version: rules?.version ?? 0, document: rules?.rules ?? null, actor: rules?.actor, at: rules?.at });
    current.replaceChildren(...(rules?.rules
      ? [h("p", { class: "quiet" }, nodes("rules.by", { actor: rules.actor, at: time(rules.at) })), rules.words && meaning(rules.words, rules.rules, at),
        folded(h("p", {}, t("rules.version", { version: rules.version })), h("pre", { tabindex: "0" }, JSON.stringify(rules.rules, null, 2)))].filter(Boolean)
      : [h("p", {}, [t("rules.none"), hasMoments(at) && t("rulesmeaning.moments")].filter(Boolean).join(" "))]));
    offer();
    simulated.preset();
    odds.replaceChildren(...oddsOf(await get(`admin/pools/${part(at.id)}/odds`, { signal: at.signal }), at.pool, own));
  };
  const drop = mayAct() && button(t("rules.remove"), () => remove(at, path, own, read), "danger");
  const change = h("div", { class: "actions changes" }, mayAct() && button(t("rules.change"), () => editRules(at, path, own, read)), drop);
  const final = h("span", { class: "quiet", hidden: true }, t("rules.final")); // shown instead of the actions when the pool is closed
  const offer = () => {
    final.hidden = !mayAct() || at.pool.state !== "closed";
    if (drop) drop.hidden = !own.document;
  };

  const user = h("input", { type: "search", maxlength: 128, required: true, autocomplete: "off", placeholder: t("rules.user"), "aria-label": t("rules.whose") });
  const ofUser = h("form", { class: "row" }, user, h("button", { type: "submit" }, t("rules.ofUser")));
  ofUser.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      odds.replaceChildren(h("p", {}, nodes("rules.forUser", { user: h("q", {}, user.value) })), ...oddsOf(await get(`admin/pools/${part(at.id)}/odds?user=${part(user.value.trim())}`), at.pool, own));
    } catch (problem) {
      odds.replaceChildren(h("div", { class: "error" }, problemText(problem)));
    }
  });

  await read();
  const shownOf = (pool) => `${pool.rules} ${pool.state}`;
  let seen = shownOf(at.pool);
  return {
    elements: [
      h("div", { class: "title" }, h("h2", {}, t("rules.inForce")), change, final), current,
      h("div", { class: "title" }, h("h2", {}, t("rules.odds")), ofUser), odds,
      h("h2", {}, t("rules.simulation")), simulated.element, result,
    ],
    set(pool) {
      if (shownOf(pool) === seen) return;
      seen = shownOf(pool);
      read().catch(() => {});
    },
  };
}

const shown = (fraction) => percentWords(percent(fraction));

/** A text about how many draws win: "one in n" if n is a whole number. */
function chanceOfDraws(win, isNow) {
  const every = 100 / win, n = Math.round(every);
  if (every >= 1e6 || Math.abs(every - n) >= 1e-6 * every) return t(isNow ? "rules.chanceNow" : "rules.chanceOf", { chance: percentWords(win) });
  return n === 1 ? t(isNow ? "rules.everyNow" : "rules.every") : t(isNow ? "rules.oneInNow" : "rules.oneIn", { n });
}

function oddsOf(found, pool, own) {
  if (found.refused) return [h("p", {}, pill(t("rules.refused"), "paused"), ` ${sentenceOf({ code: found.refused, message: found.detail })}`), folded(h("p", {}, found.detail))];
  const names = new Map(pool.prizes.map((p) => [p.id, p.name]));
  const row = (name, id, chance) => {
    const share = bar(name, { says: t("rules.ofDraws") });
    share.set(percent(chance), 100);
    share.element.classList.remove("low");
    return [h("span", {}, h("b", {}, name), " ", id && h("code", {}, id)), share.element, shown(chance), h("code", {}, chance)];
  };
  const rows = found.odds.slice(0, 200).map((c) => row(names.get(c.prize) ?? c.prize, c.prize, c.chance));
  if (percent(found.none) > 0) rows.push(row(names.get(own.document?.fallback) ?? t("rules.noPrize"), own.document?.fallback, found.none));
  const g = found.guarantee;
  const losing = new Set(pool.prizes.filter((p) => p.kind === "blank").map((p) => p.id));
  const lost = found.odds.filter((c) => losing.has(c.prize)).reduce((sum, c) => sum + percent(c.chance), percent(found.none));
  const isLost = !found.odds.some((c) => !losing.has(c.prize) && percent(c.chance) > 0), isOpen = pool.state === "open", win = chanceOfDraws(100 - lost, isOpen);
  const chance = isLost ? h("strong", { class: "bad" }, t("rules.nothing")) : isOpen ? win : t(pool.state === "closed" ? "rules.closed" : "rules.paused", { chance: win });
  return [
    h("p", { class: "quiet" }, chance, g && " ", g && t(g.rate ? "rules.guaranteedRate" : "rules.guaranteed", { n: g.after, prize: names.get(g.prize) ?? g.prize, rate: g.rate && shown(g.rate) })),
    table(t("rules.table"), [t("rules.prize"), t("rules.share"), `#${t("rules.chance")}`, `#${t("rules.exactly")}`], rows),
    folded(h("p", {}, t(found.law === "fixed" ? "rules.law-fixed" : "rules.law-stock", { version: found.version }))),
  ];
}

function remove(at, path, own, read) {
  const version = own.version;
  ask({
    title: t("rules.removeTitle"), yes: t("rules.removeYes"), kind: "danger",
    body: h("p", {}, t("rules.removeHint")),
    async act() {
      try {
        await send("DELETE", path, undefined, { "If-Match": `"${version}"` });
      } catch (problem) {
        if (problem.status !== 412 && problem.code !== "rules-changed") throw problem;
        throw Object.assign(new Error(t("rules.changed")), { title: t("rules.changedTitle") });
      }
      await at.refresh();
      await read();
      return t("rules.removed");
    },
  });
}
