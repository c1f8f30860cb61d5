// A campaign's life: copy it, rename it, put it away, delete it, and erase a user of it.

import { get, part, send } from "./api.js";
import { ask } from "./dialog.js";
import { button, count, countOf, field, h, say } from "./dom.js";
import { impossible } from "./impossible.js";
import { askCopy } from "./poolcopy.js";
import { mayAct } from "./state.js";

/** What can be done with the campaign itself, each with what it costs. */
export async function lifeSection(at) {
  const acts = [
    ["Copy", "A paused pool with the same prizes, rules and texts, and if you like the same agenda on later days. This pool stays as it is.", "Copy…", () => askCopy(at), () => ""],
    ["Name", "Players see the new name at once. The log keeps both. The id stays.", "Rename…", () => rename(at), () => ""],
    ["Archive", "Lists do not show an archived pool. It can still be found by the search, read and audited, and be shown in lists again.", "Archive…", () => archive(at), (pool) => (pool.state === "closed" ? "" : "Only a closed pool can be archived.")],
    ["Delete", "Removes the pool with its prizes, rules, agenda and log. Nothing can bring it back.", "Delete…", () => remove(at), whyNotDelete, "danger"],
    ["Erase a user", "Replaces a user by a pseudonym in all awards of this pool. Nothing can undo it. The user's receipts and retries then name nobody.", "Erase a user…", () => erase(at), () => "", "danger"],
  ].map(([title, words, text, act, why, kind]) => {
    const by = button(text, act, kind), reason = h("p", { class: "reason" });
    return {
      element: h("li", {}, h("div", {}, h("h3", {}, title), h("p", { class: "quiet" }, words), reason), by),
      set(pool) {
        if (text === "Archive…") say(by, pool.archived ? "Show in lists again…" : text);
        impossible(by, why(pool));
        say(reason, why(pool));
        reason.hidden = !why(pool);
      },
    };
  });
  return {
    elements: [h("h2", {}, "Manage"), mayAct() ? h("ul", { class: "files" }, acts.map((act) => act.element)) : h("p", { class: "quiet" }, "Only a token of role admin can copy, rename, archive or delete a pool, or erase a user.")],
    set(pool) { acts.forEach((act) => act.set(pool)); },
  };
}

function whyNotDelete(pool) {
  if (pool.committed) return "The pool is committed to its numbers, so that its log has to stay: archive it instead.";
  return pool.awards > 0 ? `${countOf(pool.awards, "unit was", "units were")} drawn, and the log has to stay: archive the pool instead.` : "";
}

const path = (at) => `admin/pools/${part(at.id)}`;

/** Changes the pool at the revision that was shown. */
async function change(at, revision, body) {
  await send("PATCH", path(at), body, { "If-Match": `"${revision}"` });
  await at.refresh();
}

function rename(at) {
  const name = h("input", { required: true, maxlength: 200, autocomplete: "off", value: at.pool.name }), revision = at.pool.revision;
  ask({
    title: "Rename the pool", yes: "Rename",
    body: [field("Name", name, "Players see it at once. The log keeps both names, and your name.")],
    async act() {
      await change(at, revision, { name: name.value });
      return `The pool is named ${name.value}.`;
    },
  });
}

function archive(at) {
  const { archived, revision } = at.pool;
  ask({
    title: archived ? "Show the pool in lists again?" : "Archive the pool?", yes: archived ? "Show it" : "Archive",
    body: h("p", {}, archived ? "Lists and the stream of this page show it again." : "Lists do not show it any more. Find it again by the search, under the state archived."),
    async act() {
      await change(at, revision, { archived: !archived });
      return archived ? "Lists show the pool again." : "The pool is archived.";
    },
  });
}

function remove(at) {
  const typed = h("input", { required: true, autocomplete: "off", autocapitalize: "off", spellcheck: "false" }), revision = at.pool.revision;
  const units = at.pool.prizes.reduce((sum, p) => sum + (p.stocked ?? 0), 0);
  ask({
    title: "Delete the pool?", yes: "Delete permanently", kind: "danger",
    body: [
      h("p", {}, `${countOf(at.pool.prizes.length, "prize")} with ${countOf(units, "unit")}, the rules, ${countOf(at.agenda.length, "line")} of the agenda and the log are removed. Nothing can bring them back.`),
      field("Its id", typed, `Type ${at.id}.`),
    ],
    async act() {
      if (typed.value.trim() !== at.id) throw Object.assign(new Error(`Type ${at.id}, the id of this pool.`), { title: "Another id" });
      await send("DELETE", path(at), undefined, { "If-Match": `"${revision}"` });
      location.hash = "#/";
      return `Pool ${at.id} was deleted.`;
    },
  });
}

const countMax = 1000;

/** Erases a user in two steps: first how many awards would change. */
function erase(at) {
  const user = h("input", { required: true, maxlength: 128, autocomplete: "off", autocapitalize: "off", spellcheck: "false" });
  const found = h("p", { role: "status" });
  let seen = null;
  user.addEventListener("input", () => {
    seen = null;
    say(found, "");
  });
  ask({
    title: "Erase a user", yes: "Erase", kind: "danger",
    body: [
      h("p", {}, "All awards of the user in this pool get a pseudonym, permanently. Counts and audits do not change. Awards that come later name the user again: stop the user's draws first. Other pools keep the user: do the same there."),
      at.pool.committed && at.pool.state !== "closed" ? h("p", { class: "warning" }, "In a committed pool whose rules count users this is possible only after the close.") : "",
      field("User", user, "Exactly as your shop sends it."), found,
    ],
    async act() {
      if (seen !== user.value) {
        const awards = (await get(`${path(at)}/awards?user=${part(user.value)}&limit=${countMax}`)).awards.length;
        seen = user.value;
        say(found, awards ? `${awards === countMax ? "At least " : ""}${countOf(awards, "award names", "awards name")} this user. Press Erase again to replace the user in all of them.` : "No award is found that names this user. Press Erase again to search the whole pool.");
        return false;
      }
      const { data } = await send("DELETE", `${path(at)}/users/${part(user.value)}`);
      await at.refresh();
      return `The user is replaced in ${countOf(data.awards, "award")}.`;
    },
  });
}
