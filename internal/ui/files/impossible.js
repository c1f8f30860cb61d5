// Buttons for actions that have become impossible. They stay in their place, and explain
// why.

import { message } from "./dialog.js";
import { t } from "./text.js";

export const closedWhy = t("impossible.closed");

/** Marks the action of a button as impossible, with the reason; "" marks it as possible. */
export function impossible(button, why) {
  if (why === (button.title ?? "") && Boolean(why) === button.hasAttribute("aria-disabled")) return;
  if (why) button.setAttribute("aria-disabled", "true");
  else button.removeAttribute("aria-disabled");
  button.title = why;
}

/**
 * Makes a click on a marked button in a place show the reason, instead of the action. In
 * a closed pool, at.pool, the buttons of all changes are marked.
 */
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
