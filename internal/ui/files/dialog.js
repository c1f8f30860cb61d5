// Dialogs before actions, and messages after them.

import { button, folded, h } from "./dom.js";
import { isText, sentenceOf, t } from "./text.js";

/**
 * Opens a dialog. act is called when the user agrees, and may throw a problem, which the
 * dialog shows. The dialog closes when act is done, unless it returns false.
 */
export function ask({ title, body = [], yes, kind = "", act, wide = false, no = t("dialog.cancel") }) {
  const error = h("div", { class: "error", role: "alert" });
  const agree = yes && h("button", { type: "submit", class: `strong ${kind}` }, yes);
  const form = h("form", { method: "dialog", novalidate: false },
    h("h2", { id: "dialog-title" }, title), body, error,
    h("p", { class: "actions" }, button(no, () => dialog.close()), agree));
  const dialog = h("dialog", { "aria-labelledby": "dialog-title", class: wide && "wide" }, form);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    error.replaceChildren();
    agree.disabled = true;
    try {
      const said = await act(form);
      if (said !== false) dialog.close();
      if (typeof said === "string") message(said);
    } catch (problem) {
      error.replaceChildren(...problemText(problem));
    } finally {
      agree.disabled = false;
    }
  });
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  (form.querySelector("input:not([type=file]),textarea,select") ?? form.querySelector(".actions button")).focus();
  return dialog;
}

/**
 * A problem as elements: the sentence for its code, and under it the service's text,
 * folded. For an invalid request that text is unfolded, because it names the field, or
 * the lines of a file.
 */
export function problemText(problem, headed = (text) => h("p", {}, h("strong", {}, text))) {
  const lines = problem.message.split(/; (?=line \d|and \d+ more|nothing was)/);
  const said = lines.length === 1 ? h("p", {}, problem.message) : h("ul", { class: "lines" }, lines.map((line) => h("li", {}, line)));
  if (!problem.code || !isText(`errors.${problem.code}`)) return [headed(problem.title ?? t("dialog.error")), said, problem.note && h("p", {}, problem.note)].filter(Boolean);
  const sentence = headed(sentenceOf(problem));
  if (problem.code === "no-answer") return [sentence];
  const technical = folded(h("p", {}, `${problem.title} (${problem.code})`), said);
  technical.dataset.code = problem.code;
  technical.open = problem.code === "invalid-request";
  return [sentence, technical];
}

/**
 * Shows a message, a text or nodes, for a while. A message with an unfolded part stays
 * until that part is folded again.
 */
export function message(text, kind = "") {
  let isRead = false;
  const note = h("div", { class: kind, onclick: () => { isRead = true; } }, text);
  const end = () => (isRead && note.querySelector("details[open]") ? setTimeout(end, 1000) : note.remove());
  document.getElementById("messages").append(note);
  setTimeout(end, 8000);
}

/** Shows a problem that did not occur in a dialog. */
export const complain = (problem) => {
  if (problem.name !== "AbortError" && problem.status !== 401) message(problem.code ? problemText(problem) : sentenceOf(problem), "bad");
};
