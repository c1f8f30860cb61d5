// Webhooks: where events are sent, how far that has come, and what may be done about it.

import { get, part, send } from "./api.js";
import { ask, complain, message } from "./dialog.js";
import { button, copied, count, duration, fact, field, h, pill, time } from "./dom.js";
import { live, mayAct } from "./state.js";

const freshEvery = 2000;
const colours = { on: "open", failing: "bad", off: "paused", forked: "bad" };
const reasons = {
  operator: "Somebody switched it off.", gone: "The receiver answered that it is not there any more (410).", exhausted: "The receiver has not taken a message for three days.",
};
/** What is sent, in words. All but the losing tickets are sent unless somebody chooses. */
const events = {
  "award.won": "a win", "award.lost": "a losing ticket", "award.claimed": "a claim", "award.fulfilled": "a prize was sent", "award.reopened": "a prize waits to be sent again",
  "award.expired": "a prize was not claimed in time", "award.voided": "a prize was withdrawn", "award.replaced": "a code was replaced", "prize.low": "few of a prize are left",
  "prize.empty": "a prize is sold out", "pool.empty": "all prizes are sold out", "agenda.failed": "a planned act failed", "budget.spent": "the budget is used up",
  "pool.opened": "opened", "pool.paused": "paused", "pool.closed": "closed",
};

export async function hooksView(signal) {
  const list = h("div");
  let shown = "";
  const read = async () => {
    const { hooks } = await get("admin/hooks", { signal });
    const text = JSON.stringify(hooks);
    if (text === shown) return; // what does not change keeps the focus
    shown = text;
    const focused = list.contains(document.activeElement) && [document.activeElement.closest("[data-hook]")?.dataset.hook, document.activeElement.textContent];
    list.replaceChildren(...(hooks.length ? hooks.map((hook) => card(hook, read)) : [h("p", { class: "quiet" }, "No webhook yet. One tells your shop or your mail system of each win.")]));
    if (focused) [...list.querySelectorAll("button")].find((b) => b.textContent === focused[1] && b.closest("[data-hook]").dataset.hook === focused[0])?.focus();
  };
  await read();
  const timer = setInterval(() => read().catch(complain), freshEvery);
  signal.addEventListener("abort", () => clearInterval(timer));
  return [
    h("div", { class: "title" }, h("h1", {}, "Webhooks"), h("div", { class: "actions" }, mayAct() && button("Add a webhook…", () => add(read)))),
    h("p", { class: "quiet" }, "What happens is sent to these addresses, signed, in order and at least once. Nothing is lost while one does not answer: it is sent later."), list,
  ];
}

function card(hook, read) {
  const waits = hook.next_at !== null;
  const only = (ids) => (ids ? ids.join(", ") : "all");
  const acts = mayAct() ? [
    button("Test", () => test(hook).catch(complain)),
    waits && button("Retry now", () => retry(hook, read).catch(complain)),
    waits && button("Skip…", () => skip(hook, read)),
    button("Replay…", () => replay(hook, read)),
    button("New secret…", () => rotate(hook, read)),
    button(hook.state === "off" ? "Switch on…" : "Switch off…", () => turn(hook, read)),
    button("Remove…", () => remove(hook, read), "danger"),
  ] : [];
  return h("section", { class: "job", "aria-label": hook.url, dataset: { hook: hook.id } },
    h("div", { class: "title" }, h("div", { class: "row" }, h("h2", { class: "break" }, hook.url), pill(hook.state, colours[hook.state])), h("div", { class: "actions" }, acts.filter(Boolean))),
    hook.why && h("p", { class: "warning" }, reasons[hook.why] ?? `${hook.why}. Use Replay… to send what is there now.`),
    h("dl", { class: "facts" },
      fact("Waiting", hook.lag.events ? `${count(hook.lag.events)} ${hook.lag.events === 1 ? "event" : "events"}, the oldest for ${duration(hook.lag.seconds)}` : "nothing"),
      fact("Last answer", hook.last ? h("span", {}, answered(hook.last), ", ", time(hook.last.at)) : "none yet"),
      fact("Next attempt", waits && time(hook.next_at)),
      fact("Old secret signs until", hook.old_secret_until && time(hook.old_secret_until)),
      fact("Campaigns", only(hook.pools)), fact("Prizes", only(hook.prizes))),
    h("details", {}, h("summary", {}, "Technical"), h("dl", { class: "facts" }, fact("Id", h("code", {}, hook.id)), fact("Events", h("span", { class: "break" }, hook.types.join(", "))))));
}

/** How a receiver answered, in words. */
const answered = (a) => `${a.status ? `${a.status >= 200 && a.status < 300 ? "taken" : "not taken"} (${a.status})` : `no answer: ${a.error}`} in ${count(a.ms)} ms`;

