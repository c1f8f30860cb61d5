// The steps of awards: fulfilled, reopened, voided, replaced, for one or for many, and files of them.

import { call, part, send } from "./api.js";
import { write } from "./csv.js";
import { ask } from "./dialog.js";
import { count, field, h } from "./dom.js";
import { chosen, previewed } from "./preview.js";
import { mayAct } from "./state.js";

const stepsPath = (at) => `admin/pools/${part(at.id)}/steps`;
const input = (more) => h("input", { maxlength: 200, autocomplete: "off", ...more });
const named = (lives) => (lives.length === 1 ? `${lives[0].name} of ${lives[0].user}` : `${count(lives.length)} awards`);
const are = (lives) => (lives.length === 1 ? "is" : "are");

export function fulfil(at, lives, after) {
  const reference = input(lives.length === 1 ? { value: lives[0].reference ?? "" } : {});
  ask({
    title: `Mark ${named(lives)} as fulfilled?`, yes: "Mark as fulfilled",
    body: [h("p", {}, "The prize has been sent, or handed over."), field("Reference", reference, "Such as the number of the parcel. The winner sees it. No personal data.")],
    act: () => make(at, lives, { to: "fulfilled", reference: reference.value.trim() }, after, "fulfilled"),
  });
}

export function reopen(at, lives, after) {
  const reason = input();
  ask({
    title: `Reopen ${named(lives)}?`, yes: "Reopen",
    body: [h("p", {}, "The prize did not arrive, or was not sent: it waits to be sent again."), field("Reason", reason, "It is kept, with your name. No personal data.")],
    act: () => make(at, lives, { to: "reopened", reason: reason.value.trim() }, after, "claimed again"),
  });
}

export function voidAwards(at, lives, after) {
  const reason = input({ required: true }), back = h("input", { type: "checkbox" });
  ask({
    title: `Void ${named(lives)}?`, yes: "Void permanently", kind: "danger",
    body: [
      h("p", {}, "The winner does not get the prize. This is final. Limits, odds and budget stay as they are."), field("Reason", reason, "It is kept, with your name. The winner does not see it. No personal data."),
      field("Return to stock", back, "Somebody else can then win it. A unit whose code was shown cannot return."),
    ],
    act: () => make(at, lives, { to: "voided", reason: reason.value.trim(), return: back.checked }, after, "voided"),
  });
}

export function claim(at, life, after) {
  ask({
    title: `Claim ${named([life])}?`, yes: "Claim", body: h("p", {}, "You do it for the winner: the award then waits to be sent."),
    act: () => make(at, [life], { to: "claimed" }, after, "claimed"),
  });
}

export function replaceCode(at, life, reserve, after) {
  const reason = input({ placeholder: "used" });
  ask({
    title: "Replace the code?", yes: "Replace the code",
    body: [h("p", {}, "The award gets the last code of the reserve in place of its own.", reserve !== null && ` The reserve has ${count(reserve)}.`), field("Reason", reason, "It is kept, with your name.")],
    act: () => make(at, [life], { to: "replaced", reason: reason.value.trim() }, after, null),
  });
}

/** Shows the code of an award: the service records who did. The code ends with the dialog. */
export function showCode(at, life, after) {
  const place = h("div", { "aria-live": "polite" });
  let isShown = false;
  const dialog = ask({
    title: `Code of ${named([life])}`, yes: "Show the code", no: "Close",
    body: [h("p", {}, "This is recorded with your name: the steps of the award say who has seen its code. Its unit cannot return to stock then."), place],
    async act() {
      if (isShown) return true;
      const { data } = await send("POST", `admin/pools/${part(at.id)}/awards/${life.version}/code`);
      isShown = true;
      place.replaceChildren(h("p", {}, h("code", { class: "secret-code break" }, data.code)), h("p", { class: "quiet" }, "Recorded."));
      dialog.querySelector("button[type=submit]").hidden = true;
      after?.();
      return false;
    },
  });
  dialog.addEventListener("close", () => place.replaceChildren());
}

/** Makes one step of each award: that of one says what the page showed, those of many are a file. */
async function make(at, lives, step, after, became) {
  if (lives.length === 1) {
    await send("POST", stepsPath(at), { award: lives[0].version, from: lives[0].state, ...step });
  } else {
    try {
      await call("POST", stepsPath(at), { body: fileOf(lives, step), type: "text/csv" });
    } catch (problem) {
      // A line of the file is an award; people know it by its user.
      problem.message = problem.message.replace(/line (\d+)/g, (words, n) => (lives[n - 2] ? `line ${n}, ${lives[n - 2].name} of ${lives[n - 2].user}` : words));
      throw problem;
    }
  }
  await Promise.all([at.refresh(), after?.()]);
  return became ? `${named(lives)} ${are(lives)} ${became}.` : "The code was replaced.";
}

const fileOf = (lives, step) =>
  write(["award", "to", "reference", "reason", "return"], lives.map((l) => ({ return: false, ...step, award: l.version })));

/** Uploads a file of steps: first what it would do, then, of the same content, once. */
export function uploadSteps(at, after) {
  const file = h("input", { type: "file", accept: ".csv,text/csv", required: true });
  const post = (body, dry) => call("POST", `${stepsPath(at)}?dry_run=${dry}`, { body, type: "text/csv" });
  const preview = previewed(async () => {
    const body = await chosen(file, "send it in parts");
    const { data } = await post(body, true);
    return { seen: body, shows: [h("p", {}, `${count(data.lines)} lines: ${count(data.written)} awards would change, ${count(data.unchanged)} are so already. Nothing is written yet.`)] };
  });
  file.addEventListener("change", preview.clear);
  ask({
    title: "Upload a file", yes: "Upload", wide: true,
    body: [
      h("p", {}, "For example what the warehouse has sent. Each line names an award by its number, which the lists to download have."),
      field("File", file, `CSV with the columns award, to and maybe reference, reason${mayAct() ? ", return" : ""}. to is ${mayAct() ? "claimed, fulfilled, reopened, voided or replaced" : "claimed, fulfilled or replaced"}.`),
      preview.elements,
    ].flat(),
    async act() {
      if (!preview.seen()) {
        await preview.check();
        return false; // what is uploaded was seen before
      }
      const { data } = await post(preview.seen(), false);
      await Promise.all([at.refresh(), after()]);
      return `Uploaded: ${count(data.written)} awards changed, ${count(data.unchanged)} were so already.`;
    },
  });
}
