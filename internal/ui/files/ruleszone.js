// The part of the form of rules about the time zone.

import { button, h } from "./dom.js";
import { entry } from "./rulesfields.js";
import { t } from "./text.js";
import { browserZone, isCalendar } from "./words.js";

const hasCalendar = (document) => isCalendar(document.budget?.per) || Array.isArray(document.limits) && document.limits.some((l) => isCalendar(l?.per));

/**
 * The field for the zone of the calendar. When the first calendar window is chosen, it is
 * preset to the browser's zone.
 */
export function zonePart({ first, changed }) {
  const zones = h("datalist", { id: "zones" }, (Intl.supportedValuesOf?.("timeZone") ?? []).map((value) => h("option", { value })));
  const read = (text) => (/^[A-Za-z0-9/_+-]+$/.test(text.trim()) ? text.trim() : null);
  const zone = entry({ label: t("ruleszone.zone"), first: first.zone ?? "", read, wanted: t("ruleszone.wanted"), hint: t("ruleszone.hint"), changed, attributes: { list: "zones" } });
  const own = browserZone();
  const set = () => {
    zone.input.value = own;
    zone.input.dispatchEvent(new Event("input"));
  };
  let isTyped = false;
  zone.input.addEventListener("input", (event) => { isTyped ||= event.isTrusted; });
  return {
    elements: [zones, zone.element, own !== (first.zone ?? "UTC") && h("p", {}, button(t("ruleszone.useOwn", { zone: own }), set, "small"))],
    preset(per) {
      if (isCalendar(per) && !isTyped && !zone.input.value && !hasCalendar(first)) set();
    },
    write(document) {
      if (!zone.isChanged()) return;
      const is = zone.value();
      if (is) document.zone = is;
      else delete document.zone;
    },
  };
}
