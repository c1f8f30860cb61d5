// An example of a campaign, for people who have none yet: it is shown from this file, and
// created only if they want it.

import { h, table } from "./dom.js";
import { newPool } from "./newpool.js";
import { meaning } from "./rulesmeaning.js";
import { t } from "./text.js";
import { browserZone, money } from "./words.js";

/** The prizes and the rules, in the form in which a pool is created. */
const example = () => ({
  prizes: [
    { id: "weekend", name: t("example.weekend"), value: "499.00", stock: 1 },
    { id: "voucher", name: t("example.voucher"), value: "25.00", stock: 20 },
    { id: "mug", name: t("example.mug"), value: "9.90", stock: 200 },
    { id: "none", name: t("example.noLuck"), kind: "blank" },
  ],
  rules: { win: "1/20", fallback: "none", limits: [{ of: "draws", max: 1, per: "day" }], budget: { max: "2500.00" }, zone: browserZone() },
});

/** Shows the example in the form of a new pool. */
export function showExample() {
  const members = example(), { prizes, rules } = members;
  const rows = prizes.map(({ name, value = "", stock }) => [name, value && money(value), stock ? String(stock) : t("example.endless")]);
  newPool({
    title: t("example.title"), intro: t("example.intro"), name: t("example.name"), members,
    shown: [
      h("h3", {}, t("example.prizes")), table(t("example.prizes"), [t("example.prize"), `#${t("example.value")}`, `#${t("example.units")}`], rows),
      h("h3", {}, t("example.rules")), meaning(null, rules, { pool: { prizes }, agenda: [] }),
    ],
  });
}
