// The copy of a pool. The service creates it completely or not at all.

import { part, send } from "./api.js";
import { agendaPath } from "./agendaread.js";
import { readEnds, readHidden } from "./calendargrid.js";
import { ask } from "./dialog.js";
import { copied, field, h, say } from "./dom.js";
import { namedFields } from "./newpool.js";
import { t } from "./text.js";
import { dateAfter, dateOf, daysBetween, dayWords } from "./zone.js";

/** The first instant of an agenda that can be seen, undefined for none. */
async function beginning(at) {
  const [{ first }, { hidden }] = await Promise.all([readEnds, readHidden].map((read) => read(agendaPath(at), at.signal)));
  const spans = hidden.filter((line) => line.from).map((line) => line.begin);
  return [first, ...spans].filter(Boolean).sort((a, b) => a - b)[0];
}

/** Asks for a copy: its name, and when its agenda begins. */
export async function askCopy(at) {
  const first = await beginning(at), fields = namedFields(t("poolcopy.nameOf", { name: at.pool.name }));
  const begins = first && dateOf(at.zone, first), tomorrow = dateAfter(dateOf(at.zone, Date.now()));
  const takes = h("input", { type: "checkbox" }), day = h("input", { type: "date", min: tomorrow, required: true, value: begins > tomorrow ? begins : tomorrow });
  takes.checked = Boolean(first);
  const dates = h("div", {}, field(t("poolcopy.day"), day, t("poolcopy.dayHint", { day: begins && dayWords(begins), zone: at.zone })));
  const shift = h("p", { class: "quiet", role: "status" });
  const days = () => daysBetween(begins, day.value);
  const show = () => {
    dates.hidden = !takes.checked;
    day.disabled = !takes.checked;
    say(shift, takes.checked && day.value ? t(days() < 0 ? "poolcopy.earlier" : "poolcopy.later", { n: Math.abs(days()) }) : "");
  };
  [takes, day].forEach((input) => input.addEventListener("input", show));
  show();
  const codes = at.pool.prizes.some((p) => p.codes);
  ask({
    title: t("poolcopy.title", { name: at.pool.name }), yes: t("poolcopy.copy"),
    body: [
      h("p", {}, [t("poolcopy.intro"), codes && t("poolcopy.codes")].filter(Boolean).join(" ")),
      ...fields.elements,
      first ? [field(t("poolcopy.agenda"), takes, t("poolcopy.agendaHint")), dates, shift] : h("p", { class: "quiet" }, t("poolcopy.noAgenda")),
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
      return t("poolcopy.made", { id });
    },
  });
}

/** Shows the seals of the lists that were planned. Their salts are stored nowhere. */
function showSeals(id, planned) {
  const words = JSON.stringify({ pool: id, planned }, null, 1);
  ask({
    title: t("poolcopy.seals"), no: t("poolcopy.close"), wide: true,
    body: [
      h("p", {}, t("poolcopy.sealsHint")),
      h("figure", { class: "paste" }, h("figcaption", {}, h("span", {}, t("poolcopy.sealsOf", { id })), copied(words)), h("pre", { tabindex: "0" }, words)),
    ],
  });
}
