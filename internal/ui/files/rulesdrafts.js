// Drafts of rules that are not in force, each of a pool and of the token that made it.

import { self } from "./state.js";

/** A draft that is not sent yet, with the rules that it began from. It survives the dialog and a reload, and ends with the tab. */
export function drafts(id) {
  const key = `draft:rules:${self.name}:${id}`; // a colleague who signs in in this tab has drafts of their own
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
