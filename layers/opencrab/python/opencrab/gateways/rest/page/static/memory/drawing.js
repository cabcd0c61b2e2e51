/** A graph as a picture: nodes that push each other away, and relations that pull them together. */

import { text, visibleLine } from "../lib/elements.js";

const SPACE = "http://www.w3.org/2000/svg";
const [WIDTH, HEIGHT, MARGIN] = [800, 480, 40];
const ROUNDS = 200;
const LABEL = 18;

/** An SVG of nodes and the edges between them; `onChosen(node)` when one is clicked or entered. */
export function drawing(nodes, edges, onChosen) {
  const places = arranged(nodes, edges);
  const lines = edges.filter((edge) => places.has(edge.origin) && places.has(edge.target)).map(({ origin, target }) => {
    const [from, to] = [places.get(origin), places.get(target)];
    return svg("line", { x1: from.x, y1: from.y, x2: to.x, y2: to.y });
  });
  const dots = nodes.map((node) => {
    const { x, y } = places.get(node.id);
    const label = visibleLine(node.label);
    const made = svg("g", { tabindex: 0, role: "button", "aria-label": label },
      svg("circle", { cx: x, cy: y, r: 5 + 5 * node.confidence }),
      svg("text", { x, y: y - 14, "text-anchor": "middle" }, label.length > LABEL ? `${label.slice(0, LABEL)}…` : label));
    made.addEventListener("click", () => onChosen(node));
    made.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      onChosen(node);
    });
    return made;
  });
  return svg("svg", { class: "graph", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "group", "aria-label": text("memory_graph") }, ...lines, ...dots);
}

function svg(name, attributes, ...children) {
  const made = document.createElementNS(SPACE, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, typeof value === "number" ? value.toFixed(1).replace(/\.0$/, "") : value);
  made.append(...children);
  return made;
}

/** The same places each time: they begin on a circle, and nothing is random. */
function arranged(nodes, edges) {
  const points = nodes.map((node, index) => {
    const angle = (index / nodes.length) * 2 * Math.PI;
    return { id: node.id, x: Math.cos(angle), y: Math.sin(angle), dx: 0, dy: 0 };
  });
  const byId = new Map(points.map((point) => [point.id, point]));
  const pulls = edges.map((edge) => [byId.get(edge.origin), byId.get(edge.target)]).filter(([one, other]) => one && other && one !== other);
  const ideal = 2 / Math.sqrt(nodes.length);
  for (let round = 0; round < ROUNDS; round += 1) step(points, pulls, ideal, 0.2 * (1 - round / ROUNDS));
  return fitted(points);
}

function step(points, pulls, ideal, heat) {
  for (const [index, one] of points.entries()) {
    for (const other of points.slice(index + 1)) push(one, other, (distance) => (ideal * ideal) / distance);
  }
  for (const [one, other] of pulls) push(one, other, (distance) => -(distance * distance) / ideal);
  for (const point of points) {
    // A little pull to the middle keeps what is not connected in sight.
    point.dx -= point.x * 0.3;
    point.dy -= point.y * 0.3;
    const length = Math.hypot(point.dx, point.dy) || 1;
    point.x += (point.dx / length) * Math.min(length, heat);
    point.y += (point.dy / length) * Math.min(length, heat);
    [point.dx, point.dy] = [0, 0];
  }
}

function push(one, other, force) {
  const [x, y] = [one.x - other.x, one.y - other.y];
  const distance = Math.max(Math.hypot(x, y), 0.01);
  const strength = force(distance) / distance;
  one.dx += x * strength;
  one.dy += y * strength;
  other.dx -= x * strength;
  other.dy -= y * strength;
}

function fitted(points) {
  const range = (values) => [Math.min(...values), Math.max(Math.max(...values) - Math.min(...values), 0.001)];
  const [left, wide] = range(points.map((point) => point.x));
  const [top, high] = range(points.map((point) => point.y));
  return new Map(points.map((point) => [point.id, {
    x: MARGIN + ((point.x - left) / wide) * (WIDTH - 2 * MARGIN),
    y: MARGIN + ((point.y - top) / high) * (HEIGHT - 2 * MARGIN),
  }]));
}
