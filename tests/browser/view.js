// The smallest page on the module: `start` asks, and keeps what came of it.

import { AnswerView, ask } from "/citestream.js";

const state = { types: [], opened: [], retracted: [], end: null, first: null };

const view = new AnswerView(document.getElementById("answer"), {
  onOpen: ({ label, passages, chip, cause }) =>
    state.opened.push({ label, passages, name: chip.getAttribute("aria-label"), cause }),
  onRetract: ({ reason, attempt, removed }) =>
    state.retracted.push({ reason, attempt, text: removed.textContent }),
});

let controller = null;

async function run(url, options) {
  controller = new AbortController();
  try {
    for await (const event of ask(url, {}, { signal: controller.signal, ...options })) {
      view.show(event);
      state.types.push(event.type);
    }
    state.end = "complete";
  } catch (error) {
    state.end = error.kind ?? error.name;
  }
}

Object.assign(window, {
  view,
  state,
  start: (url, options) => void run(url, options),
  stop: () => controller.abort(),
});
