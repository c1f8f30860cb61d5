// What is to happen to a pool, and what has: a time line.

import { call, get, part, send } from "./api.js";
import { ask } from "./dialog.js";
import { button, field, h, pill, time, count } from "./dom.js";
import { mayAct } from "./state.js";
import { readDocument } from "./words.js";
import { instantOf } from "./zone.js";

const doneMax = 30, openMax = 100;

export async function agendaSection(at, first) {
  const path = `admin/pools/${part(at.id)}/agenda`;
  const line = h("ol", { class: "line" });
  const shown = { text: "" };
  const show = ({ items, hidden }) => {
    const text = JSON.stringify([items, hidden]);
    if (text === shown.text) return;
    shown.text = text;
    const secret = items.filter((i) => i.hidden).map((i) => i.hidden);
    const known = items.filter((i) => !i.hidden).sort((a, b) => Date.parse(a.at) - Date.parse(b.at));
    const done = known.filter(isDone), open = known.filter((i) => !isDone(i));
    const more = (n, words) => n > 0 && h("li", { class: "quiet" }, `${count(n)} ${words}`);
    line.replaceChildren(...[
      more(done.length - doneMax, "before these"), ...done.slice(-doneMax).map((i) => entry(path, i, read)),
      h("li", { class: "now" }, h("span", {}, "now")),
      ...open.slice(0, openMax).map((i) => entry(path, i, read)), more(open.length - openMax, "after these"),
      ...secret.map((line) => hiddenEntry(path, line, read)),
      more(hidden, "moves of stock, which admins see"),
    ].filter(Boolean));
  };
  const read = async () => show(await itemsOf(path, await get(`${path}?limit=1000`, { signal: at.signal }), at.signal));
  show(await itemsOf(path, first, at.signal));
  let seen = at.pool.version;
  return {
    elements: [h("div", { class: "title" }, h("h2", {}, "Agenda"), mayAct() && button("Add to it…", () => add(at, path, read), "changes")), line],
    set(pool) {
      if (pool.version === seen) return;
      seen = pool.version;
      read().catch(() => {});
    },
  };
}

const isDone = (item) => !item.hidden && item.done !== null;

/** The items of an agenda: those of its first page, and of a longer one those that are open. */
async function itemsOf(path, page, signal) {
  if (page.next === null) return { items: page.items, hidden: page.hidden ?? 0 };
  const { items, hidden = 0 } = await get(`${path}?open=true&limit=1000`, { signal });
  return { items: [...page.items.filter(isDone), ...items], hidden };
}

/** Items that nobody sees before they are done: their number, their span and their seal. */
function hiddenEntry(path, line, read) {
  const what = `${count(line.count)} ${line.moment ? "winning moments" : "units"} of ${line.prize}, hidden until they are done`;
  return h("li", {}, line.from ? h("span", {}, time(line.from), " to ", time(line.to)) : h("span", { class: "quiet" }, "at hidden times"),
    h("span", {}, what, " ", h("span", { class: "quiet" }, `seal ${line.sha256.slice(0, 12)}. Whoever reads the database's rows can know the times.`)),
    mayAct() && button("Remove…", () => ask({
      title: "Remove these from the agenda?", yes: "Remove", kind: "danger",
      body: h("p", {}, `All that is not done of what version ${line.version} planned, as one change.`),
      async act() {
        await send("DELETE", `${path}/imports/${part(line.version)}`);
        await read();
        return "Removed from the agenda.";
      },
    }), "small changes"));
}

function entry(path, item, read) {
  const what = item.state ? `the pool becomes ${item.state}` : item.moment ? `a winning moment of ${item.moment}` : item.prize ? `${item.delta > 0 ? "+" : ""}${count(item.delta)} of ${item.prize}${item.reason ? `, ${item.reason}` : ""}` : item.rules === null ? "the rules are removed" : "new rules";
  return h("li", { class: isDone(item) && "done" }, time(item.at), h("span", {}, what), isDone(item) ? pill("done", "open") : mayAct() && button("Remove…", () => ask({
    title: "Remove this from the agenda?", yes: "Remove", kind: "danger", body: h("p", {}, `${what}, at ${item.at}`),
    async act() {
      await send("DELETE", `${path}/${part(item.item)}`);
      await read();
      return "Removed from the agenda.";
    },
  }), "small changes"));
}

function add(at, path, read) {
  const when = h("input", { type: "datetime-local", step: 1, required: true });
  const what = h("select", {}, ["open", "paused", "closed"].map((state) => h("option", { value: state }, `the pool becomes ${state}`)),
    h("option", { value: "stock" }, "stock of a prize moves"), h("option", { value: "rules" }, "new rules"));
  const prize = h("select", {}, at.pool.prizes.filter((p) => p.stocked !== null).map((p) => h("option", { value: p.id }, p.name)));
  const delta = h("input", { type: "number", step: 1 });
  const reason = h("input", { maxlength: 200 });
  const rules = h("textarea", { rows: 8, spellcheck: "false", class: "code", placeholder: `{"fallback":"none","win":"1/4"}` });
  const moves = [field("Prize", prize), field("Units", delta, "Below zero withdraws."), field("Reason", reason)];
  const laws = field("The whole document", rules, "They are checked now, and again when they are due. Empty removes the rules.");
  const choose = () => {
    moves.forEach((part) => { part.hidden = what.value !== "stock"; });
    laws.hidden = what.value !== "rules";
  };
  what.addEventListener("input", choose);
  choose();
  ask({
    title: "Add to the agenda", yes: "Add",
    body: [field("When", when, `In the time zone ${at.zone}.`), field("What", what), ...moves, laws],
    async act() {
      const item = { at: new Date(instantOf(at.zone, ...when.value.split("T"))).toISOString() };
      if (what.value === "stock") Object.assign(item, { prize: prize.value, delta: Number(delta.value), reason: reason.value });
      else if (what.value === "rules") item.rules = rules.value.trim() ? readDocument(rules.value) : null;
      else item.state = what.value;
      // Rules are sent as they were typed, so that an error has the line that its author sees.
      await call("POST", path, { body: item.rules ? `{"at":${JSON.stringify(item.at)},"rules":${rules.value.trim()}}` : JSON.stringify(item) });
      await read();
      return "Added to the agenda.";
    },
  });
}
