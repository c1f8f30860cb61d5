// Pausing a pool, and what its pause says.

import { part, send } from "./api.js";
import { ask } from "./dialog.js";
import { field, h, say } from "./dom.js";
import { last } from "./log.js";

const textMax = 200;

/** Asks for what a pause says, and pauses the pool. */
export function pausePool(at) {
  const revision = at.pool.revision;
  const notice = h("input", { maxlength: textMax, autocomplete: "off" }), reason = h("input", { maxlength: textMax, autocomplete: "off" });
  const after = h("input", { placeholder: "5m", pattern: "([0-9]+(h|m|s))+", autocomplete: "off" });
  ask({
    title: "Pause the pool?", yes: "Pause",
    body: [
      h("p", {}, "Nobody can draw until the pool is opened again. Known draws are still answered. All fields may stay empty."),
      field("Notice", notice, "Players see it with each refusal."),
      field("Reason", reason, "It is kept in the log, with your name. Players do not see it."),
      field("Retry after", after, "Such as 5m or 1h: draws are answered 503 paused, and callers retry. Empty: 409 pool-not-open, which is final to callers."),
    ],
    async act() {
      const pause = { state: "paused" };
      if (notice.value) pause.notice = notice.value;
      if (reason.value) pause.reason = reason.value;
      if (after.value) pause.retry_after = after.value;
      await send("PATCH", `admin/pools/${part(at.id)}`, pause, { "If-Match": `"${revision}"` });
      await at.refresh();
      return "The pool is paused.";
    },
  });
}

/** What the pause of a pool says; set(pool) shows it while the pool is paused. */
export function pauseNote(at) {
  const element = h("p", { class: "pause warning", hidden: true });
  let read = 0; // the revision that was read
  return {
    element,
    async set(pool) {
      if (pool.state !== "paused") {
        element.hidden = true;
        read = 0;
        return;
      }
      if (read === pool.revision) return;
      read = pool.revision;
      const { entries } = await last(at, true, pool.revision);
      const pause = entries.find((e) => e.what === "state");
      const said = pause && [
        pause.body.retry_after && `Callers retry: paused for about ${pause.body.retry_after}.`,
        pause.body.notice && `Notice: ${pause.body.notice}`,
        pause.body.reason && `Reason: ${pause.body.reason}`,
      ].filter(Boolean).join(" · ");
      if (at.signal.aborted || read !== pool.revision) return;
      say(element, said || "");
      element.hidden = !said;
    },
  };
}
