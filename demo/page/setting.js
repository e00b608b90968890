// The controls: what the server offers to choose from, and the setting as the
// page's own link. It knows nothing of answers.

const NAMES = {
  ranker: { bm25: "BM25", words: "word overlap" },
  style: { numeric: "[1]", prefix: "[S1]", label: "[Article 4]" },
  emit: { token: "as it comes", sentence: "by sentence", answer: "when whole" },
  failure: {
    report: "report only",
    warn: "warn",
    omit: "leave it out",
    retry: "ask once more",
    refuse: "refuse",
  },
  claims: { off: "not compared", compare: "compared" },
};

const NUMBERS = new Set(["most", "pace", "chunk"]);

// What a trial does not name.
const AS_AT_FIRST = {
  style: "numeric",
  most: 4,
  pace: 30,
  chunk: 0,
  emit: "token",
  failure: "report",
  claims: "off",
};

export class Setting {
  #form;
  #options;
  #change;
  // How many passages are wanted, of a model that can take as many.
  #most = 4;

  /**
   * @param {HTMLFormElement} form
   * @param {object} options What the server offers.
   * @param {(names: Set<string>) => void} change Told which controls have changed.
   */
  constructor(form, options, change) {
    this.#form = form;
    this.#options = options;
    this.#change = change;
    fill(this.#of("model"), options.models.map(({ name }) => [name, name]));
    this.#offer("ranker", options.rankers);
    fill(
      this.#of("trial"),
      [["", "your own"], ...options.trials.map(({ name }, index) => [String(index), name])],
    );
    this.#offer("emit", Object.keys(options.policies));
    this.#offer("claims", options.claims);
    this.#offerForModel();
    this.apply(Object.fromEntries(new URLSearchParams(location.search)));
    form.addEventListener("change", (event) => this.#changed(event.target));
  }

  /** What stands in the controls, numbers as numbers; without those that mean nothing now. */
  get values() {
    const values = {};
    for (const control of this.#form.elements) {
      if (!control.name || control.closest("[hidden]")) continue;
      if (control.value === "" && control.name !== "question") continue;
      values[control.name] = NUMBERS.has(control.name) ? Number(control.value) : control.value;
    }
    return values;
  }

  /** Those of the values that a search depends on. */
  get searched() {
    const { question, ranker, most, style, model } = this.values;
    return { question, ranker, most, style, model };
  }

  /** Sets controls by their names; what is no choice is left as it is. */
  apply(values) {
    for (const [name, value] of Object.entries(values)) {
      if (name === "model") choose(this.#of("model"), value);
    }
    this.#offerForModel();
    for (const [name, value] of Object.entries(values)) {
      const control = this.#of(name);
      if (!control || name === "model" || !control.name) continue;
      if (name === "most" && Number(value) >= 1) this.#most = Number(value);
      if (control.tagName === "SELECT") choose(control, String(value));
      else control.value = String(value).slice(0, control.maxLength);
      if (name === "emit") this.#offerFailures();
    }
    this.#write();
  }

  #changed(control) {
    if (control.id === "trial") {
      const trial = this.#options.trials[Number(control.value)];
      if (control.value !== "") {
        // Or two trials would mix.
        this.apply({ ...AS_AT_FIRST, ...trial.setting });
      }
      document.getElementById("trial-what").textContent =
        control.value === "" ? "" : trial.what;
      this.#change(new Set(["trial"]));
      return;
    }
    if (!control.name) return;
    if (control.name === "most") this.#most = Number(control.value);
    if (control.name === "model") this.#offerForModel();
    if (control.name === "emit") this.#offerFailures();
    this.#of("trial").value = "";
    document.getElementById("trial-what").textContent = "";
    this.#write();
    this.#change(new Set([control.name]));
  }

  #offerForModel() {
    const model = this.#options.models.find(({ name }) => name === this.#of("model").value);
    const scenarios = Object.entries(model.scenarios);
    fill(this.#of("scenario"), scenarios.map(([name, what]) => [name, what]));
    for (const name of ["scenario", "pace", "chunk"]) {
      // Another model decides by itself what it writes and when.
      this.#of(name).closest(".field").hidden = !scenarios.length;
    }
    this.#offer("style", model.styles);
    const most = model.most_passages;
    const counts = Array.from({ length: most }, (_, index) => String(index + 1));
    fill(this.#of("most"), counts.map((count) => [count, count]));
    choose(this.#of("most"), String(Math.min(this.#most, most)));
    this.#offerFailures();
  }

  #offerFailures() {
    this.#offer("failure", this.#options.policies[this.#of("emit").value]);
  }

  #offer(name, values) {
    fill(this.#of(name), values.map((value) => [value, NAMES[name][value] ?? value]));
  }

  /** Writes the setting into the page's address and into its link. */
  #write() {
    const { question, ...rest } = this.values;
    const query = new URLSearchParams({ question, ...rest });
    const address = `?${query}`;
    document.getElementById("link").href = address;
    history.replaceState(null, "", address);
  }

  #of(name) {
    return this.#form.elements.namedItem(name);
  }
}

/** Fills a select, and keeps what is chosen as long as it can be. */
function fill(select, pairs) {
  const chosen = select.value;
  select.replaceChildren(...pairs.map(([value, words]) => new Option(words, value)));
  if (!choose(select, chosen)) select.selectedIndex = pairs.length ? 0 : -1;
}

function choose(select, value) {
  const found = [...select.options].some((option) => option.value === value);
  if (found) select.value = value;
  return found;
}
