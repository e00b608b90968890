// Three small plots of the last answers, from the counts that every door logs.
// It knows no text: there is none in a record.

import { make } from "./passages.js";

const SVG = "http://www.w3.org/2000/svg";

// As many bars as can be told apart in a third of a narrow screen.
const SHOWN = 40;

const SERIES = [
  {
    id: "plot-invalid",
    name: "Invalid citations",
    bad: true,
    share: ({ cited, invalid }) => (cited + invalid ? invalid / (cited + invalid) : 0),
  },
  {
    id: "plot-refusals",
    name: "Refusals",
    bad: false,
    share: ({ refused_by: refusedBy }) => (refusedBy ? 1 : 0),
  },
  {
    id: "plot-unused",
    name: "Unused passages",
    bad: false,
    share: ({ cited, unused }) => (cited + unused ? unused / (cited + unused) : 0),
  },
];

/** Draws the records of the server, the newest at the right. */
export function plot(root, text, { records, total }) {
  const shown = records.slice(-SHOWN);
  const figures = SERIES.map((series) => ({ ...series, shares: shown.map(series.share) }));
  root.replaceChildren(...figures.map(figure));
  text.textContent = shown.length
    ? `${count(shown.length)} of ${total} so far: ${figures.map(sentence).join(", ")}.`
    : "No answers yet: ask something.";
}

function count(number) {
  return number === 1 ? "The last answer" : `The last ${number} answers`;
}

function sentence({ name, shares }) {
  return `${name.toLowerCase()} ${percent(mean(shares))}`;
}

function figure({ id, name, bad, shares }) {
  const node = make("figure");
  node.id = id;
  const caption = make("figcaption");
  const value = make("b", "", shares.length ? percent(mean(shares)) : "–");
  caption.append(make("span", "", name), value);
  const svg = element("svg", { viewBox: `0 0 ${SHOWN} 20`, preserveAspectRatio: "none", role: "img" });
  const last = shares.length ? `, ${percent(shares[shares.length - 1])} in the last one` : "";
  svg.setAttribute("aria-label", `${name}: ${percent(mean(shares))} on average${last}`);
  shares.forEach((share, index) => {
    // The newest is at the right, so that the plot grows to the left at first.
    const x = SHOWN - shares.length + index;
    const height = Math.max(share * 19, 0.6);
    const kind = share ? (bad ? "bar bad" : "bar") : "bar none";
    svg.append(
      element("rect", { class: kind, x: x + 0.12, y: 20 - height, width: 0.76, height }),
    );
  });
  svg.append(element("line", { class: "axis", x1: 0, x2: SHOWN, y1: 20, y2: 20 }));
  node.append(caption, svg);
  return node;
}

function mean(shares) {
  return shares.length ? shares.reduce((sum, share) => sum + share, 0) / shares.length : 0;
}

function percent(share) {
  return `${Math.round(share * 100)} %`;
}

function element(name, attributes) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, String(value));
  return node;
}
