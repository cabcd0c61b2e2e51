/**
 * Four small charts: bars, a line with its interval, a heat map and a graph of relations.
 *
 * They are drawn here and not by a library, as chart libraries write HTML or inline styles, which the
 * page's policy (Trusted Types, style-src 'self') forbids; these four kinds need 200 lines. Each chart
 * has its title, and the same figures as a table: colour is never the only sign.
 */

import { currentLanguage, element, text, visibleLine } from "./elements.js";

/** The name of the language of drawings; nothing is fetched from it. */
const SVG = ["http:", "", "www.w3.org", "2000", "svg"].join("/");
const HEIGHT = 190;
const EDGE = { left: 58, right: 12, top: 14, bottom: 26 };
const LABEL_WIDTH = 62;

/** An element of a drawing; a string becomes its text. */
function shape(name, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) made.setAttribute(key, String(value));
  }
  made.append(...children.flat().filter((child) => child !== null));
  return made;
}

const label = (x, y, content, anchor = "middle", attributes = {}) =>
  shape("text", { x, y, "text-anchor": anchor, ...attributes }, visibleLine(content));

const named = (drawn, content) => {
  drawn.append(shape("title", {}, visibleLine(content)));
  return drawn;
};

/**
 * The frame of a chart. `draw(width)` returns the shapes and the height; it is called again when the
 * width changes, so that letters keep their size on a phone. `rows` are the figures as text.
 */
function chart(title, draw, headings, rows) {
  const drawing = shape("svg", { role: "img", "aria-label": visibleLine(title) });
  const show = (width) => {
    const { shapes, height } = draw(width);
    drawing.setAttribute("viewBox", `0 0 ${width} ${height}`);
    drawing.setAttribute("width", width);
    drawing.setAttribute("height", height);
    drawing.replaceChildren(...shapes.flat(Infinity));
  };
  const frame = element("div", { class: "drawing" }, drawing);
  let last = 0;
  new ResizeObserver(([{ contentRect }]) => {
    const width = Math.max(240, Math.floor(contentRect.width));
    if (width !== last && contentRect.width > 0) show(last = width);
  }).observe(frame);
  const cells = (tag, values) => values.map((value) => element(tag, tag === "th" ? { scope: "col" } : {}, visibleLine(value)));
  return element("figure", { class: "chart" },
    element("figcaption", {}, visibleLine(title)), frame,
    element("details", {}, element("summary", {}, text("figures")),
      element("div", { class: "scrolls", tabindex: 0, role: "group", "aria-label": visibleLine(title) },
        element("table", {}, element("thead", {}, element("tr", {}, cells("th", headings))),
          element("tbody", {}, rows.map((row) => element("tr", {}, cells("td", row))))))));
}

/** What stands where a chart would have nothing to show: its title, and a sentence that says so. */
const nothing = (title, said) =>
  element("figure", { class: "chart" }, element("figcaption", {}, visibleLine(title)), element("p", { class: "empty" }, said));

/** A number that is a little above a greatest value, for the end of an axis. */
function above(most) {
  if (!(most > 0)) return 1;
  const unit = 10 ** Math.floor(Math.log10(most));
  return [1, 2, 2.5, 5, 10].map((each) => each * unit).find((each) => each >= most) ?? most;
}

/** Lines across a chart at its values, with the values at the left. */
function grid(width, low, high, format) {
  const y = scale(low, high);
  return [0, 0.5, 1].map((share) => low + share * (high - low)).map((value) => shape("g", { class: "grid" },
    shape("line", { x1: EDGE.left, x2: width - EDGE.right, y1: y(value), y2: y(value) }),
    label(EDGE.left - 6, y(value) + 4, format(value), "end")));
}

const scale = (low, high) => (value) =>
  HEIGHT - EDGE.bottom - ((value - low) / (high - low || 1)) * (HEIGHT - EDGE.top - EDGE.bottom);

/** The names below a chart; some are left out where there is no room, the last one never. */
function below(names, x, width) {
  const step = Math.max(1, Math.ceil((names.length * LABEL_WIDTH) / (width - EDGE.left)));
  return names.map((name, index) => ((names.length - 1 - index) % step === 0 ? label(x(index), HEIGHT - 8, name) : null))
    .filter((each) => each !== null);
}

