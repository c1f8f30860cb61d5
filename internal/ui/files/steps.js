// The steps of one award or of many: fulfil, reopen, void, replace. They can also be
// uploaded as a file.

import { call, part, send } from "./api.js";
import { write } from "./csv.js";
import { ask } from "./dialog.js";
import { field, h } from "./dom.js";
import { chosen, previewed } from "./preview.js";
import { mayAct } from "./state.js";
import { t } from "./text.js";

const stepsPath = (at) => `admin/pools/${part(at.id)}/steps`;
const input = (more) => h("input", { maxlength: 200, autocomplete: "off", ...more });

/** Awards in words: one award by its prize and user, several by their number. */
export const named = (lives) => (lives.length === 1 ? t("steps.award", { name: lives[0].name, user: lives[0].user }) : t("steps.awards", { n: lives.length }));

export function fulfil(at, lives, after) {
  const reference = input(lives.length === 1 ? { value: lives[0].reference ?? "" } : {});
  ask({
    title: t("steps.fulfilTitle", { awards: named(lives) }), yes: t("steps.fulfilYes"),
    body: [h("p", {}, t("steps.fulfilAbout")), field(t("steps.reference"), reference, t("steps.referenceHint"))],
    act: () => make(at, lives, { to: "fulfilled", reference: reference.value.trim() }, after, "steps.isFulfilled"),
  });
}

export function reopen(at, lives, after) {
  const reason = input();
  ask({
    title: t("steps.reopenTitle", { awards: named(lives) }), yes: t("steps.reopenYes"),
    body: [h("p", {}, t("steps.reopenAbout")), field(t("steps.reason"), reason, t("steps.reasonHint"))],
    act: () => make(at, lives, { to: "reopened", reason: reason.value.trim() }, after, "steps.isReopened"),
  });
}

export function voidAwards(at, lives, after) {
  const reason = input({ required: true }), back = h("input", { type: "checkbox" });
  ask({
    title: t("steps.voidTitle", { awards: named(lives) }), yes: t("steps.voidYes"), kind: "danger",
    body: [
      h("p", {}, t("steps.voidAbout")), field(t("steps.reason"), reason, t("steps.voidHint")),
      field(t("steps.back"), back, t("steps.backHint")),
    ],
    act: () => make(at, lives, { to: "voided", reason: reason.value.trim(), return: back.checked }, after, "steps.isVoided"),
  });
}

export function claim(at, life, after) {
  ask({
    title: t("steps.claimTitle", { awards: named([life]) }), yes: t("steps.claimYes"), body: h("p", {}, t("steps.claimAbout")),
    act: () => make(at, [life], { to: "claimed" }, after, "steps.isClaimed"),
  });
}

export function replaceCode(at, life, reserve, after) {
  const reason = input({ placeholder: t("steps.used") });
  ask({
    title: t("steps.replaceTitle"), yes: t("steps.replaceYes"),
    body: [h("p", {}, [t("steps.replaceAbout"), reserve !== null && t("steps.replaceReserve", { n: reserve })].filter(Boolean).join(" ")), field(t("steps.reason"), reason, t("steps.replaceHint"))],
    act: () => make(at, [life], { to: "replaced", reason: reason.value.trim() }, after, null),
  });
}

/** Shows the code of an award. The service records who did that. The page drops the code when the dialog is closed. */
export function showCode(at, life, after) {
  const place = h("div", { "aria-live": "polite" });
  let isShown = false;
  const dialog = ask({
    title: t("steps.codeTitle", { awards: named([life]) }), yes: t("steps.codeYes"), no: t("steps.close"),
    body: [h("p", {}, t("steps.codeAbout")), place],
    async act() {
      if (isShown) return true;
      const { data } = await send("POST", `admin/pools/${part(at.id)}/awards/${life.version}/code`);
      isShown = true;
      place.replaceChildren(h("p", {}, h("code", { class: "secret-code break" }, data.code)), h("p", { class: "quiet" }, t("steps.recorded")));
      dialog.querySelector("button[type=submit]").hidden = true;
      after?.();
      return false;
    },
  });
  dialog.addEventListener("close", () => place.replaceChildren());
}

/**
 * Makes one step of each award. The step of a single award states the state that the page
 * showed; the steps of several are sent as a file. became is the name of the text that is
 * then shown.
 */
async function make(at, lives, step, after, became) {
  if (lives.length === 1) {
    await send("POST", stepsPath(at), { award: lives[0].version, from: lives[0].state, ...step });
  } else {
    try {
      await call("POST", stepsPath(at), { body: fileOf(lives, step), type: "text/csv" });
    } catch (problem) {
      // Each line of the file is an award, which people recognize by its user.
      problem.message = problem.message.replace(/line (\d+)/g, (words, n) => (lives[n - 2] ? `${words}, ${named([lives[n - 2]])}` : words));
      throw problem;
    }
  }
  await Promise.all([at.refresh(), after?.()]);
  return became ? t(became, { n: lives.length, awards: named(lives) }) : t("steps.replaced");
}

const fileOf = (lives, step) =>
  write(["award", "to", "reference", "reason", "return"], lives.map((l) => ({ return: false, ...step, award: l.version })));

/** Uploads a file of steps: first a preview is shown, then the steps of the same content are made once. */
export function uploadSteps(at, after) {
  const file = h("input", { type: "file", accept: ".csv,text/csv", required: true });
  const post = (body, dry) => call("POST", `${stepsPath(at)}?dry_run=${dry}`, { body, type: "text/csv" });
  const preview = previewed(async () => {
    const body = await chosen(file, t("steps.tooLarge"));
    const { data } = await post(body, true);
    return { seen: body, shows: [h("p", {}, t("steps.wouldChange", { n: data.lines, written: t("steps.awards", { n: data.written }), unchanged: data.unchanged }))] };
  });
  file.addEventListener("change", preview.clear);
  ask({
    title: t("steps.uploadTitle"), yes: t("steps.uploadYes"), wide: true,
    body: [
      h("p", {}, t("steps.uploadAbout")),
      field(t("steps.file"), file, mayAct() ? t("steps.fileHintAll") : t("steps.fileHint")),
      preview.elements,
    ].flat(),
    async act() {
      if (!preview.seen()) {
        await preview.check();
        return false; // nothing is uploaded before its preview was shown
      }
      const { data } = await post(preview.seen(), false);
      await Promise.all([at.refresh(), after()]);
      return t("steps.uploaded", { written: t("steps.awards", { n: data.written }), unchanged: data.unchanged });
    },
  });
}
