// The pause of a pool, and the texts that belong to it.

import { part, send } from "./api.js";
import { ask } from "./dialog.js";
import { field, folded, h, say } from "./dom.js";
import { last } from "./log.js";
import { t } from "./text.js";

const textMax = 200;

/** Asks for the texts of a pause, and pauses the pool. */
export function pausePool(at) {
  const revision = at.pool.revision;
  const notice = h("input", { maxlength: textMax, autocomplete: "off" }), reason = h("input", { maxlength: textMax, autocomplete: "off" });
  const after = h("input", { placeholder: "5m", pattern: "([0-9]+(h|m|s))+", autocomplete: "off" });
  ask({
    title: t("pause.title"), yes: t("pause.yes"),
    body: [
      h("p", {}, t("pause.means")),
      field(t("pause.notice"), notice, t("pause.noticeHint")),
      field(t("pause.reason"), reason, t("pause.reasonHint")),
      field(t("pause.retry"), after, t("pause.retryHint")),
      folded(h("p", {}, t("pause.codes"))),
    ],
    async act() {
      const pause = { state: "paused" };
      if (notice.value) pause.notice = notice.value;
      if (reason.value) pause.reason = reason.value;
      if (after.value) pause.retry_after = after.value;
      await send("PATCH", `admin/pools/${part(at.id)}`, pause, { "If-Match": `"${revision}"` });
      await at.refresh();
      return t("pause.paused");
    },
  });
}

/** The note about the pause of a pool. set(pool) updates it, and shows it only while the pool is paused. */
export function pauseNote(at) {
  const element = h("p", { class: "pause warning", hidden: true });
  let read = 0; // the revision for which the log was read
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
        pause.body.retry_after && t("pause.retries", { length: pause.body.retry_after }),
        pause.body.notice && t("pause.players", { notice: pause.body.notice }),
        pause.body.reason && t("pause.because", { reason: pause.body.reason }),
      ].filter(Boolean).join(" · ");
      if (at.signal.aborted || read !== pool.revision) return;
      say(element, said || "");
      element.hidden = !said;
    },
  };
}