/**
 * Bars of `{ name, value }`; `format(value)` says a value with its unit. `headings` are of the table,
 * and `empty` is said instead of bars that all have no height.
 */
export function bars(title, items, { format = (value) => String(value), headings, isCount = false, empty = text("chart_empty") }) {
  const greatest = Math.max(0, ...items.map((each) => each.value));
  if (greatest === 0) return nothing(title, empty);
  const end = above(greatest);
  // The middle of a count is a whole number.
  const most = isCount ? 2 * Math.ceil(end / 2) : end;
  const draw = (width) => {
    const y = scale(0, most);
    const room = (width - EDGE.left - EDGE.right) / Math.max(1, items.length);
    const x = (index) => EDGE.left + (index + 0.5) * room;
    const thick = Math.max(1, Math.min(48, room * 0.7));
    const drawn = items.map(({ name, value }, index) => named(shape("rect", {
      class: "bar", x: x(index) - thick / 2, width: thick, y: y(value), height: Math.max(0, y(0) - y(value)),
    }), `${name}: ${format(value)}`));
    return { shapes: [grid(width, 0, most, format), drawn, below(items.map((each) => each.name), x, width)], height: HEIGHT };
  };
  return chart(title, draw, headings, items.map(({ name, value }) => [name, format(value)]));
}

/** A line through `{ name, mean, low, high }` with the band of its intervals; a mean of null is a gap. */
export function band(title, points, { format = (value) => String(value), headings, from = 0, to = 1 }) {
  if (points.every((each) => each.mean === null)) return nothing(title, text("chart_empty"));
  const draw = (width) => {
    const y = scale(from, to);
    const room = (width - EDGE.left - EDGE.right) / Math.max(1, points.length);
    const x = (index) => EDGE.left + (index + 0.5) * room;
    const drawn = runs(points).flatMap((run) => {
      const at = (key) => run.map(({ index, point }) => `${x(index)},${y(point[key])}`);
      return [
        shape("polygon", { class: "band", points: [...at("high"), ...at("low").reverse()].join(" ") }),
        shape("polyline", { class: "curve", points: at("mean").join(" ") }),
      ];
    });
    const dots = points.map((point, index) => ({ point, index })).filter(({ point }) => point.mean !== null).map(({ point, index }) =>
      named(shape("g", { class: "dot" },
        shape("line", { x1: x(index), x2: x(index), y1: y(point.low), y2: y(point.high) }),
        shape("circle", { cx: x(index), cy: y(point.mean), r: 4 })),
      `${point.name}: ${format(point.mean)} (${format(point.low)} – ${format(point.high)})`));
    return { shapes: [grid(width, from, to, format), drawn, dots, below(points.map((each) => each.name), x, width)], height: HEIGHT };
  };
  const figure = (value) => (value === null ? "–" : format(value));
  return chart(title, draw, headings, points.map((each) => [each.name, figure(each.mean), figure(each.low), figure(each.high)]));
}

/** The parts of a line without a gap. */
function runs(points) {
  const found = [];
  for (const [index, point] of points.entries()) {
    if (point.mean === null) continue;
    if (found.at(-1)?.at(-1)?.index === index - 1) found.at(-1)?.push({ index, point });
    else found.push([{ index, point }]);
  }
  return found;
}

/** A cell for each row and column; `value(row, column)` is 0 to 1 for its depth, or null, `shown` its text. */
export function heatMap(title, rows, columns, { value, shown, corner }) {
  const height = 30 + rows.length * 34;
  const draw = (width) => {
    const left = Math.min(150, width * 0.34);
    const room = (width - left - 4) / Math.max(1, columns.length);
    const heads = columns.map((column, index) => label(left + (index + 0.5) * room, 18, cut(column, room)));
    const lines = rows.map((row, at) => [
      named(label(left - 8, 30 + at * 34 + 21, cut(row, left - 12), "end"), row),
      ...columns.map((column, index) => {
        const depth = value(row, column);
        const [x, y] = [left + index * room, 30 + at * 34];
        return named(shape("g", {},
          shape("rect", { class: depth === null ? "cell none" : "cell", x: x + 1, y: y + 1, width: Math.max(1, room - 2), height: 32, "fill-opacity": depth === null ? null : 0.05 + 0.3 * Math.min(1, Math.max(0, depth)) }),
          label(x + room / 2, y + 21, cut(shown(row, column), room))), `${row} · ${column}: ${shown(row, column)}`);
      }),
    ]);
    return { shapes: [heads, lines], height };
  };
  return chart(title, draw, [corner, ...columns], rows.map((row) => [row, ...columns.map((column) => shown(row, column))]));
}

