// The management of a campaign: copy, rename, archive and delete it, and erase a user
// from it.

import { get, part, send } from "./api.js";
import { ask, complain } from "./dialog.js";
import { button, field, h, say } from "./dom.js";
import { impossible } from "./impossible.js";
import { askCopy } from "./poolcopy.js";
import { mayAct } from "./state.js";
import { t } from "./text.js";

/** The actions on the campaign itself, each with an explanation. */
export async function lifeSection(at) {
  const acts = [
    ["copy", () => askCopy(at).catch(complain), () => ""],
    ["name", () => rename(at), () => ""],
    ["archive", () => archive(at), (pool) => (pool.state === "closed" ? "" : t("life.notClosed"))],
    ["delete", () => remove(at), whyNotDelete, "danger"],
    ["erase", () => erase(at), () => "", "danger"],
  ].map(([name, act, why, kind]) => {
    const by = button(t(`life.act-${name}`), act, kind), reason = h("p", { class: "reason" });
    return {
      element: h("li", {}, h("div", {}, h("h3", {}, t(`life.title-${name}`)), h("p", { class: "quiet" }, t(`life.means-${name}`)), reason), by),
      set(pool) {
        if (name === "archive") say(by, t(pool.archived ? "life.restore" : "life.act-archive"));
        impossible(by, why(pool));
        say(reason, why(pool));
        reason.hidden = !why(pool);
      },
    };
  });
  return {
    elements: [h("h2", {}, t("life.title")), mayAct() ? h("ul", { class: "files" }, acts.map((act) => act.element)) : h("p", { class: "quiet" }, t("life.onlyAdmin"))],
    set(pool) { acts.forEach((act) => act.set(pool)); },
  };
}

function whyNotDelete(pool) {
  if (pool.committed) return t("life.isCommitted");
  return pool.awards > 0 ? t("life.isDrawn", { n: pool.awards }) : "";
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
    title: t("life.rename"), yes: t("life.renameYes"),
    body: [field(t("life.name"), name, t("life.nameHint"))],
    async act() {
      await change(at, revision, { name: name.value });
      return t("life.renamed", { name: name.value });
    },
  });
}

function archive(at) {
  const { archived, revision } = at.pool;
  ask({
    title: t(archived ? "life.restoreTitle" : "life.archive"), yes: t(archived ? "life.restoreYes" : "life.archiveYes"),
    body: h("p", {}, t(archived ? "life.restoreMeans" : "life.archiveMeans")),
    async act() {
      await change(at, revision, { archived: !archived });
      return t(archived ? "life.restored" : "life.archived");
    },
  });
}

function remove(at) {
  const typed = h("input", { required: true, autocomplete: "off", autocapitalize: "off", spellcheck: "false" }), revision = at.pool.revision;
  const units = at.pool.prizes.reduce((sum, p) => sum + (p.stocked ?? 0), 0);
  ask({
    title: t("life.delete"), yes: t("life.deleteYes"), kind: "danger",
    body: [
      h("p", {}, t("life.deleteMeans", { prizes: t("life.prizes", { n: at.pool.prizes.length }), units: t("life.units", { n: units }) })),
      field(t("life.id"), typed, t("life.idHint", { id: at.id })),
    ],
    async act() {
      if (typed.value.trim() !== at.id) throw Object.assign(new Error(t("life.otherId", { id: at.id })), { title: t("life.otherIdTitle") });
      await send("DELETE", path(at), undefined, { "If-Match": `"${revision}"` });
      location.hash = "#/";
      return t("life.deleted", { id: at.id });
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
    title: t("life.title-erase"), yes: t("life.eraseYes"), kind: "danger",
    body: [
      h("p", {}, t("life.erase")),
      at.pool.committed && at.pool.state !== "closed" ? h("p", { class: "warning" }, t("life.eraseCommitted")) : "",
      field(t("life.user"), user, t("life.userHint")), found,
    ],
    async act() {
      if (seen !== user.value) {
        const awards = (await get(`${path(at)}/awards?user=${part(user.value)}&limit=${countMax}`)).awards.length;
        seen = user.value;
        say(found, awards === countMax ? t("life.foundMany", { n: awards }) : awards ? t("life.found", { n: awards }) : t("life.notFound"));
        return false;
      }
      const { data } = await send("DELETE", `${path(at)}/users/${part(user.value)}`);
      await at.refresh();
      return t("life.erased", { n: data.awards });
    },
  });
}
