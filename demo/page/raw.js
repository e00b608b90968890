// The pane of what the model wrote. It shows the demo's `raw` events: what came,
// what of it is held, and what was taken out. It knows no reader but for what
// one was given.

import { make } from "./passages.js";

// Appending copies a text node, so that one that grew with the answer would
// cost its square.
const MOST_IN_NODE = 1_000;

// Fewer characters are alike by chance.
const LEAST_ALIKE = 12;

// Ten times a second is as often as anybody can read a number.
const TICK_MS = 100;

export class RawPane {
  #root;
  #status;
  #gated = false;
  #attempt = 0;
  #held;
  // What is written and not decided, and how much was written before it.
  #tail = "";
  #before = 0;
  // What left the filter and waits for the policy: its text, and the nodes that
  // it came from, each with where in that text it begins.
  #waiting = "";
  #nodes = [];
  // What the reader was given since the last sentence that was found again.
  #given = "";
  // How much is held, since when, and how long the longest was.
  #size = 0;
  #since = 0;
  #longest = 0;
  #timer = null;

  /**
   * @param {Element} root
   * @param {Element} status Says how much is held and for how long.
   */
  constructor(root, status) {
    this.#root = root;
    this.#status = status;
    this.begin(false);
  }

  /**
   * Empties the pane for the next answer.
   *
   * @param {boolean} gated Whether decided text may have to wait for more.
   */
  begin(gated) {
    this.finish();
    this.#gated = gated;
    this.#held = make("span", "held");
    this.#root.replaceChildren();
    this.#newLine();
    this.#attempt = 0;
    this.#longest = 0;
    this.#anew();
    this.#status.textContent = "";
    this.#status.dataset.held = "false";
  }

  /** Shows a `raw` event. */
  show({ text, held, left, markers, attempt }) {
    if (attempt !== this.#attempt) {
      this.#attempt = attempt;
      if (attempt > 1) {
        this.#over();
        this.#anew();
        this.#held.before(make("span", "attempt", `Asked once more, attempt ${attempt}:`));
      }
    }
    this.#tail += text;
    for (const { start, end, kept } of markers) {
      this.#take(start, "");
      this.#take(end, kept ? "kept" : "removed");
    }
    this.#take(this.#before + this.#tail.length - held, "");
    if (this.#gated) this.#waiting += left;
    this.#held.textContent = this.#tail;
    this.#count();
  }

  /** Says what the reader was given: visible text, or the end of a sentence. */
  reached({ type, data }) {
    if (!this.#gated) return;
    if (type === "delta" || type === "citation") {
      this.#given += data.text;
    } else if (type === "sentence") {
      const at = this.#waiting.indexOf(data.content);
      if (at < 0) return;
      this.#release(at);
      this.#release(data.content.length);
      this.#given = "";
    } else if (type === "summary") {
      this.#release(this.#waiting.length);
    } else {
      return;
    }
    this.#count();
  }

  /** Says that no more comes: what was held went out, or is gone. */
  finish() {
    if (!this.#held) return;
    this.#over();
    if (this.#attempt) this.#say();
  }

  #isGiven(from, to) {
    return this.#given.includes(this.#waiting.slice(from, to).trim());
  }

  /** Lets go of the beginning of what waits, which was shown but for sentences left out. */
  #release(length) {
    if (!length) return;
    const nodes = this.#nodes.filter(({ at }) => at < length);
    // Headings, code and the like may stand before such a sentence, or behind it.
    const places = [...nodes.map(({ at }) => at), length];
    let first = nodes.length;
    while (first && !this.#isGiven(0, places[first])) first -= 1;
    let last = nodes.length;
    while (last > first && this.#isGiven(places[last - 1], length)) last -= 1;
    if (length - places[last] < LEAST_ALIKE) last = nodes.length;
    nodes.forEach(({ node }, index) => {
      node.classList.replace("waiting", index < first || index >= last ? "shown" : "removed");
    });
    this.#nodes = this.#nodes.slice(nodes.length);
    for (const entry of this.#nodes) entry.at -= length;
    this.#waiting = this.#waiting.slice(length);
    this.#moved();
  }

  /** Begins to count anew: another character is now the one that waits longest. */
  #moved() {
    const now = performance.now();
    if (this.#size) this.#longest = Math.max(this.#longest, now - this.#since);
    this.#since = now;
  }

  #anew() {
    this.#tail = "";
    this.#before = 0;
    this.#waiting = "";
    this.#nodes = [];
    this.#given = "";
  }

  #over() {
    // The model fell silent inside a marker, or was stopped there.
    if (this.#tail) this.#held.before(make("span", "removed", this.#tail));
    this.#tail = "";
    this.#held.textContent = "";
    for (const { node } of this.#nodes) node.classList.replace("waiting", "removed");
    this.#waiting = "";
    this.#nodes = [];
    this.#count();
  }

  /** Moves what stands before a place out of what is undecided. */
  #take(place, className) {
    const length = place - this.#before;
    if (length <= 0) return;
    const text = this.#tail.slice(0, length);
    this.#tail = this.#tail.slice(length);
    this.#before = place;
    if (!this.#gated) this.#moved();
    if (className || this.#gated) {
      const node = make("span", className, text);
      this.#held.before(node);
      if (this.#gated && className !== "removed") {
        node.classList.add("waiting");
        this.#nodes.push({ node, at: this.#waiting.length });
      }
      if (text.endsWith("\n")) this.#newLine();
      return;
    }
    for (const line of text.match(/[^\n]*\n|[^\n]+/g)) {
      const last = this.#held.previousSibling;
      if (last?.nodeType === 3 && last.length < MOST_IN_NODE) last.appendData(line);
      else this.#held.before(line);
      if (line.endsWith("\n")) this.#newLine();
    }
  }

  /** A browser lays out a block at a time: one that grew with the answer would cost its square. */
  #newLine() {
    const line = make("div");
    line.append(this.#held);
    this.#root.append(line);
  }

  #count() {
    const size = this.#tail.length + this.#waiting.length;
    const before = this.#size;
    if (!before !== !size) this.#moved();
    this.#size = size;
    if (before && !size) {
      clearInterval(this.#timer);
      this.#timer = null;
      this.#say();
    } else if (size && !before) {
      this.#timer = setInterval(() => this.#say(), TICK_MS);
      this.#say();
    }
  }

  #say() {
    const held = this.#size > 0;
    this.#status.dataset.held = String(held);
    if (held) {
      const words = this.#size === 1 ? "1 character" : `${this.#size} characters`;
      this.#status.textContent = `held: ${words}, ${seconds(performance.now() - this.#since)}`;
    } else {
      this.#status.textContent = `nothing held · longest ${seconds(this.#longest)}`;
    }
  }
}

function seconds(ms) {
  return `${(ms / 1000).toFixed(ms < 995 ? 2 : 1)} s`;
}
