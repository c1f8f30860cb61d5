// What is not possible any more stays where it was, and says why.

import { message } from "./dialog.js";
import { t } from "./text.js";

export const closedWhy = t("impossible.closed");

/** Marks a button as not possible for a reason, or as possible for "". */
export function impossible(button, why) {
  if (why === (button.title ?? "") && Boolean(why) === button.hasAttribute("aria-disabled")) return;
  if (why) button.setAttribute("aria-disabled", "true");
  else button.removeAttribute("aria-disabled");
  button.title = why;
}

/** Lets no marked button in a place act: a click says why. at.pool is the pool; in a closed one all changes are marked. */
export function explainImpossible(place, at) {
  const mark = () => {
    if (at.pool.state === "closed") place.querySelectorAll("button.changes, .changes button").forEach((button) => impossible(button, closedWhy));
  };
  new MutationObserver(mark).observe(place, { childList: true, subtree: true });
  place.addEventListener("click", (event) => {
    const button = event.target.closest("button[aria-disabled=true]");
    if (!button) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    message(button.title);
  }, true);
  return { set: mark };
}
