// The dialog for the rules of a pool: a form and its JSON, the meaning, the changes, and
// conflicts of a draft with somebody else's change.

import { call, get, part } from "./api.js";
import { ask, problemText } from "./dialog.js";
import { button, field, h, moment, say } from "./dom.js";
import { last } from "./log.js";
import { differenceList, isSame, memberWords, onTop } from "./rulesdiff.js";
import { drafts } from "./rulesdrafts.js";
import { rulesForm } from "./rulesform.js";
import { meaning } from "./rulesmeaning.js";
import { simulateDraft } from "./simulation.js";
import { t } from "./text.js";
import { browserZone, readDocument, readExactly } from "./words.js";

const meansAfter = 700; // the service checks the rules when nothing was typed for this time, in ms
const written = (document) => JSON.stringify(document, null, 2);

/** The rules with which the dialog begins if a pool has none. */
function begun(pool) {
  const blank = pool.prizes.find((prize) => prize.kind === "blank" && prize.stocked === null);
  return { ...(blank && { fallback: blank.id }), zone: browserZone() };
}

/**
 * Asks for new rules. own are the rules in force: version, document, actor, at. done is
 * called when new rules are in force.
 */
export function editRules(at, path, own, done) {
  const kept = drafts(at.id), found = kept.read();
  const state = found ?? { version: own.version, base: own.document ?? {}, text: written(own.document ?? begun(at.pool)) };
  const panels = editor(at, state, (text) => {
    state.text = text;
    if (isSame(tryRead(text), state.base)) kept.drop();
    else kept.keep(state);
    note.hidden = kept.read() === null;
  });
  const start = () => {
    Object.assign(state, { version: own.version, base: own.document ?? {} });
    panels.set(written(own.document ?? begun(at.pool)));
    kept.drop();
    note.hidden = true;
    edit();
  };
  const note = h("p", { class: "warning" }, t("rulesdialog.draft"), " ", button(t("rulesdialog.discard"), start, "small"));
  note.hidden = !found;
  const steps = h("div", { class: "step" }), explained = h("p", {}, t("rulesdialog.applies"));
  let next = () => {};
  const to = (yes, elements, then) => {
    next = then;
    say(dialog.querySelector("button[type=submit]"), yes);
    steps.replaceChildren(...elements);
    steps.querySelector("h3")?.focus();
  };
  const edit = () => {
    to(t("rulesdialog.review"), panels.elements, review);
    dialog.querySelector("[role=tab][aria-selected=true]").focus();
    panels.explain();
  };
  const review = async () => {
    const document = panels.read();
    const words = await panels.check().catch((problem) => {
      if (!panels.isShown()) edit(); // the combined changes may be invalid: the user can correct them in the editor
      throw problem;
    });
    const isNothing = isSame(document, state.base) && state.version !== 0;
    to(t("rulesdialog.force"), [
      heading(t(isNothing ? "rulesdialog.nothing" : "rulesdialog.changes")), differenceList(state.base, document, at),
      h("h3", {}, t("rulesdialog.means")), meaning(words, document, at), h("p", {}, button(t("rulesdialog.back"), edit, "small")),
    ], bind);
    return false;
  };
  const bind = async () => {
    try {
      await call("PUT", path, { body: state.text, headers: { "If-Match": `"${state.version}"` } });
    } catch (problem) {
      if (problem.status !== 412 && !(problem.status === 409 && problem.code === "rules-changed")) {
        edit();
        panels.mark(problem);
        throw problem;
      }
      await conflict();
      return false;
    }
    kept.drop();
    await at.refresh();
    await done();
    return t("rulesdialog.done");
  };
  /** Somebody else has changed the rules: shows the changes of both, and offers to apply the draft to the new rules. */
  const conflict = async () => {
    kept.keep(state);
    note.hidden = false;
    const theirs = await presentRules(at, path), mine = panels.read();
    const { document, both } = onTop(state.base, mine, theirs.document);
    to(t("rulesdialog.keep"), [
      heading(t("rulesdialog.conflict", { actor: theirs.actor, at: moment(theirs.at).replace(/^(\d{1,2}:\d\d):\d\d/, "$1") })),
      h("h3", {}, t("rulesdialog.theirs", { actor: theirs.actor })), differenceList(state.base, theirs.document, at),
      h("h3", {}, t("rulesdialog.mine")), differenceList(theirs.document, document, at),
      both.length > 0 && h("p", { class: "warning" }, t("rulesdialog.both", { members: both.map(memberWords).join(", ") })),
      h("p", {}, button(t("rulesdialog.take"), () => { Object.assign(own, theirs); start(); }, "small")),
    ].filter(Boolean), () => {
      Object.assign(state, { version: theirs.version, base: theirs.document });
      Object.assign(own, theirs);
      panels.set(written(document));
      kept.keep(state);
      return review();
    });
  };
  const dialog = ask({ title: t("rulesdialog.title"), yes: t("rulesdialog.review"), wide: true, body: [explained, note, steps], act: () => next() });
  dialog.addEventListener("close", () => panels.end());
  edit();
  if (found && found.version !== own.version) conflict().catch(panels.fault);
  return dialog;
}

