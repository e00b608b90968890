// The passage that a chip stands for, in a box beside it. It knows neither the
// answer nor where passages come from.

import { safeUrl } from "./citestream.js";
import { link, make } from "./passages.js";

const GAP = 6;

export class Popover {
  #root;
  #title;
  #body;
  #chip = null;
  #quiet = false;
  #onClose;

  /**
   * @param {Element} root
   * @param {() => void} onClose
   */
  constructor(root, onClose) {
    this.#root = root;
    this.#onClose = onClose;
    this.#title = root.querySelector("h2");
    this.#body = root.querySelector("#popover-body");
    root.querySelector("button").addEventListener("click", () => this.#close(true));
    document.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !this.#chip) return;
      event.preventDefault();
      this.#close(root.contains(document.activeElement));
    });
    document.addEventListener("pointerdown", ({ target }) => {
      if (this.#chip && !root.contains(target) && !this.#chip.contains(target)) this.#close(false);
    });
    document.addEventListener("focusin", ({ target }) => {
      if (this.#chip && !root.contains(target) && target !== this.#chip) this.#close(false);
    });
    addEventListener("resize", () => this.#chip && this.#place());
    addEventListener("scroll", () => this.#chip && this.#place(), { capture: true, passive: true });
  }

  /** The label of what is open, or null. */
  get label() {
    return this.#chip?.dataset.label ?? null;
  }

  /** Opens for a chip: at its focus, at a click, and with Enter, which goes into the box. */
  open({ label, passages, chip, cause, name }) {
    // The focus comes back from the box: whoever closed it wants it closed.
    if (cause === "focus" && this.#quiet) return;
    if (this.#chip === chip) {
      // A second click is a keyboard's, or wants what it already has.
      if (cause === "click") this.#title.focus();
      return;
    }
    this.#close(false);
    this.#chip = chip;
    chip.setAttribute("aria-expanded", "true");
    this.#title.textContent = name;
    this.#body.replaceChildren(...passages.flatMap(contentOf));
    if (!passages.length) this.#body.append(make("p", "note", `Source ${label} is not known here.`));
    this.#root.hidden = false;
    this.#place();
  }

  /** Closes, as the answer it belongs to is no longer there. */
  close() {
    this.#close(false);
  }

  #close(back) {
    const chip = this.#chip;
    if (!chip) return;
    this.#chip = null;
    chip.removeAttribute("aria-expanded");
    this.#root.hidden = true;
    this.#onClose();
    if (!back) return;
    this.#quiet = true;
    chip.focus();
    this.#quiet = false;
  }

  #place() {
    const chip = this.#chip.getBoundingClientRect();
    const { offsetWidth: width, offsetHeight: height } = this.#root;
    const most = document.documentElement.clientWidth - width - 16;
    const left = Math.max(16, Math.min(chip.left - 12, most));
    const below = chip.bottom + GAP + height <= innerHeight || chip.top - GAP - height < 0;
    const top = below ? chip.bottom + GAP : chip.top - GAP - height;
    this.#root.style.left = `${left + scrollX}px`;
    this.#root.style.top = `${top + scrollY}px`;
  }
}

function contentOf({ text, place, version, score, url, title }) {
  const facts = [place, version, score === null || score === undefined ? null : `score ${score}`];
  const meta = make("p", "note", facts.filter(Boolean).join(" · "));
  const safe = safeUrl(url);
  if (safe) {
    if (meta.textContent) meta.append(" · ");
    meta.append(link(safe, "open the source", title));
  }
  return [meta, ...(text ? [make("p", "text", text)] : [])];
}
