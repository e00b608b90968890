// The pane of what the model wrote. It shows the demo's `raw` events: what came,
// what of it is held, and what was taken out. It knows no reader but for how
// much of the text has reached one.

import { make } from "./passages.js";

// Appending copies a text node, so that one that grew with the answer would
// cost its square.
const MOST_IN_NODE = 1_000;

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
  // What is decided and waits for its sentence or for the whole, as nodes with
  // the count of visible characters that comes with them.
  #waiting = [];
  #clean = 0;
  #visible = 0;
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
  show({ text, held, clean, markers, attempt }) {
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
      this.#take(start, "", clean);
      this.#take(end, kept ? "kept" : "removed", clean);
    }
    this.#take(this.#before + this.#tail.length - held, "", clean);
    this.#clean = clean;
    this.#held.textContent = this.#tail;
    this.#count();
  }

  /** Says how many characters of this attempt the reader has. */
  reached(visible) {
    this.#visible = visible;
    if (!this.#gated) return;
    while (this.#waiting.length && this.#waiting[0].clean <= visible) {
      this.#waiting.shift().node.classList.remove("waiting");
    }
    this.#count();
  }

  /** Says that no more comes: what was held went out, or is gone. */
  finish() {
    if (!this.#held) return;
    this.#over();
    if (this.#attempt) this.#say();
  }

  #anew() {
    this.#tail = "";
    this.#before = 0;
    this.#waiting = [];
    this.#clean = 0;
    this.#visible = 0;
  }

  #over() {
    // The model fell silent inside a marker, or was stopped there.
    if (this.#tail) this.#held.before(make("span", "removed", this.#tail));
    this.#tail = "";
    this.#held.textContent = "";
    for (const { node } of this.#waiting) node.classList.replace("waiting", "removed");
    this.#waiting = [];
    this.#clean = this.#visible;
    this.#count();
  }

  /** Moves what stands before a place out of what is undecided. */
  #take(place, className, clean) {
    const length = place - this.#before;
    if (length <= 0) return;
    const text = this.#tail.slice(0, length);
    this.#tail = this.#tail.slice(length);
    this.#before = place;
    this.#since = performance.now();
    if (className || this.#gated) {
      const node = make("span", className, text);
      this.#held.before(node);
      if (this.#gated && className !== "removed") {
        node.classList.add("waiting");
        this.#waiting.push({ node, clean });
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
    const line = make("div", "line");
    line.append(this.#held);
    this.#root.append(line);
  }

  #count() {
    const gated = this.#gated ? Math.max(0, this.#clean - this.#visible) : 0;
    const size = this.#tail.length + gated;
    const before = this.#size;
    this.#size = size;
    if (before && !size) {
      this.#longest = Math.max(this.#longest, performance.now() - this.#since);
      clearInterval(this.#timer);
      this.#timer = null;
      this.#say();
    } else if (size && !before) {
      this.#since = performance.now();
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
