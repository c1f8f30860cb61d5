// A new pool. The name is typed first, and the id is derived from it.

import { part, send } from "./api.js";
import { ask } from "./dialog.js";
import { field, h, say } from "./dom.js";
import { live } from "./state.js";
import { t } from "./text.js";

export const idPattern = "[a-z0-9][a-z0-9._\\-]{0,63}";
const idMax = 64, attemptsMax = 50;
// Letters that Unicode does not decompose into a letter and a mark, and letters that
// German writes as two.
const letters = { ä: "ae", ö: "oe", ü: "ue", ß: "ss", æ: "ae", œ: "oe", ø: "o", å: "a", ł: "l", đ: "d", ð: "d", þ: "th", ħ: "h", ı: "i", ŋ: "n", "€": "eur", "&": "and" };

/**
 * Derives an id from a name: lower-case letters, digits and dashes. For a name without
 * any of them it is "campaign".
 */
export function idOf(name) {
  const known = [...name.normalize("NFC").toLowerCase()].map((letter) => letters[letter] ?? letter).join("");
  const plain = known.normalize("NFKD").replace(/\p{M}/gu, "").replace(/['’]/g, "").replace(/[^a-z0-9]+/g, "-");
  return plain.slice(0, idMax).replace(/^-+|-+$/g, "") || "campaign";
}

/** Appends a number to an id, such as advent-2, and shortens the id if necessary. */
export const numbered = (id, n) => (n < 2 ? id : `${id.slice(0, idMax - `-${n}`.length).replace(/-+$/, "")}-${n}`);

/** The first number with which the id is free, as far as the page has read the pools. */
function firstFree(id) {
  let n = 1;
  while (live.pools.has(numbered(id, n))) n++;
  return n;
}

/** The fields for the name and the id of a new pool. The id follows the name until somebody types an id. */
export function namedFields(first = "") {
  const name = h("input", { required: true, maxlength: 200, autocomplete: "off", value: first });
  const id = h("input", { required: true, pattern: idPattern, autocomplete: "off", autocapitalize: "off", spellcheck: "false" });
  const shown = h("code", {});
  let isTyped = false;
  const follow = () => {
    if (!isTyped) id.value = name.value.trim() ? numbered(idOf(name.value), firstFree(idOf(name.value))) : "";
    say(shown, id.value);
  };
  name.addEventListener("input", follow);
  id.addEventListener("input", () => {
    isTyped = id.value !== "";
    say(shown, id.value);
  });
  const details = h("details", {}, h("summary", {}, `${t("newpool.id")} `, shown), field(t("newpool.idField"), id, t("newpool.idHint")));
  id.addEventListener("invalid", () => { details.open ||= id.value !== ""; });
  follow();
  return {
    elements: [field(t("newpool.name"), name), details],
    name: () => name.value,
    /** Creates a pool by make(id). While an id that follows the name is taken, it tries the next number. */
    async create(make) {
      const base = isTyped ? id.value : idOf(name.value);
      for (let n = isTyped ? 1 : firstFree(base), attempts = 1; ; n++, attempts++) {
        try {
          await make(numbered(base, n));
          return numbered(base, n);
        } catch (problem) {
          if (!isTyped && problem.code === "pool-exists" && attempts < attemptsMax) continue;
          if (problem.status === 0 || problem.status === 504) [isTyped, id.value] = [true, numbered(base, n)]; // the pool may have been created
          throw problem;
        }
      }
    },
  };
}

/** Asks for the name of a new pool, and creates it with the given members. */
export function newPool({ title = t("newpool.title"), intro = "", name = "", members = { prizes: [] }, shown = [] } = {}) {
  const fields = namedFields(name);
  const state = h("select", {}, h("option", { value: "paused" }, t("states.paused")), h("option", { value: "open" }, t("states.open")));
  ask({
    title, yes: t("newpool.make"),
    body: [intro && h("p", {}, intro), ...fields.elements, field(t("newpool.state"), state), ...shown].filter(Boolean),
    async act() {
      const id = await fields.create((as) => send("POST", "admin/pools", { ...members, id: as, name: fields.name(), state: state.value }));
      location.hash = `#/pools/${part(id)}`;
      return t("newpool.made", { id });
    },
  });
}
