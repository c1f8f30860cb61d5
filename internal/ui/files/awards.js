// The last awards of a pool, and searches by user, draw or prize.

import { get, part } from "./api.js";
import { complain } from "./dialog.js";
import { button, count, h, pill, say, table, time } from "./dom.js";
import { showReceipt } from "./proof.js";
import { self } from "./state.js";

const lastMax = 25, pagesMax = 200, foundMax = 1000;

export async function awardsSection(at) {
  const last = h("div"), results = h("div", { "aria-live": "polite" });
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
  let shown = -1, asked = 0, waiting = false;
  return {
    elements: [form, results, h("h2", {}, "Last awards"), last],
    async set(pool) {
      if (pool.version === shown || waiting || Date.now() - asked < 2000) return;
      [shown, asked, waiting] = [pool.version, Date.now(), true];
      try {
        const { awards } = await get(`admin/pools/${part(at.id)}/awards?after=${Math.max(0, pool.version - lastMax)}&limit=${lastMax}`, { signal: at.signal });
        last.replaceChildren(awards.length ? awardsTable("Last awards", awards.reverse()) : h("p", { class: "quiet" }, "No award among the last entries of the history."));
      } catch (problem) {
        complain(problem);
      } finally {
        waiting = false;
      }
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
    for (let after = 0, pages = 0; after !== null && pages < pagesMax && found.length < foundMax; pages++) {
      const page = await get(`admin/pools/${part(at.id)}/awards?${by}=${part(word)}&after=${after}&limit=1000`, { signal: stop.signal });
      found.push(...page.awards);
      after = page.next;
      if (page.awards.length) list.replaceChildren(awardsTable("Awards found", found), ...receipts(at, by, found));
      say(progress, after === null ? `${count(found.length)} found.` : `${count(found.length)} found up to version ${count(after)} of ${count(at.pool.version)}…`);
    }
  } catch (problem) {
    if (!stop.signal.aborted) say(progress, problem.message);
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

function awardsTable(caption, awards) {
  return table(caption, ["When", "User", "Prize", "#Unit", "Draw", "#Version"], awards.map((a) => [
    time(a.at), h("span", { class: "break" }, a.user), h("span", {}, a.name, " ", a.win ? "" : pill("no win")), count(a.unit), h("code", { class: "break" }, a.draw), count(a.version),
  ]));
}