/** As much of a text as there is room for; the whole one is the title of its shape and in the table. */
function cut(content, room) {
  const written = visibleLine(content);
  const wide = [...written].reduce((sum, each) => sum + ((each.codePointAt(0) ?? 0) > 0x2e80 ? 12.5 : 7.7), 0);
  const fits = Math.max(1, Math.floor((room / wide) * [...written].length) - 1);
  return wide <= room ? written : `${[...written].slice(0, fits).join("")}…`;
}

/**
 * Relations of `edges` `{ from, to, weight, said }` between `nodes` `{ id, name }` on a circle. A strong
 * one (weight 1) is thick, a weak one thin, one below a half is dashed.
 */
export function graph(title, nodes, edges, { headings }) {
  const names = new Map(nodes.map((each) => [each.id, each.name]));
  const draw = (width) => {
    const height = Math.min(width, Math.max(260, Math.min(520, 120 + nodes.length * 24)));
    const [reach, side] = [height / 2 - 34, Math.max(40, width / 2 - 110)];
    const places = new Map(nodes.map((each, index) => {
      const angle = (index / Math.max(1, nodes.length)) * 2 * Math.PI - Math.PI / 2;
      return [each.id, { x: width / 2 + Math.min(side, reach * 1.5) * Math.cos(angle), y: height / 2 + reach * Math.sin(angle), angle }];
    }));
    const lines = edges.filter(({ from, to }) => places.has(from) && places.has(to)).map((each) => edgeOf(each, places, names));
    const dots = nodes.map((each) => {
      const { x, y, angle } = places.get(each.id);
      const [right, middle] = [Math.cos(angle), Math.abs(Math.cos(angle)) < 0.2];
      const beside = middle ? label(x, y + (Math.sin(angle) > 0 ? 22 : -12), cut(each.name, 140))
        : label(x + (right > 0 ? 11 : -11), y + 4, cut(each.name, Math.max(60, width / 2 - Math.abs(x - width / 2) - 16)), right > 0 ? "start" : "end");
      return named(shape("g", { class: "node" }, shape("circle", { cx: x, cy: y, r: 7 }), beside), each.name);
    });
    return { shapes: [lines, dots], height };
  };
  return chart(title, draw, headings, edges.map(({ from, to, said }) => [names.get(from) ?? from, names.get(to) ?? to, said]));
}

/** A bent line with its direction, so that both directions between two nodes can be seen. */
function edgeOf({ from, to, weight, said }, places, names) {
  const [a, b] = [places.get(from), places.get(to)];
  const [dx, dy] = [b.x - a.x, b.y - a.y];
  const long = Math.hypot(dx, dy) || 1;
  const middle = { x: (a.x + b.x) / 2 - (dy / long) * 16, y: (a.y + b.y) / 2 + (dx / long) * 16 };
  const end = { x: b.x - (dx / long) * 10, y: b.y - (dy / long) * 10 };
  const at = { x: (a.x + 2 * middle.x + b.x) / 4, y: (a.y + 2 * middle.y + b.y) / 4 };
  const turn = (Math.atan2(dy, dx) * 180) / Math.PI;
  return named(shape("g", { class: "edge" },
    shape("path", { d: `M${a.x},${a.y} Q${middle.x},${middle.y} ${end.x},${end.y}`, "stroke-width": 1 + 4 * Math.max(0, Math.min(1, weight)), "stroke-dasharray": weight < 0.5 ? "5 4" : null }),
    shape("path", { class: "arrow", d: "M-5,-4 L5,0 L-5,4 Z", transform: `translate(${at.x},${at.y}) rotate(${turn})` })),
  `${names.get(from)} → ${names.get(to)}: ${said}`);
}

/** A share as per cent, in the reader's language. */
export const percent = (share, digits = 0) =>
  share.toLocaleString(currentLanguage(), { style: "percent", maximumFractionDigits: digits });
