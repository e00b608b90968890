// The page: search, then answer, with what the model wrote beside what the
// reader sees. Every node is built from text, so that nothing a model or a
// source says becomes markup.

import { AnswerError, AnswerView, ask, nameOf } from "./citestream.js";
import { Cards } from "./passages.js";
import { plot } from "./plot.js";
import { Popover } from "./popover.js";
import { RawPane } from "./raw.js";
import { showGoals, showSummary, verdictOf } from "./score.js";
import { Setting } from "./setting.js";

const at = (id) => document.getElementById(id);

// Longer than the server's pings are apart, twice.
const SILENCE_MS = 40_000;

// As long as the style sheet lets it fade.
const LEAVING_MS = 1_600;

// A live region that keeps every sentence would be read from its beginning.
const MOST_SPOKEN = 3;

// -- What is said aloud ------------------------------------------------------

/** Says something to a screen reader, after what it is saying. */
function speak(words) {
  const line = document.createElement("p");
  line.textContent = words;
  at("speech").append(line);
  while (at("speech").childElementCount > MOST_SPOKEN) at("speech").firstElementChild.remove();
}

function verdict(kind, words) {
  at("verdict").dataset.kind = kind;
  at("verdict").textContent = words;
  if (words) speak(words);
}

function become(state) {
  document.body.dataset.state = state;
  const busy = state === "answering";
  // Said and not set: a button that is disabled loses the focus it was pressed with.
  at("stop").setAttribute("aria-disabled", String(!busy));
  at("search").setAttribute("aria-disabled", String(busy));
  at("ask").setAttribute("aria-disabled", String(busy));
}

// -- The parts ---------------------------------------------------------------

const popover = new Popover(at("popover"), () => cards.light(null));
const raw = new RawPane(at("raw"), at("held"));
const follow = [at("raw"), at("answer")].map((pane) => pane.closest(".scroll"));

const view = new AnswerView(at("answer"), {
  onOpen: ({ label, passages, chip, cause }) => {
    popover.open({ label, passages, chip, cause, name: nameOf(label, passages) });
    cards.light(label);
  },
  onRetract: ({ reason, attempt, removed }) => {
    popover.close();
    retracted(removed);
    const next = reason === "retry" ? "the model is asked once more" : "it is refused";
    at("attempts").textContent = `attempt ${attempt} was taken back: ${next}`;
    speak(`The text so far is taken back: ${next}.`);
  },
});

const cards = new Cards(at("passages"), { most: 2000, onLight: lightUp });

function lightUp(label) {
  view.light(label);
  cards.light(label);
}

/** Shows what was taken back as it goes. */
function retracted(removed) {
  const leaving = document.createElement("div");
  // As text: what is void has no buttons.
  leaving.textContent = removed.textContent;
  at("retracted").replaceChildren(leaving);
  setTimeout(() => leaving.remove(), LEAVING_MS);
}

at("answer").addEventListener("pointerover", ({ target }) => {
  const chip = target.closest("button.chip");
  if (chip) cards.light(chip.dataset.label);
});
at("answer").addEventListener("pointerout", () => cards.light(popover.label));
at("answer").addEventListener("focusout", () => cards.light(popover.label));

// -- Search ------------------------------------------------------------------

let searching = null;
// What the cards were found with; a change of it makes them stale.
let found = null;

async function search(setting) {
  searching?.abort();
  const mine = new AbortController();
  searching = mine;
  const asked = setting.searched;
  become("searching");
  at("problem").textContent = "";
  try {
    const response = await fetch("search", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(asked),
      signal: mine.signal,
    });
    const body = await response.json();
    if (!response.ok) throw new Error(body.error);
    found = JSON.stringify(asked);
    cards.show(body.passages);
    showGoals(null, cards.holding);
    at("passages-note").textContent = body.passages.length
      ? "What the model will see. Edit them before it answers."
      : "Nothing was found: the model will not be asked.";
    become("ready");
    return true;
  } catch (error) {
    if (mine.signal.aborted) return false;
    const words = error instanceof TypeError ? "The server cannot be reached." : error.message;
    at("problem").textContent = words;
    become("failed");
    return false;
  }
}

// -- Answer ------------------------------------------------------------------

let answering = null;
let lastSummary = null;