function add(read) {
  const url = h("input", { type: "url", required: true, maxlength: 1000, autocomplete: "off", spellcheck: "false" });
  const boxes = Object.entries(events).map(([type, words]) => {
    const input = h("input", { type: "checkbox", value: type, id: `event-${type}` });
    input.checked = type !== "award.lost";
    return { input, element: h("label", { class: "check", for: input.id }, input, ` ${words}`) };
  });
  const pools = chooser("Campaigns", [...live.pools.values()].map((pool) => [pool.id, pool.name]));
  const prizes = h("input", { maxlength: 1000, autocomplete: "off", spellcheck: "false" });
  const from = h("select", {}, h("option", { value: "now" }, "what happens from now on"), h("option", { value: "start" }, "everything since the beginning"));
  ask({
    title: "Add a webhook", yes: "Add", wide: true,
    body: [
      field("Address", url, "Your developer has it. It begins with https."),
      h("fieldset", {}, h("legend", {}, "Events"), h("div", { class: "checks" }, boxes.map((b) => b.element))),
      pools.element, field("Only these prizes", prizes, "Their ids, with commas between; empty: all."), field("Begin with", from),
    ],
    async act() {
      const types = boxes.filter((b) => b.input.checked).map((b) => b.input.value);
      if (!types.length) throw new Error("Choose an event at least.");
      const wanted = { url: url.value.trim(), types, from: from.value };
      if (pools.chosen().length) wanted.pools = pools.chosen();
      if (prizes.value.trim()) wanted.prizes = prizes.value.split(",").map((id) => id.trim()).filter(Boolean);
      const { data } = await send("POST", "admin/hooks", wanted);
      await read();
      showSecret(data, "The webhook was added.");
    },
  });
}

/** Boxes for campaigns; without one that is ticked there is no filter. */
function chooser(legend, entries) {
  const boxes = entries.map(([id, name]) => ({ id, input: h("input", { type: "checkbox", id: `only-${id}` }), name }));
  return {
    element: boxes.length ? h("fieldset", {}, h("legend", {}, `Only these ${legend.toLowerCase()}; none ticked: all`), h("div", { class: "checks" }, boxes.map((b) => h("label", { class: "check", for: b.input.id }, b.input, ` ${b.name}`)))) : "",
    chosen: () => boxes.filter((b) => b.input.checked).map((b) => b.id),
  };
}

/** Shows a secret the only time that the service says it. It ends with the dialog. */
function showSecret(hook, said) {
  ask({
    title: "Secret of the webhook", no: "Close", wide: true,
    body: [
      h("p", {}, `${said} This is its secret. It is shown only now: give it to your developer, who verifies the messages with it.`),
      h("figure", { class: "paste" }, h("figcaption", {}, "Secret", copied(hook.secret)), h("pre", { class: "secret-words" }, hook.secret)),
    ],
  });
}

const path = (hook, act = "") => `admin/hooks/${part(hook.id)}${act && `/${act}`}`;

async function test(hook) {
  message(`Sending a test to ${hook.url}…`);
  const { data } = await send("POST", path(hook, "test"));
  message(`Test: ${answered(data)}.`, data.status >= 200 && data.status < 300 ? "" : "bad");
}

async function retry(hook, read) {
  await send("POST", path(hook, "retry"));
  await read();
  message("What waits is sent now.");
}

const poolField = (hook) => {
  const ids = hook.pools ?? [...live.pools.keys()];
  return h("select", { required: true }, ids.map((id) => h("option", { value: id }, live.pools.get(id)?.name ?? id)));
};

function skip(hook, read) {
  const pool = poolField(hook);
  ask({
    title: "Skip the message that waits?", yes: "Skip it", kind: "danger",
    body: [h("p", {}, "The receiver never gets the events of this message, up to 100, unless you replay them. Those that follow are sent. It is logged with your name."), field("Campaign", pool)],
    async act() {
      await send("POST", path(hook, "skip"), { pool: pool.value });
      await read();
      return "The message was skipped.";
    },
  });
}

function replay(hook, read) {
  const pool = poolField(hook);
  const after = h("input", { type: "number", min: 0, step: 1, value: 0, required: true, inputmode: "numeric" }), step = h("input", { type: "number", min: 0, step: 1, value: 0, required: true, inputmode: "numeric" });
  ask({
    title: "Send events again?", yes: "Send again",
    body: [
      h("p", {}, "The receiver gets them a second time, with the same ids: it can tell that it has them."), field("Campaign", pool),
      field("After version", after, "Of the campaign's log; 0: from the beginning."), field("After step", step, "Of what followed the wins; 0: from the beginning."),
    ],
    async act() {
      await send("POST", path(hook, "replay"), { pool: pool.value, after: Number(after.value), after_step: Number(step.value) });
      await read();
      return "The events are sent again.";
    },
  });
}

function rotate(hook, read) {
  ask({
    title: "Give it a new secret?", yes: "New secret", body: h("p", {}, "For 24 hours messages are signed with both secrets, so that your developer can exchange it without a gap."),
    async act() {
      const { data } = await send("POST", path(hook, "rotate"));
      await read();
      showSecret(data, "The secret was exchanged.");
    },
  });
}

function turn(hook, read) {
  const isOff = hook.state === "off";
  ask({
    title: isOff ? "Switch the webhook on?" : "Switch the webhook off?", yes: isOff ? "Switch on" : "Switch off",
    body: [h("p", {}, isOff ? "What happened meanwhile is sent first." : "Nothing is sent until it is on again. Nothing is lost."), h("p", { class: "break" }, hook.url)],
    async act() {
      await send("PATCH", path(hook), { state: isOff ? "on" : "off" });
      await read();
      return `The webhook is ${isOff ? "on" : "off"}.`;
    },
  });
}

function remove(hook, read) {
  ask({
    title: "Remove the webhook?", yes: "Remove permanently", kind: "danger",
    body: [h("p", {}, "Nothing is sent to it any more, and how far it has come is dropped with it."), h("p", { class: "break" }, hook.url)],
    async act() {
      await send("DELETE", path(hook));
      await read();
      return "The webhook was removed.";
    },
  });
}
