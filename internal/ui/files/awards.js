// The awards of a pool: the last ones, those in a state, and searches by user, draw or prize.

import { get, pages, part } from "./api.js";
import { showAward } from "./award.js";
import { complain, problemText } from "./dialog.js";
import { button, count, field, h, pill, say, table, time } from "./dom.js";
import { livesList, states } from "./lives.js";
import { showReceipt } from "./proof.js";
import { mayShip, readsPools, self } from "./state.js";
import { uploadSteps } from "./steps.js";
import { nodes, t } from "./text.js";

const lastMax = 25, pagesMax = 200, foundMax = 1000;

export async function awardsSection(at) {
  const results = h("div", { "aria-live": "polite" }), place = h("div");
  const word = h("input", { type: "search", required: true, maxlength: 128, autocomplete: "off", spellcheck: "false", autocapitalize: "off", "aria-label": t("awards.word") });
  const by = h("select", { "aria-label": t("awards.by") }, h("option", { value: "user" }, t("awards.user")), h("option", { value: "draw" }, t("awards.draw")), h("option", { value: "prize" }, t("awards.prize")));
  let searching = new AbortController();
  at.signal.addEventListener("abort", () => searching.abort());
  const form = h("form", { class: "row search", role: "search" }, by, word, h("button", { type: "submit" }, t("awards.search")));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    searching.abort();
    searching = new AbortController();
    search(at, by.value, word.value.trim(), results, searching).catch(complain);
  });

  // A role that does not read the pool's version cannot find its last awards.
  const which = h("select", {}, readsPools() && h("option", { value: "" }, t("awards.last")), states.map((state) => h("option", { value: state }, t(`lives.is-${state}`))));
  let list = null;
  const show = () => {
    list?.end();
    list = which.value ? livesList(at, which.value) : lastAwards(at);
    place.replaceChildren(...list.elements);
    list.set(at.pool);
  };
  which.addEventListener("input", show);
  if (!readsPools()) which.value = "claimed";
  show();
  return {
    elements: [
      form, results,
      h("div", { class: "title" }, h("h2", {}, t("awards.title")), h("div", { class: "actions" }, field(t("awards.show"), which), mayShip() && button(t("awards.upload"), () => uploadSteps(at, () => list.read())))),
      place,
    ],
    set: (pool) => list.set(pool),
  };
}

/** The awards among the last entries of the history. */
function lastAwards(at) {
  const last = h("div");
  let shown = -1, asked = 0, waiting = false;
  const read = async () => {
    [shown, asked, waiting] = [at.pool.version, Date.now(), true];
    try {
      const { awards } = await get(`admin/pools/${part(at.id)}/awards?after=${Math.max(0, shown - lastMax)}&limit=${lastMax}`, { signal: at.signal });
      last.replaceChildren(awards.length ? awardsTable(at, t("awards.lastAwards"), awards.reverse()) : h("p", { class: "quiet" }, t("awards.noneLast")));
    } catch (problem) {
      complain(problem);
    } finally {
      waiting = false;
    }
  };
  return {
    elements: [last], read, end() {},
    set(pool) {
      if (pool.version !== shown && !waiting && Date.now() - asked >= 2000) read();
    },
  };
}

/** Searches page by page, because awards have no index on users. */
async function search(at, by, word, place, stop) {
  if (!word) return place.replaceChildren();
  const progress = h("div", { class: "quiet", role: "status" }, t("awards.searching"));
  const list = h("div");
  const end = button(t("awards.stop"), () => stop.abort(), "small");
  place.replaceChildren(h("h2", {}, nodes(`awards.of-${by}`, { word: h("q", {}, word) })), progress, end, list);
  const found = [];
  try {
    for await (const { awards, next } of pages(`admin/pools/${part(at.id)}/awards?${by}=${part(word)}&limit=1000`, { signal: stop.signal, most: pagesMax })) {
      found.push(...awards);
      if (awards.length) list.replaceChildren(awardsTable(at, t("awards.awardsFound"), found), ...receipts(at, by, found));
      say(progress, next === null ? t("awards.found", { n: found.length }) : t("awards.foundTo", { n: found.length, entry: next }));
      if (found.length >= foundMax) break;
    }
  } catch (problem) {
    if (!stop.signal.aborted) progress.replaceChildren(...problemText(problem));
    else say(progress, t("awards.stopped", { n: found.length }));
  } finally {
    end.remove();
  }
}

/** Offers the receipt of the draw that was searched for, if the service shows it to the user. */
function receipts(at, by, found) {
  const covered = by === "draw" && at.commitment && self.role === "admin" && found.at(-1).version > at.commitment.version;
  return covered ? [h("p", {}, button(t("awards.receipt"), () => showReceipt(at, found[0].draw).catch(complain)))] : [];
}

function awardsTable(at, caption, awards) {
  return table(caption, [t("awards.when"), t("awards.whose"), t("awards.what"), `#${t("awards.unit")}`, t("awards.drawn"), `#${t("awards.entry")}`, t("awards.acts")], awards.map((a) => [
    time(a.at), h("span", { class: "break" }, a.user), h("span", {}, a.name, " ", a.win ? "" : pill(t("awards.noWin"), "")), count(a.unit), h("code", { class: "break" }, a.draw), count(a.version),
    a.win && button(t("awards.details"), () => showAward(at, a.version).catch(complain), "small"),
  ]));
}