function clear(gated) {
  popover.close();
  view.clear();
  raw.begin(gated);
  lastSummary = null;
  at("retracted").replaceChildren();
  at("attempts").textContent = "";
  verdict("plain", "");
  showSummary(null);
  showGoals(null, cards.holding);
}

async function answer(setting) {
  at("problem").textContent = "";
  if (found !== JSON.stringify(setting.searched) && !(await search(setting))) return;
  const values = setting.values;
  const mine = new AbortController();
  answering = mine;
  clear(values.emit === "sentence" || values.emit === "answer");
  at("answer").dataset.style = values.style;
  become("answering");
  bringIntoView(at("answer-title"));
  // The server gives as many as the model can take, which is what the cards show.
  const body = { ...values, passages: cards.edited };
  let failed = false;
  try {
    for await (const event of ask("ask", body, { signal: mine.signal, silence: SILENCE_MS })) {
      const { type, data } = event;
      if (type === "raw") {
        raw.show(data);
      } else {
        view.show(event);
        raw.reached(event);
        if (type === "sentence") speak(data.content);
        else if (type === "error") failed = true;
        else if (type === "summary") summed(data);
      }
      keepUp();
    }
    become(failed ? "failed" : "done");
  } catch (error) {
    ended(error, mine.signal);
  } finally {
    raw.finish();
    answering = null;
    refreshPlot();
  }
}

/** On a small screen the answer is far below its button. */
function bringIntoView(title) {
  const { top, bottom } = title.getBoundingClientRect();
  if (top >= 0 && bottom < innerHeight * 0.75) return;
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  title.scrollIntoView({ block: "start", behavior: still ? "auto" : "smooth" });
}

function summed(summary) {
  lastSummary = summary;
  showSummary(summary);
  showGoals(summary, cards.holding);
  const { kind, words } = verdictOf(summary);
  verdict(kind, words);
}

function ended(error, signal) {
  if (signal.aborted) {
    verdict("plain", "Stopped. What came so far is above.");
    become("stopped");
  } else if (error instanceof AnswerError && error.kind === "gone") {
    verdict("bad", "The server is gone. What came so far is above.");
    become("gone");
  } else if (error instanceof AnswerError) {
    // What a model's server said is in the log of ours.
    const down = error.status === 502 ? "The model cannot be reached." : error.message;
    verdict("bad", down);
    become("failed");
  } else {
    become("failed");
    throw error;
  }
}

// Once for each picture, and only where the reader is at the end already.
let due = false;
const atEnd = new Map(follow.map((pane) => [pane, true]));
for (const pane of follow) {
  pane.addEventListener(
    "scroll",
    () => atEnd.set(pane, pane.scrollHeight - pane.scrollTop - pane.clientHeight < 40),
    { passive: true },
  );
}

function keepUp() {
  if (due) return;
  due = true;
  requestAnimationFrame(() => {
    due = false;
    for (const pane of follow) if (atEnd.get(pane)) pane.scrollTop = pane.scrollHeight;
  });
}

// -- Over time ---------------------------------------------------------------

async function refreshPlot() {
  try {
    const response = await fetch("records", { cache: "no-store" });
    plot(at("plot"), at("plot-text"), await response.json());
  } catch {
    // The server is gone, which the answer says already.
  }
}

// -- The page comes up -------------------------------------------------------

async function start() {
  let options;
  try {
    options = await (await fetch("options", { cache: "no-store" })).json();
  } catch {
    at("problem").textContent = "The server cannot be reached.";
    become("failed");
    return;
  }
  cards.most = options.limits.text;
  if (matchMedia("(max-width: 45.99rem)").matches) at("controls").open = false;
  const setting = new Setting(at("setting"), options, (changed) => {
    const needed = ["trial", "ranker", "most", "style", "model"];
    if (needed.some((name) => changed.has(name)) && !answering) search(setting);
  });
  at("setting").addEventListener("submit", (event) => {
    event.preventDefault();
    if (!answering) search(setting);
  });
  at("ask").addEventListener("click", () => {
    if (at("setting").reportValidity() && !answering) answer(setting);
  });
  at("stop").addEventListener("click", () => answering?.abort());
  at("passages").addEventListener("change", ({ target }) => {
    if (target.name === "holds") showGoals(lastSummary, cards.holding);
  });
  await Promise.all([search(setting), refreshPlot()]);
}

await start();
