// The parts of the form of rules about users, warnings and claims.

import { field, h, say } from "./dom.js";
import { box, choice, entry, list, number, prizeWords, shown, withMembers, withOrWithout } from "./rulesfields.js";
import { t } from "./text.js";
import { lengthWords, readLength, readLines, readUsers } from "./words.js";

const blockedMax = 1000;

export function usersPart({ first, changed }) {
  const tickets = box({ label: t("rulesusers.ticket"), first: first.tickets ?? false, changed });
  const disclose = box({ label: t("rulesusers.disclose"), first: first.disclose ?? false, changed });
  const before = (first.blocked ?? []).join("\n");
  const text = h("textarea", { rows: 3, spellcheck: "false", autocomplete: "off" });
  text.value = before;
  const place = field(t("rulesusers.blocked"), text, " "), note = place.querySelector("small");
  const said = (more = "") => {
    const { lines, twice } = readLines(text.value);
    text.setCustomValidity(lines.length > blockedMax ? t("rulesusers.tooMany", { max: blockedMax }) : "");
    say(note, [t("rulesusers.lines", { n: lines.length, max: blockedMax }), twice > 0 && t("rulesusers.twice", { n: twice }), more].filter(Boolean).join(" "));
  };
  text.addEventListener("input", () => { said(); changed(); });
  const file = h("input", { type: "file", accept: ".csv,.txt,text/csv,text/plain" });
  file.addEventListener("change", async () => {
    const from = file.files[0];
    if (!from) return;
    const { lines, isWindows } = readUsers(await from.arrayBuffer(), from.name);
    text.value = [text.value.trim(), ...lines].filter(Boolean).join("\n");
    said(t(isWindows ? "rulesusers.comeWindows" : "rulesusers.come", { n: lines.length, file: from.name }));
    changed();
  });
  said();
  return {
    elements: [place, field(t("rulesusers.ofFile"), file, t("rulesusers.ofFileHint")), tickets.element, disclose.element],
    write(document) {
      if (text.value !== before) {
        const { lines } = readLines(text.value);
        withOrWithout(document, "blocked", lines.length ? lines : undefined);
      }
      for (const [member, of] of [["tickets", tickets], ["disclose", disclose]]) {
        if (of.isChanged()) withOrWithout(document, member, of.value() || undefined);
      }
    },
  };
}

export function lowPart({ first, at, changed }) {
  const make = (from) => {
    const prize = choice({ label: t("rulesusers.warnOf"), first: from.prize ?? "", words: prizeWords(at, (p) => p.stocked !== null, t("rulesusers.chooseOne")), changed });
    const below = number({ label: t("rulesusers.fewerThan"), first: from.below, min: 1, max: 1_000_000_000_000, changed });
    prize.input.required = below.input.required = true;
    return { elements: [prize.element, below.element], isChanged: () => prize.isChanged() || below.isChanged(), value: () => withMembers(from, { prize: prize.value() || undefined, below: below.value() ?? from.below }) };
  };
  return list({ first, member: "low", make, add: t("rulesusers.addWarning"), max: 1000, changed, name: t("rulesusers.warning") });
}

export function claimsPart({ first, at, changed }) {
  const is = first.claims;
  const on = box({ label: t("rulesusers.claimed"), first: Boolean(is), changed: () => { show(); changed(); } });
  const within = entry({ label: t("rulesusers.within"), first: is?.within ? lengthWords(is.within) : "", read: readLength, wanted: t("rulesusers.withinWanted"), hint: t("rulesusers.withinHint"), changed });
  const back = box({ label: t("rulesusers.returns"), first: is?.return ?? true, changed });
  const which = choice({ label: t("rulesusers.winsOf"), first: is?.prizes ? "some" : "all", words: { all: t("rulesusers.allPrizes"), some: t("rulesusers.thesePrizes") }, changed: () => { show(); changed(); } });
  const ids = [...new Set([...at.pool.prizes.filter((p) => p.kind !== "blank").map((p) => p.id), ...(is?.prizes ?? [])])];
  const names = prizeWords(at);
  const boxes = ids.map((id) => [id, box({ label: names[id] ?? id, first: is?.prizes?.includes(id) ?? false, changed: () => { show(); changed(); } })]);
  const some = h("div", { class: "checks" }, boxes.map(([, b]) => b.element));
  const all = h("div", {}, within.element, which.element, some, back.element);
  const show = () => {
    shown(all, on.value());
    shown(some, on.value() && which.value() === "some");
    which.input.setCustomValidity(which.value() === "some" && !boxes.some(([, b]) => b.value()) ? t("rulesusers.tickOne") : "");
  };
  show();
  const isPrizes = () => which.isChanged() || which.value() === "some" && boxes.some(([, b]) => b.isChanged());
  return {
    elements: [on.element, all],
    write(document) {
      if (!on.value()) {
        if (on.isChanged()) delete document.claims;
        return;
      }
      if (on.isChanged()) document.claims = {};
      const set = {};
      if (within.isChanged()) set.within = within.value() ?? undefined;
      if (back.isChanged()) set.return = back.value();
      if (isPrizes()) set.prizes = which.value() === "some" ? boxes.filter(([, b]) => b.value()).map(([id]) => id) : undefined;
      document.claims = withMembers(document.claims, set);
    },
  };
}
