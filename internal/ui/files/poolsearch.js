// A search for pools by name and by state. The service searches, so there may be any
// number of pools.

import { get } from "./api.js";
import { complain } from "./dialog.js";
import { button, h, say } from "./dom.js";
import { summed } from "./state.js";
import { t } from "./text.js";

const pageSize = 50, pagesMax = 20; // a page of a search may be empty although it is not the last
const kept = { words: "", state: "" }; // the search is kept for a return to the list

/**
 * The fields of a search. found() returns the pools that were found, or null if nothing
 * is searched. changed is called after each answer.
 */
export function poolSearch({ changed, signal }) {
  const words = h("input", { type: "search", placeholder: t("poolsearch.words"), "aria-label": t("poolsearch.find"), autocomplete: "off", spellcheck: "false", maxlength: 200, value: kept.words });
  const state = h("select", { "aria-label": t("poolsearch.state") }, ["", "open", "paused", "closed", "archived"].map((value) => h("option", { value }, value ? t(`states.${value}`) : t("poolsearch.every"))));
  state.value = kept.state;
  const more = button(t("poolsearch.more"), () => read(false)), note = h("p", { class: "quiet", role: "status" });
  let pools = null, next = null, reading = new AbortController(), wait = 0;
  const show = () => {
    more.hidden = next === null;
    say(note, !pools ? "" : pools.length === 0 ? t("poolsearch.none") : t(next === null ? "poolsearch.found" : "poolsearch.first", { n: pools.length }));
    changed();
  };
  const read = async (anew) => {
    const isNew = anew || wait !== 0; // a changed search is made before more pools of the old one are read
    clearTimeout(wait);
    wait = 0;
    reading.abort();
    reading = new AbortController();
    Object.assign(kept, { words: words.value.trim(), state: state.value });
    if (isNew && !kept.words && !kept.state) {
      [pools, next] = [null, null];
      return show();
    }
    try {
      const found = await page(isNew ? "" : next, AbortSignal.any([reading.signal, signal]));
      pools = [...(isNew ? [] : pools), ...found.pools];
      next = found.next;
      show();
    } catch (problem) {
      if (!signal.aborted) complain(problem);
    }
  };
  const soon = () => {
    clearTimeout(wait);
    wait = setTimeout(() => read(true), 250);
  };
  words.addEventListener("input", soon);
  state.addEventListener("input", () => read(true));
  const form = h("form", { class: "row find", role: "search", onsubmit: (event) => { event.preventDefault(); read(true); } }, words, state);
  more.hidden = true;
  if (kept.words || kept.state) read(true);
  return { form, note, more, found: () => pools };
}

/** Reads the next pools of a search. */
async function page(after, signal) {
  const query = new URLSearchParams({ limit: pageSize });
  if (kept.words) query.set("q", kept.words);
  if (kept.state === "archived") query.set("archived", "only");
  else if (kept.state) query.set("state", kept.state);
  const pools = [];
  for (let n = 0; after !== null && pools.length < pageSize && n < pagesMax; n++) {
    if (after) query.set("after", after);
    const answer = await get(`admin/pools?${query}`, { signal });
    pools.push(...answer.pools.map(summed));
    after = answer.next;
  }
  return { pools, next: after };
}
