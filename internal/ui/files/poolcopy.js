// A copy of a pool. The service makes it, all or nothing.

import { part, send } from "./api.js";
import { ask } from "./dialog.js";
import { copied, countOf, field, h, say } from "./dom.js";
import { namedFields } from "./newpool.js";
import { dateAfter, dateOf, daysBetween } from "./zone.js";

/** The first instant of an agenda that can be seen, null for none. */
const beginning = (agenda) => agenda.map((item) => (item.hidden ? item.hidden.from : item.at)).filter(Boolean).sort((a, b) => Date.parse(a) - Date.parse(b))[0] ?? null;

/** Asks for a copy: its name, and when its agenda begins. */
export function askCopy(at) {
  const fields = namedFields(`${at.pool.name} (copy)`), first = beginning(at.agenda);
  const begins = first && dateOf(at.zone, Date.parse(first)), tomorrow = dateAfter(dateOf(at.zone, Date.now()));
  const takes = h("input", { type: "checkbox" }), day = h("input", { type: "date", min: tomorrow, required: true, value: begins > tomorrow ? begins : tomorrow });
  takes.checked = Boolean(first);
  const dates = h("div", {}, field("First day of the copy", day, `The agenda of this pool begins on ${begins}. Each item moves by the same number of days, and keeps its time of day in ${at.zone}.`));
  const shift = h("p", { class: "quiet", role: "status" });
  const days = () => daysBetween(begins, day.value);
  const show = () => {
    dates.hidden = !takes.checked;
    day.disabled = !takes.checked;
    say(shift, takes.checked && day.value ? `Everything is ${countOf(Math.abs(days()), "day")} ${days() < 0 ? "earlier" : "later"}. Hidden items are spread again, at random.` : "");
  };
  [takes, day].forEach((input) => input.addEventListener("input", show));
  show();
  const codes = at.pool.prizes.some((p) => p.codes);
  ask({
    title: `Copy ${at.pool.name}`, yes: "Copy",
    body: [
      h("p", {}, "The copy is paused, and has the prizes with their stock, the rules, the texts, pictures and links of this pool. Awards, log, commitment and the page of fairness stay here.", codes ? " Prizes with codes begin without stock: each code is given once." : ""),
      ...fields.elements,
      first ? [field("Copy the agenda", takes, "With it, stock and rules are those before the agenda changed them."), dates, shift] : h("p", { class: "quiet" }, "The agenda is empty."),
    ].flat(),
    async act() {
      let answer = null;
      const id = await fields.create(async (as) => {
        const body = { id: as, name: fields.name() };
        if (first && takes.checked) Object.assign(body, { days: days(), zone: at.zone });
        answer = (await send("POST", `admin/pools/${part(at.id)}/copy`, body)).data;
      });
      location.hash = `#/pools/${part(id)}`;
      if (answer.planned.length) showSeals(id, answer.planned);
      return `Pool ${id} was made.`;
    },
  });
}

/** Shows the seals of what was planned together: their salts are stored nowhere. */
function showSeals(id, planned) {
  const words = JSON.stringify({ pool: id, planned }, null, 1);
  ask({
    title: "Keep the seals of the agenda", no: "Close", wide: true,
    body: [
      h("p", {}, "With its salt anybody can check later that a schedule was not changed. The service does not store the salts: keep this text if you want to prove that."),
      h("figure", { class: "paste" }, h("figcaption", {}, h("span", {}, `Seals of ${id}`), copied(words)), h("pre", { tabindex: "0" }, words)),
    ],
  });
}
