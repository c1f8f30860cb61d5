// Previews: what a file would do.

import { problemText } from "./dialog.js";
import { button, h } from "./dom.js";
import { t } from "./text.js";

const fileMax = 8 << 20;

/**
 * A preview. what() makes a trial, and returns the elements of the preview as shows, and
 * the content that it is about as seen. check shows a new preview, and clear removes it.
 * seen returns the content of the shown preview, null without one.
 */
export function previewed(what) {
  const place = h("div", { class: "preview", "aria-live": "polite" });
  let seen = null;
  const show = (...elements) => { seen = null; place.replaceChildren(...elements); };
  const clear = () => show();
  const check = async () => {
    clear();
    try {
      const tried = await what();
      show(...tried.shows);
      seen = tried.seen;
    } catch (problem) {
      show(h("div", { class: "error" }, problemText(problem)));
    }
  };
  return { elements: [h("p", {}, button(t("preview.preview"), check)), place], check, clear, show, seen: () => seen };
}

/** The bytes of the chosen file, which the service checks. otherwise is the advice for a file that is too large. */
export async function chosen(file, otherwise) {
  const from = file.files[0];
  if (!from) throw Object.assign(new Error(t("preview.noFile")), { title: t("preview.noFileTitle") });
  if (from.size > fileMax) throw Object.assign(new Error(t("preview.tooLarge", { otherwise })), { title: t("preview.tooLargeTitle") });
  return from.arrayBuffer();
}