const heading = (text) => h("h3", { tabindex: "-1" }, text);

const tryRead = (text, read = readDocument) => {
  try {
    return read(text);
  } catch {
    return null;
  }
};

/** The rules in force, with who set them and when; without rules, with who removed them. */
async function presentRules(at, path) {
  try {
    const { version, actor, at: when, rules } = await get(path);
    return { version, actor, at: when, document: rules };
  } catch (problem) {
    if (problem.status !== 404) throw problem;
    const pool = await get(`admin/pools/${part(at.id)}`);
    const { entries } = await last(at, true, pool.version);
    const removed = entries.find((entry) => entry.what === "rules");
    return { version: 0, actor: removed?.actor ?? t("rulesdialog.somebody"), at: removed?.at ?? new Date().toISOString(), document: {} };
  }
}

/** The form and the JSON editor of one document. typed(text) is called with the document after each change. */
function editor(at, state, typed) {
  const text = h("textarea", { rows: 18, spellcheck: "false", required: true, class: "code" });
  const json = h("div", { role: "tabpanel", id: "rules-json", "aria-labelledby": "tab-json" }, field(t("rulesdialog.document"), text, t("rulesdialog.documentHint")));
  const place = h("div", { class: "rules-form" }), panel = h("div", { role: "tabpanel", id: "rules-form", "aria-labelledby": "tab-form" }, place);
  const tab = (name, words) => h("button", { type: "button", role: "tab", id: `tab-${name}`, "aria-controls": `rules-${name}`, onclick: () => show(name), onkeydown: (event) => arrow(event) }, words);
  const tabs = { form: tab("form", t("rulesdialog.form")), json: tab("json", t("rulesdialog.json")) };
  const means = h("div", { class: "means", "aria-live": "polite" }), tried = h("div", { class: "preview", "aria-live": "polite" });
  let form = null, shown = "form", timer = 0, asked = 0;
  const later = () => {
    clearTimeout(timer);
    timer = setTimeout(explain, meansAfter);
  };
  const changed = (per) => {
    if (per) form.preset(per);
    text.value = written(form.document());
    typed(text.value);
    tried.replaceChildren();
    if (form.faulty()) means.replaceChildren(h("p", { class: "quiet" }, t("rulesdialog.unclear")));
    asked++; // an answer that is under way is about the earlier document
    later();
  };
  text.addEventListener("input", () => {
    clearTimeout(timer);
    typed(text.value);
    tried.replaceChildren();
    means.replaceChildren(); // they are about the earlier document; typed JSON is checked when the user reviews it
  });
  const build = () => {
    form = rulesForm(readExactly(text.value), at, (per) => changed(per));
    place.replaceChildren(...form.elements);
  };
  const show = (name) => {
    try {
      if (name === "json" && form && shown === "form") isWhole();
      if (name === "form") build();
    } catch (problem) {
      return fault(problem);
    }
    clearTimeout(timer);
    if (name === "form" && shown === "json") later();
    shown = name;
    for (const [key, element] of Object.entries(tabs)) {
      element.setAttribute("aria-selected", key === name);
      element.tabIndex = key === name ? 0 : -1;
    }
    panel.hidden = name !== "form";
    json.hidden = name !== "json";
    place.replaceChildren(...(name === "form" ? form.elements : [])); // invalid fields of a hidden form must not prevent sending
    text.required = name === "json";
  };
  const arrow = (event) => {
    if (!/^Arrow(Left|Right)$/.test(event.key)) return;
    show(shown === "form" ? "json" : "form");
    tabs[shown].focus();
  };
  /** Throws unless all fields of the form can be read. */
  const isWhole = () => {
    const faulty = shown === "form" && form.faulty();
    if (!faulty) return;
    faulty.reportValidity();
    throw Object.assign(new Error(t("rulesdialog.mend")), { title: t("rulesdialog.incomplete") });
  };
  const explain = async () => {
    if (!panel.isConnected || !tryRead(text.value) || shown === "form" && (form.isStrange || form.faulty())) return;
    const turn = ++asked;
    let said;
    try {
      const document = readDocument(text.value);
      said = [h("h3", {}, t("rulesdialog.means")), meaning(await wordsOf(at, text.value), document, at)];
    } catch (problem) {
      said = problemText(shown === "form" ? forForm(problem) : problem, (sentence) => h("p", { class: "quiet" }, sentence));
    }
    if (turn === asked) means.replaceChildren(...said);
  };
  /** Marks the place of a problem: the part of the form, or the place in the JSON. */
  const mark = (problem) => {
    const [, member] = problem.message.match(/"([a-z]+)[^"]*"/) ?? [];
    if (shown === "form") {
      form?.show(member);
      if (!form?.isStrange) forForm(problem);
    }
    const { line, column } = problem.place ?? problem.message.match(/line (?<line>\d+), column (?<column>\d+)/)?.groups ?? {};
    if (shown === "json" && line) {
      const lines = text.value.split("\n"), isOfService = Boolean(problem.status);
      const within = isOfService ? [...lines[line - 1] ?? ""].slice(0, column - 1).join("").length : column - 1; // the service counts code points, JavaScript UTF-16 units
      const before = lines.slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0) + within;
      text.focus();
      text.setSelectionRange(before, before + 1);
    }
  };
  const fault = (problem) => {
    mark(problem);
    tried.replaceChildren(h("div", { class: "error" }, problemText(problem)));
  };
  const tryIt = button(t("rulesdialog.check"), async () => {
    try {
      isWhole();
      readDocument(text.value);
      tryIt.disabled = true;
      await simulateDraft(at, text.value, tried);
    } catch (problem) {
      fault(problem);
    } finally {
      tryIt.disabled = false;
    }
  });
  text.value = state.text;
  show(tryRead(state.text, readExactly) ? "form" : "json");
  return {
    elements: [h("div", { class: "tabs", role: "tablist", "aria-label": t("rulesdialog.shownAs") }, tabs.form, tabs.json), h("div", { class: "sheet" }, h("div", {}, panel, json), means), h("p", {}, tryIt), tried],
    explain, fault, mark, isShown: () => panel.isConnected,
    end: () => clearTimeout(timer),
    set(document) {
      text.value = document;
      typed(document);
      show(shown);
    },
    read() {
      isWhole();
      try {
        return readDocument(text.value);
      } catch (problem) {
        mark(problem);
        throw problem;
      }
    },
    /** Makes the service check the document. Returns the sentences about its meaning. */
    async check() {
      clearTimeout(timer);
      try {
        return await wordsOf(at, text.value);
      } catch (problem) {
        mark(problem);
        throw problem;
      }
    },
  };
}

/**
 * A problem of a document, without its place in the JSON, which the form does not show.
 * For a missing losing ticket the page has its own sentence.
 */
const forForm = (problem) => Object.assign(problem, /^"fallback" is missing/.test(problem.message)
  ? { code: "", title: t("rulesdialog.losesTitle"), message: t("rulesdialog.loses") }
  : { message: problem.message.replace(/ \(line \d+, column \d+\)$/, "") });

/**
 * Makes the service check a document, as it would before putting it in force. Returns the
 * sentences about its meaning.
 */
const wordsOf = async (at, text) => (await call("POST", `admin/pools/${part(at.id)}/rules`, { body: text })).data.words;
