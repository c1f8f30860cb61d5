// Charts of a value over time: an area, a line, and the value at the pointer.

import { count, h, moment, rate as rateText, say, svg } from "./dom.js";
import { t } from "./text.js";

const width = 600, height = 150;

/** A chart that set(points) draws; a point is {at, y}. */
export function chart({ label, kind, unit = "", whole = true, close = false }) {
  const area = svg("path", { class: "area" });
  const line = svg("path", { class: "line" });
  const cursor = svg("line", { class: "cursor", y1: 0, y2: height });
  const drawing = svg("svg", { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: "img", "aria-label": label },
    [0.25, 0.5, 0.75].map((y) => svg("line", { class: "grid", x1: 0, x2: width, y1: y * height, y2: y * height })), area, line, cursor);
  const top = h("span", { class: "top" }), bottom = h("span", { class: "bottom" }), first = h("span"), last = h("span"), reading = h("output", {});
  const element = h("figure", { class: `chart ${kind}` }, h("figcaption", {}, h("span", {}, label), reading),
    h("div", { class: "plot" }, top, bottom, drawing), h("div", { class: "axis", "aria-hidden": "true" }, first, last));
  const text = (y) => `${whole ? count(y) : rateText(y)}${unit}`;
  let shown = null;

  const pointAt = (event) => {
    if (!shown) return;
    const box = drawing.getBoundingClientRect();
    const at = shown.from + ((event.clientX - box.left) / box.width) * (shown.to - shown.from);
    const point = shown.points.reduce((best, p) => (Math.abs(p.at - at) < Math.abs(best.at - at) ? p : best));
    cursor.setAttribute("x1", shown.x(point.at));
    cursor.setAttribute("x2", shown.x(point.at));
    cursor.classList.add("on");
    say(reading, `${moment(point.at)} · ${text(point.y)}`);
  };
  drawing.addEventListener("pointermove", pointAt);
  drawing.addEventListener("pointerleave", () => {
    cursor.classList.remove("on");
    say(reading, shown ? text(shown.points.at(-1).y) : "");
  });

  return {
    element,
    set(all) {
      const points = thinned(all);
      if (points.length < 2) {
        say(reading, points.length ? text(points[0].y) : "");
        return say(first, t("chart.waiting"));
      }
      const from = points[0].at, to = points.at(-1).at;
      const highest = Math.max(...points.map((p) => p.y)), lowest = Math.min(...points.map((p) => p.y));
      // If the values hardly differ, the scale does not begin at 0. Then its lower end is
      // labelled.
      const least = close && lowest > highest * 0.6 ? Math.max(0, highest - nice((highest - lowest) * 1.5)) : 0;
      const most = least > 0 ? least + nice((highest - least) * 1.2) : nice(highest);
      const x = (at) => ((at - from) / Math.max(1, to - from)) * width;
      const y = (value) => height - ((value - least) / (most - least)) * (height - 4);
      const path = points.map((p, i) => `${i ? "L" : "M"}${x(p.at).toFixed(1)} ${y(p.y).toFixed(1)}`).join("");
      line.setAttribute("d", path);
      area.setAttribute("d", `${path}L${width} ${height}L0 ${height}Z`);
      shown = { points, from, to, x };
      say(top, text(most));
      say(bottom, least > 0 ? text(least) : "");
      say(first, moment(from));
      say(last, moment(to));
      if (!cursor.classList.contains("on")) say(reading, text(points.at(-1).y));
      drawing.setAttribute("aria-label", t("chart.says", { label, first: text(points[0].y), from: moment(from), last: text(points.at(-1).y), to: moment(to) }));
    },
  };
}

/** Keeps at most one point for each two pixels of the width, the newest one. */
function thinned(points) {
  if (points.length <= width / 2) return points;
  const from = points[0].at, wide = Math.max(1, points.at(-1).at - from);
  const place = (p) => Math.floor(((p.at - from) / wide) * (width / 2));
  return points.filter((p, i) => i === points.length - 1 || place(p) !== place(points[i + 1]));
}

/** The smallest round number that is at least n. */
function nice(n) {
  if (!(n > 0)) return 1;
  const size = 10 ** Math.floor(Math.log10(n));
  return [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].map((m) => m * size).find((m) => m >= n * 0.999999);
}
