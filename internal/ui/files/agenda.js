// The agenda of a pool as a time line: its planned items, and those that are done.

import { agendaPath, follow, readPart } from "./agendaread.js";
import { call, part, send } from "./api.js";
import { ask, complain } from "./dialog.js";
import { button, count, field, folded, h, moment, pill, time } from "./dom.js";
import { prizeWords } from "./rulesfields.js";
import { mayAct } from "./state.js";
import { nodes, sentenceOf, t } from "./text.js";
import { readDocument } from "./words.js";
import { instantOf } from "./zone.js";

const windowSize = 100, doneSize = 30;

/**
 * The agenda as a time line, around now. Its three parts are the last done items, the
 * next items and the hidden ones. Each part can be extended.
 */
export async function agendaSection(at) {
  const path = agendaPath(at);
  const line = h("ol", { class: "line" });
  const sizes = { done: doneSize, due: windowSize, hidden: windowSize };
  let shown = "";
  const read = async () => {
    const [done, due, hidden] = await Promise.all(Object.entries(sizes).map(([name, size]) => readPart(path, `part=${name}`, size, at.signal)));
    const text = JSON.stringify([done, due, hidden]);
    if (text === shown) return;
    shown = text;
    const names = prizeWords(at), name = (id) => names[id] ?? id;
    const more = (part, words, key) => !part.isWhole && h("li", { class: "quiet" }, button(words, () => {
      sizes[key] += windowSize;
      return read().catch(complain);
    }, "small"));
    line.replaceChildren(...[
      more(done, t("agenda.earlier"), "done"), ...done.items.toReversed().map((i) => entry(name, path, i, read)),
      h("li", { class: "now" }, h("span", {}, t("agenda.now"))),
      ...due.items.map((i) => entry(name, path, i, read)), due.secret > 0 && h("li", { class: "quiet" }, t("agenda.secret", { n: due.secret })), more(due, t("agenda.later"), "due"),
      ...hidden.items.map((i) => hiddenEntry(name, path, i.hidden, read)), more(hidden, t("agenda.moreHidden"), "hidden"),
    ].filter(Boolean));
  };
  await read();
  return {
    elements: [h("div", { class: "title" }, h("h2", {}, t("agenda.title")), mayAct() && button(t("agenda.add"), () => add(at, path, read), "changes")), line],
    set: follow(at, read),
  };
}

/** Why a planned item was not possible, in words. */
export const whyFailed = ({ failed }) => h("span", {}, pill(t("agenda.failed"), "bad"), " ", sentenceOf({ code: failed, message: failed }));

const isDone = (item) => item.done !== null;

/** The entry for hidden items, which nobody sees before they are done: their number, span and seal. */
function hiddenEntry(name, path, line, read) {
  const what = t(line.moment ? "agenda.hiddenMoments" : "agenda.hiddenUnits", { n: line.count, prize: name(line.prize) });
  return h("li", {}, line.from ? h("span", {}, nodes("agenda.span", { from: time(line.from), to: time(line.to) })) : h("span", { class: "quiet" }, t("agenda.hiddenTimes")),
    h("span", {}, what, " ", h("span", { class: "quiet" }, t("agenda.seal", { seal: line.sha256.slice(0, 12) }))),
    mayAct() && button(t("agenda.remove"), () => ask({
      title: t("agenda.removeAll"), yes: t("agenda.removeYes"), kind: "danger",
      body: [
        h("p", {}, t("agenda.removeTogether")),
        folded(h("p", {}, t("agenda.version", { n: line.version }))),
      ],
      async act() {
        await send("DELETE", `${path}/imports/${part(line.version)}`);
        await read();
        return t("agenda.removed");
      },
    }), "small changes"));
}

/** What an item does, in words. */
export function planWords(name, item) {
  if (item.state) return t(`agenda.becomes-${item.state}`);
  if (item.moment) return t("agenda.moment", { prize: name(item.moment) });
  if (!item.prize) return t(item.rules === null ? "agenda.rulesGone" : "agenda.rules");
  const delta = `${item.delta > 0 ? "+" : ""}${count(item.delta)}`;
  const prize = name(item.prize);
  return item.reason ? t("agenda.moveFor", { delta, prize, reason: item.reason }) : t("agenda.move", { delta, prize });
}

function entry(name, path, item, read) {
  const what = planWords(name, item);
  const became = item.failed ? whyFailed(item) : pill(t("agenda.done"), "open");
  return h("li", { class: isDone(item) && "done" }, time(item.at), h("span", {}, what), isDone(item) ? became : mayAct() && button(t("agenda.remove"), () => ask({
    title: t("agenda.removeOne"), yes: t("agenda.removeYes"), kind: "danger", body: h("p", {}, t("agenda.removeWhat", { what, at: moment(item.at) })),
    async act() {
      await send("DELETE", `${path}/${part(item.item)}`);
      await read();
      return t("agenda.removed");
    },
  }), "small changes"));
}

function add(at, path, read) {
  const when = h("input", { type: "datetime-local", step: 1, required: true });
  const what = h("select", {}, ["open", "paused", "closed"].map((state) => h("option", { value: state }, t(`agenda.becomes-${state}`))),
    h("option", { value: "stock" }, t("agenda.stock")), h("option", { value: "rules" }, t("agenda.rules")));
  const prize = h("select", {}, at.pool.prizes.filter((p) => p.stocked !== null).map((p) => h("option", { value: p.id }, p.name)));
  const delta = h("input", { type: "number", step: 1 });
  const reason = h("input", { maxlength: 200 });
  const rules = h("textarea", { rows: 8, spellcheck: "false", class: "code", placeholder: JSON.stringify({ fallback: "none", win: "1/4" }) });
  const moves = [field(t("agenda.prize"), prize), field(t("agenda.units"), delta, t("agenda.unitsHint")), field(t("agenda.reason"), reason)];
  const laws = field(t("agenda.document"), rules, t("agenda.documentHint"));
  const choose = () => {
    moves.forEach((part) => { part.hidden = what.value !== "stock"; });
    laws.hidden = what.value !== "rules";
  };
  what.addEventListener("input", choose);
  choose();
  ask({
    title: t("agenda.addTitle"), yes: t("agenda.addYes"),
    body: [field(t("agenda.when"), when, t("agenda.zone", { zone: at.zone })), field(t("agenda.what"), what), ...moves, laws],
    async act() {
      const item = { at: new Date(instantOf(at.zone, ...when.value.split("T"))).toISOString() };
      if (what.value === "stock") Object.assign(item, { prize: prize.value, delta: Number(delta.value), reason: reason.value });
      else if (what.value === "rules") item.rules = rules.value.trim() ? readDocument(rules.value) : null;
      else item.state = what.value;
      // Rules are sent exactly as typed, so that an error names the line that the author
      // sees.
      await call("POST", path, { body: item.rules ? `{"at":${JSON.stringify(item.at)},"rules":${rules.value.trim()}}` : JSON.stringify(item) });
      await read();
      return t("agenda.added");
    },
  });
}
