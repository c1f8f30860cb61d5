// Drafts of rules that are not in force, one for each pool and token.

import { self } from "./state.js";

/**
 * A draft that is not sent yet, with the rules on which it is based. It is kept when
 * the dialog is closed and when the page is reloaded, but not when the tab is closed.
 */
export function drafts(id) {
  const key = `draft:rules:${self.name}:${id}`; // a colleague who signs in in the same tab has separate drafts
  return {
    read() {
      try {
        const kept = JSON.parse(sessionStorage.getItem(key));
        return typeof kept?.text === "string" && kept.base && Number.isSafeInteger(kept.version) ? kept : null;
      } catch {
        return null;
      }
    },
    keep: (draft) => sessionStorage.setItem(key, JSON.stringify(draft)),
    drop: () => sessionStorage.removeItem(key),
  };
}
