// Asks the demo's server and shows the answer as it streams. It builds every
// node from text, so that nothing a model or a source says becomes markup.

const form = document.getElementById("ask");
const submit = document.getElementById("submit");
const stop = document.getElementById("stop");
const scenario = document.getElementById("scenario");
const answer = document.getElementById("answer");
const verdict = document.getElementById("verdict");
const sources = document.getElementById("sources");

let controller = null;

/** Gives the events of a response as {event, data}, whatever way its bytes were cut. */
async function* eventsOf(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  let name = "message";
  let data = [];
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    rest += value;
    // A CR at the end may be half of a CRLF: it waits for what follows.
    const lines = rest.split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop();
    for (const line of lines) {
      if (line === "") {
        if (data.length) yield { event: name, data: JSON.parse(data.join("\n")) };
        name = "message";
        data = [];
      } else if (line.startsWith("event:")) {
        name = line.slice(6).replace(/^ /, "");
      } else if (line.startsWith("data:")) {
        data.push(line.slice(5).replace(/^ /, ""));
      }
    }
  }
}

function clear() {
  answer.replaceChildren();
  sources.replaceChildren();
  say("", "");
}

function say(text, kind) {
  verdict.textContent = text;
  verdict.className = kind;
}

function showCitation({ text, cited, passages }) {
  if (text) {
    const mark = document.createElement("span");
    mark.className = "citation";
    mark.textContent = text;
    mark.title = `Source ${cited.join(", ")}`;
    answer.append(mark);
  }
  passages.forEach(showSource);
}

function showSource({ label, title, url }) {
  const item = document.createElement("li");
  const words = `[${label}] ${title ?? "untitled"}`;
  if (/^https?:\/\//i.test(url ?? "")) {
    const link = document.createElement("a");
    link.href = url;
    link.rel = "noopener noreferrer";
    link.target = "_blank";
    link.textContent = words;
    item.append(link);
  } else {
    item.textContent = words;
  }
  sources.append(item);
}

function showSummary({ cited, invalid, grounded, refused_by, ended }) {
  const leftOut = invalid.length
    ? ` Left out: ${invalid.map((label) => `[${label}]`).join(", ")}, which no source has.`
    : "";
  if (ended !== "complete") {
    say("The answer broke off. What came so far is above.", "bad");
  } else if (refused_by) {
    say(`The documents do not answer this, the model says.${leftOut}`, "");
  } else if (grounded) {
    say(`Cites ${cited.length} source${cited.length === 1 ? "" : "s"}.${leftOut}`, "good");
  } else {
    say(`This answer is not backed by the documents.${leftOut}`, "bad");
  }
}

const HANDLERS = {
  delta: ({ text }) => answer.append(text),
  citation: showCitation,
  retract: clear,
  summary: showSummary,
  error: () => say("The model failed.", "bad"),
};

async function ask(body, signal) {
  const response = await fetch("ask", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
    signal,
  });
  if (!response.ok) {
    const { error, reason } = await response.json();
    say(error ?? `The model is not available (${reason}).`, "bad");
    return;
  }
  let last = null;
  for await (const { event, data } of eventsOf(response)) {
    HANDLERS[event]?.(data);
    last = event;
  }
  if (last !== "summary") say("The server is gone. What came so far is above.", "bad");
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  controller?.abort();
  const mine = new AbortController();
  controller = mine;
  clear();
  submit.disabled = true;
  stop.disabled = false;
  const { question, scenario: told } = Object.fromEntries(new FormData(form));
  try {
    await ask(told ? { question, scenario: told } : { question }, mine.signal);
  } catch (error) {
    say(error.name === "AbortError" ? "Stopped." : "The server cannot be reached.", "bad");
  } finally {
    submit.disabled = false;
    stop.disabled = true;
  }
});

stop.addEventListener("click", () => controller?.abort());

const { scenarios } = await (await fetch("model")).json();
for (const [name, what] of Object.entries(scenarios)) {
  const option = document.createElement("option");
  option.value = name;
  option.textContent = `${name}: ${what}`;
  scenario.append(option);
}
document.getElementById("choice").hidden = !scenario.options.length;
