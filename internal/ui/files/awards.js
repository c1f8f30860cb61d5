// The awards of a pool: the last ones, those in a state, and searches by user, draw or prize.

import { get, pages, part } from "./api.js";
import { showAward } from "./award.js";
import { complain } from "./dialog.js";
import { button, count, field, h, pill, say, table, time } from "./dom.js";
import { livesList, states } from "./lives.js";
import { showReceipt } from "./proof.js";
import { mayShip, readsPools, self } from "./state.js";
import { uploadSteps } from "./steps.js";
import { sentenceOf } from "./text.js";

const lastMax = 25, pagesMax = 200, foundMax = 1000;

export async function awardsSection(at) {
  const results = h("div", { "aria-live": "polite" }), place = h("div");
  const word = h("input", { type: "search", required: true, maxlength: 128, autocomplete: "off", spellcheck: "false", autocapitalize: "off", "aria-label": "What to search for" });
  const by = h("select", { "aria-label": "Search by" }, h("option", { value: "user" }, "user"), h("option", { value: "draw" }, "draw"), h("option", { value: "prize" }, "prize"));
  let searching = new AbortController();
  at.signal.addEventListener("abort", () => searching.abort());
  const form = h("form", { class: "row search", role: "search" }, by, word, h("button", { type: "submit" }, "Search"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    searching.abort();
    searching = new AbortController();
    search(at, by.value, word.value.trim(), results, searching).catch(complain);
  });

  // Without the version of a pool nobody knows which awards are its last.
  const which = h("select", {}, readsPools() && h("option", { value: "" }, "the last draws"), Object.entries(states).map(([state, words]) => h("option", { value: state }, words)));
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
      h("div", { class: "title" }, h("h2", {}, "Awards"), h("div", { class: "actions" }, field("Show", which), mayShip() && button("Upload a file…", () => uploadSteps(at, () => list.read())))),
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
      last.replaceChildren(awards.length ? awardsTable(at, "Last awards", awards.reverse()) : h("p", { class: "quiet" }, "No award among the last entries of the history."));
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
  const progress = h("p", { class: "quiet", role: "status" }, "Searching…");
  const list = h("div");
  const end = button("Stop", () => stop.abort(), "small");
  place.replaceChildren(h("h2", {}, `Awards of ${by} `, h("q", {}, word)), progress, end, list);
  const found = [];
  try {
    for await (const { awards, next } of pages(`admin/pools/${part(at.id)}/awards?${by}=${part(word)}&limit=1000`, { signal: stop.signal, most: pagesMax })) {
      found.push(...awards);
      if (awards.length) list.replaceChildren(awardsTable(at, "Awards found", found), ...receipts(at, by, found));
      say(progress, next === null ? `${count(found.length)} found.` : `${count(found.length)} found up to entry ${count(next)} of the history…`);
      if (found.length >= foundMax) break;
    }
  } catch (problem) {
    if (!stop.signal.aborted) say(progress, sentenceOf(problem));
    else say(progress, `Stopped: ${count(found.length)} found so far.`);
  } finally {
    end.remove();
  }
}

/** Offers the receipt of a draw that was searched for, to whom the service shows it. */
function receipts(at, by, found) {
  const covered = by === "draw" && at.commitment && self.role === "admin" && found.at(-1).version > at.commitment.version;
  return covered ? [h("p", {}, button("Receipt…", () => showReceipt(at, found[0].draw).catch(complain)))] : [];
}

function awardsTable(at, caption, awards) {
  return table(caption, ["When", "User", "Prize", "#Unit", "Draw", "#Version", "Acts"], awards.map((a) => [
    time(a.at), h("span", { class: "break" }, a.user), h("span", {}, a.name, " ", a.win ? "" : pill("no win")), count(a.unit), h("code", { class: "break" }, a.draw), count(a.version),
    a.win && button("Details…", () => showAward(at, a.version).catch(complain), "small"),
  ]));
}
