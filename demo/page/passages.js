// The passages as cards, which can be edited before the model sees them. It
// knows no server: what is searched for and what is asked is another's business.

import { safeUrl } from "./citestream.js";

export class Cards {
  #list;
  #onLight;
  #cards = [];
  // Texts that the reader wrote, by the passage's id.
  #edits = new Map();

  /**
   * @param {HTMLOListElement} list
   * @param {{most: number, onLight: (label: string | null) => void}} options
   */
  constructor(list, { most, onLight }) {
    this.#list = list;
    this.most = most;
    this.#onLight = onLight;
  }

  /** Shows what was found. What was edited stays edited when it is found again. */
  show(passages) {
    for (const { passage, area } of this.#cards) {
      if (area.value === passage.text) this.#edits.delete(passage.id);
      else this.#edits.set(passage.id, area.value);
    }
    const best = Math.max(...passages.map(({ score }) => score ?? 0), 0);
    this.#cards = passages.map((passage, index) => this.#card(passage, index, best));
    this.#list.replaceChildren(...this.#cards.map(({ node }) => node));
  }

  get length() {
    return this.#cards.length;
  }

  /** The passages as a request holds them: an edited text goes along, another need not. */
  get edited() {
    return this.#cards.map(({ passage, area }) =>
      area.value === passage.text ? { id: passage.id } : { id: passage.id, text: area.value },
    );
  }

  /** Labels by what the reader says of them: the one that holds the answer. */
  get holding() {
    return this.#cards.find(({ holds }) => holds.checked)?.passage ?? null;
  }

  /** Returns what a label stands for. */
  of(label) {
    return this.#cards.find(({ passage }) => String(passage.label) === String(label))?.passage;
  }

  /** Marks the card of a label; `null` marks none. */
  light(label) {
    for (const { passage, node } of this.#cards) {
      node.classList.toggle("lit", label !== null && String(passage.label) === String(label));
    }
  }

  #card(passage, index, best) {
    const label = String(passage.label);
    const node = make("li", "card");
    node.dataset.id = passage.id;
    node.dataset.label = label;

    const top = make("div", "top");
    const title = make("h3");
    title.append(make("span", "marker", passage.marker), " ", make("span", "title", passage.title));
    const score = make("span", "score", (passage.score ?? 0).toFixed(2));
    score.title = "How well it matches: higher is better";
    score.prepend(make("span", "unseen", "score "));
    top.append(title, score, meter(best ? (passage.score ?? 0) / best : 0));

    const place = make("p", "place");
    place.append(`${passage.place} · ${passage.version}`);
    const url = safeUrl(passage.url);
    if (url) place.append(" · ", link(url, "source", passage.title));

    const shown = make("p", "shown", passage.text);
    const area = make("textarea", "text");
    area.value = this.#edits.get(passage.id) ?? passage.text;
    area.maxLength = this.most;
    area.hidden = true;
    area.setAttribute("aria-label", `Text of passage ${label}`);

    const bottom = make("div", "bottom");
    const holds = make("input", "holds");
    holds.type = "radio";
    holds.name = "holds";
    // The list is outside the form: this is no part of the setting.
    holds.value = label;
    holds.checked = index === 0;
    const holding = make("label");
    holding.append(holds, "holds the answer");
    const edit = make("button", "quiet edit", "Edit");
    edit.type = "button";
    edit.setAttribute("aria-expanded", "false");
    edit.append(make("span", "unseen", ` passage ${label}`));
    const undo = make("button", "quiet undo", "Undo");
    undo.type = "button";
    undo.hidden = true;
    undo.append(make("span", "unseen", ` the edit of passage ${label}`));
    const buttons = make("span");
    buttons.append(undo, edit);
    bottom.append(holding, buttons);
    node.append(top, place, shown, area, bottom);

    const see = () => {
      // An empty passage is no passage: the text comes back.
      if (!area.value.trim()) area.value = passage.text;
      shown.textContent = area.value;
      undo.hidden = area.value === passage.text;
    };
    edit.addEventListener("click", () => {
      const open = area.hidden;
      area.hidden = !open;
      shown.hidden = open;
      edit.firstChild.data = open ? "Done" : "Edit";
      edit.setAttribute("aria-expanded", String(open));
      see();
      if (open) area.focus();
    });
    area.addEventListener("change", see);
    see();
    undo.addEventListener("click", () => {
      area.value = passage.text;
      see();
      edit.focus();
    });
    node.addEventListener("pointerenter", () => this.#onLight(label));
    node.addEventListener("pointerleave", () => this.#onLight(null));
    node.addEventListener("focusin", () => this.#onLight(label));
    node.addEventListener("focusout", () => this.#onLight(null));
    return { passage, node, area, holds };
  }
}

const SVG = "http://www.w3.org/2000/svg";

/** A line as long as a score is good, for the eye: the number says it already. */
function meter(share) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("class", "meter");
  svg.setAttribute("viewBox", "0 0 100 2");
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("aria-hidden", "true");
  for (const [name, width] of [
    ["track", 100],
    ["level", 100 * share],
  ]) {
    const rect = document.createElementNS(SVG, "rect");
    rect.setAttribute("class", name);
    rect.setAttribute("width", String(width));
    rect.setAttribute("height", "2");
    svg.append(rect);
  }
  return svg;
}

export function make(name, className = "", text = "") {
  const node = document.createElement(name);
  if (className) node.className = className;
  if (text) node.textContent = text;
  return node;
}

/** A link to a page of somebody else's. */
export function link(url, text, title) {
  const node = make("a", "", text);
  node.href = url;
  node.rel = "noopener noreferrer";
  node.target = "_blank";
  if (title) node.append(make("span", "unseen", ` of ${title}`));
  return node;
}
