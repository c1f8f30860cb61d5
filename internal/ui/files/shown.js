// The display texts of a pool and its prizes, which players see. They have no effect on
// draws, and can be changed at any time.

import { base, part, send } from "./api.js";
import { ask } from "./dialog.js";
import { button, field, h, outside, say } from "./dom.js";
import { mayAct } from "./state.js";
import { t } from "./text.js";

const wide = { autocomplete: "off", spellcheck: "false" };

/** The name that players see. */
export const shownName = (prize) => prize.display?.name || prize.name;

/**
 * The display texts of a prize except its name. Pictures are links, because the page
 * loads nothing from other hosts.
 */
export function shownParts() {
  const text = h("small"), links = h("small");
  const element = h("span", { class: "shown" }, text, links);
  let seen = "";
  return {
    element,
    set({ display = {} }) {
      const now = JSON.stringify(display);
      if (seen === now) return;
      seen = now;
      say(text, display.text ?? "");
      links.replaceChildren(...["picture", "link"].filter((kind) => display[kind]).flatMap((kind, i) => [i ? " · " : "", outside(display[kind], t(`shown.see-${kind}`))]));
      element.hidden = !display.text && !display.picture && !display.link;
    },
  };
}

/** Asks for the display texts of a prize. */
export function describe(at, prize) {
  const was = prize.display ?? {};
  const name = h("input", { ...wide, maxlength: 200, value: was.name ?? "", placeholder: prize.name });
  const text = h("input", { ...wide, maxlength: 2000, value: was.text ?? "" });
  const address = (kind) => h("input", { ...wide, type: "url", maxlength: 2000, value: was[kind] ?? "" });
  const picture = address("picture"), link = address("link");
  ask({
    title: t("shown.ofPrize", { prize: prize.id }), yes: t("shown.yes"),
    body: [
      h("p", { class: "quiet" }, t("shown.onlyShown")),
      field(t("shown.name"), name, t("shown.nameHint")), field(t("shown.text"), text), field(t("shown.picture"), picture, t("shown.pictureHint")), field(t("shown.link"), link, t("shown.linkHint")),
    ],
    async act() {
      const display = { name: name.value, text: text.value, picture: picture.value, link: link.value };
      await send("PATCH", `admin/pools/${part(at.id)}/prizes/${part(prize.id)}`, { display });
      await at.refresh();
      return t("shown.isShown");
    },
  });
}

/** The display text of the pool itself, and the button that changes it. set(pool) updates it. */
export function forPlayers(at) {
  const text = h("span", { class: "quiet", dataset: { figure: "text" } });
  const page = h("a", { href: new URL(`fair/${part(at.id)}`, base).href, target: "_blank", rel: "noopener" }, t("shown.fairPage"));
  const element = h("div", { class: "row" }, text, page, mayAct() && button(t("shown.forPlayers"), () => change(at), "small"));
  return {
    element,
    set(pool) {
      say(text, pool.text ?? "");
      page.hidden = !pool.fair;
      element.hidden = !pool.text && !pool.fair && !mayAct();
    },
  };
}

function change(at) {
  const text = h("input", { ...wide, maxlength: 2000, value: at.pool.text ?? "" });
  const fair = h("input", { type: "checkbox" });
  fair.checked = Boolean(at.pool.fair);
  ask({
    title: t("shown.ofCampaign"), yes: t("shown.yes"),
    body: [
      field(t("shown.text"), text, t("shown.textHint")), field(t("shown.fair"), fair, t("shown.fairHint")),
    ],
    async act() {
      await send("PATCH", `admin/pools/${part(at.id)}`, { text: text.value, fair: fair.checked });
      await at.refresh();
      return t("shown.isShown");
    },
  });
}
