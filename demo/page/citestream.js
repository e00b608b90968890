// Asks an endpoint that speaks citestream's events, and shows the answer while
// it streams. It knows no page: where the answer stands, what a passage opens
// in and what is said at the end belong to whoever imports it.
//
//   import { ask, AnswerView, AnswerError, safeUrl } from "./citestream.js";
//
//   const view = new AnswerView(document.getElementById("answer"), {
//     onOpen: ({ label, passages, chip, cause }) => ...,  // cause: "click" or "focus"
//     onRetract: ({ reason, attempt, removed }) => ...,   // removed: the old nodes, a fragment
//   });
//   const controller = new AbortController();             // controller.abort() stops the model
//   try {
//     for await (const event of ask("/ask", { question }, { signal: controller.signal })) {
//       view.show(event);                                 // leaves out what it does not show
//       if (event.type === "summary") ...                 // event.data is the summary
//     }
//   } catch (error) {
//     // An AnswerError, whose `kind` is "refused", "unreachable", "gone" or
//     // "unreadable" and whose message is a sentence; what came is still shown.
//     // After an abort it is the signal's own reason instead.
//   }
//
// ask(url, body, {signal, headers, silence, most, ...init})
//     An async iterator of {type, data}, `data` an object. It asks once, when it
//     is first read, and never again: no EventSource, which would reconnect after
//     a normal end. Events of names not known here are given out as well. Leaving
//     the loop hangs up. `silence`: milliseconds without a byte (a ping is one)
//     after which the server counts as gone. `most`: characters of one event.
// readEvents(stream, {signal, silence, most})
//     The same from a ReadableStream of bytes that is there already.
// new AnswerView(root, {onOpen, onRetract})
//     show(event)          delta, citation, sentence and retract; a claim or a warning about
//                          a sentence sets its data-verdict or data-warning
//     clear()              removes everything, and returns it as a fragment
//     text                 the visible answer so far
//     passages             Map: String(label) -> the payloads that the server sent
//     chips(label)         the buttons that cite it
//     sentences(label)     the sentences that cite it, if the server sends sentences
//     sentence(content)    the one with these words, the last if there are several
//     uncited              the sentences that cite nothing
//     light(label | null)  lights up what rests on a passage: class "lit"
//     The answer becomes, all of it text nodes and real buttons:
//       <p>Free of charge. <span class="sentence" data-covered="true">Refunds take 5 days
//       <span class="citation">[<button type="button" class="chip" data-label="2"
//       aria-label="Source 2: Refunds">2</button>]</span>.</span> </p>
//     The text content of the root is the visible answer, character by character,
//     line breaks too: give it `white-space: pre-wrap`, and its paragraphs no
//     margin. A button without text stands for a label that has no characters
//     of its own: `.chip:empty::after { content: attr(data-label) }`.
// safeUrl(url)             the URL if it is http(s) with a host and no user, else null
// nameOf(label, passages)  "Source 2: Refunds"
// EventParser, partsOf     the pure parts, exported for tests

// The largest payload anybody sends on purpose, a passage with its text, has
// some ten thousand; a whole answer in one event some hundred thousand.
const MOST_CHARACTERS = 4_000_000;

// An error is a sentence; this is what is read of a body that turns out to be a page.
const MOST_ERROR = 65_536;

// Half of a frame: the other half is for layout and paint. Where these take
// longer, as much is worked as they take, up to what is felt by nobody.
const BUDGET_MS = 8;
const MOST_BUDGET_MS = 20;

// Parsed without a pause; some hundred events, a millisecond or two.
const MOST_AT_ONCE = 16_384;

// Appending copies the text node, so that one that grew with the answer would
// cost its square.
const MOST_IN_NODE = 1_000;

// A name is read aloud.
const MOST_IN_NAME = 200;

/** An answer that did not come, or not to its end. */
export class AnswerError extends Error {
  /**
   * @param {"refused" | "unreachable" | "gone" | "unreadable"} kind
   * @param {string} message A sentence for a reader.
   * @param {{status?: number, cause?: unknown}} [options]
   */
  constructor(kind, message, { status, cause } = {}) {
    super(message, { cause });
    this.name = "AnswerError";
    this.kind = kind;
    /** The HTTP status of a refusal. */
    this.status = status;
  }
}

// -- Bytes to events ---------------------------------------------------------

/** Server-sent events out of bytes, whatever way they were cut. */
export class EventParser {
  #decoder = new TextDecoder();
  #line = "";
  #afterCR = false;
  #type = "";
  #data = [];
  #size = 0;
  #most;

  constructor(most = MOST_CHARACTERS) {
    this.#most = most;
  }

  /** Takes the next bytes and returns the events that are whole, as {type, data}, data a string. */
  feed(bytes) {
    return this.#read(this.#decoder.decode(bytes, { stream: true }));
  }

  /** Says that no more comes. What stands before a missing blank line is an event as well. */
  finish() {
    const events = this.#read(this.#decoder.decode());
    const rest = this.#line;
    this.#line = "";
    if (rest) this.#take(rest);
    return [...events, ...this.#event()];
  }

  #read(text) {
    if (text === "") return [];
    // A line ends at its CR, without waiting for the LF that may belong to it.
    const lines = (this.#afterCR && text[0] === "\n" ? text.slice(1) : text).split(/\r\n|\r|\n/);
    this.#afterCR = text.endsWith("\r");
    const events = [];
    for (let index = 0; index < lines.length - 1; index++) {
      const line = this.#line + lines[index];
      this.#line = "";
      if (line) this.#take(line);
      else events.push(...this.#event());
    }
    this.#line += lines[lines.length - 1];
    this.#check(this.#line.length);
    return events;
  }

  #take(line) {
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    if (field !== "data" && field !== "event") return;
    const value = colon < 0 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (field === "event") {
      this.#type = value;
    } else {
      this.#check(line.length);
      this.#data.push(value);
      this.#size += line.length;
    }
  }

  #event() {
    const type = this.#type || "message";
    const data = this.#data;
    this.#type = "";
    this.#data = [];
    this.#size = 0;
    return data.length ? [{ type, data: data.join("\n") }] : [];
  }

  #check(more) {
    if (this.#size + more > this.#most) {
      throw new AnswerError("unreadable", "The server sent an event that is too long.");
    }
  }
}

const KNOWN = new Set([
  "delta",
  "citation",
  "sentence",
  "claim",
  "warning",
  "retract",
  "error",
  "summary",
]);

/** Returns the event with its data read, or null for one that is not of this protocol. */
function decoded({ type, data }, whole) {
  let value;
  try {
    value = JSON.parse(data);
  } catch (cause) {
    // The last one may have been cut off, which the missing summary says.
    if (whole && KNOWN.has(type)) {
      throw new AnswerError("unreadable", "The server sent an event that cannot be read.", {
        cause,
      });
    }
    return null;
  }
  return typeof value === "object" && value !== null ? { type, data: value } : null;
}

/**
 * Lets the browser paint and listen. A timer would slow down in a hidden tab, and
 * what `scheduler.yield` puts off comes before the painting.
 */
function breathe() {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });
}

/**
 * Gives the events of a stream of bytes; throws when it ends without a summary.
 *
 * @param {ReadableStream<Uint8Array>} stream
 * @param {{signal?: AbortSignal, silence?: number, most?: number}} [options]
 */
export async function* readEvents(stream, { signal, silence, most } = {}) {
  const parser = new EventParser(most);
  const reader = stream.getReader();
  let timer;
  let silent = false;
  let summarised = false;
  let since = performance.now();
  let budget = BUDGET_MS;

  async function read() {
    if (silence) {
      timer = setTimeout(() => {
        silent = true;
        reader.cancel().catch(() => {});
      }, silence);
    }
    try {
      return await reader.read();
    } catch (cause) {
      signal?.throwIfAborted();
      throw gone(cause);
    } finally {
      clearTimeout(timer);
    }
  }

  try {
    for (;;) {
      let result;
      try {
        result = await read();
      } catch (error) {
        // What breaks or is stopped after the summary loses nothing.
        if (summarised) return;
        throw error;
      }
      if (!summarised) signal?.throwIfAborted();
      const { done, value } = result;
      for (const piece of done ? [null] : piecesOf(value)) {
        for (const raw of piece ? parser.feed(piece) : parser.finish()) {
          const event = summarised ? null : decoded(raw, !done);
          if (event === null) continue;
          summarised = event.type === "summary";
          yield event;
          // Much that arrived at once would be one long task, as its reads do not wait.
          const paused = performance.now();
          if (paused - since > budget) {
            await breathe();
            if (!summarised) signal?.throwIfAborted();
            since = performance.now();
            budget = Math.min(Math.max(since - paused, BUDGET_MS), MOST_BUDGET_MS);
          }
        }
      }
      if (done) break;
    }
    if (!summarised) throw gone(silent ? new Error("nothing came any more") : undefined);
  } finally {
    // Whoever leaves the loop hangs up, and so stops the model.
    reader.cancel().catch(() => {});
  }
}

function* piecesOf(bytes) {
  for (let at = 0; at < bytes.length; at += MOST_AT_ONCE) {
    yield bytes.subarray(at, at + MOST_AT_ONCE);
  }
}

function gone(cause) {
  return new AnswerError("gone", "The answer broke off: the server is gone.", { cause });
}

/**
 * Asks a question and gives the events of its answer.
 *
 * @param {string | URL} url
 * @param {unknown} body Sent as JSON.
 * @param {RequestInit & {silence?: number, most?: number}} [options]
 */
export async function* ask(url, body, { signal, headers, silence, most, ...init } = {}) {
  const content = JSON.stringify(body);
  let response;
  try {
    response = await fetch(url, {
      method: "POST",
      cache: "no-store",
      ...init,
      headers: {
        accept: "text/event-stream",
        "content-type": "application/json",
        ...headers,
      },
      body: content,
      signal,
    });
  } catch (cause) {
    signal?.throwIfAborted();
    throw new AnswerError("unreachable", "The server cannot be reached.", { cause });
  }
  const { status } = response;
  const type = response.headers.get("content-type") ?? "";
  if (!response.ok) {
    const said = reasonIn(await beginningOf(response));
    throw new AnswerError("refused", said ?? `The server refused, with status ${status}.`, {
      status,
    });
  }
  if (!/^text\/event-stream\s*(;|$)/i.test(type) || response.body === null) {
    await response.body?.cancel();
    throw new AnswerError("unreadable", "The server answered with something else than events.", {
      status,
    });
  }
  yield* readEvents(response.body, { signal, silence, most });
}

async function beginningOf(response) {
  const decoder = new TextDecoder();
  let text = "";
  try {
    for (const reader = response.body.getReader(); ; ) {
      const { done, value } = await reader.read();
      if (done) return text;
      text += decoder.decode(value, { stream: true });
      if (text.length > MOST_ERROR) {
        await reader.cancel();
        return text;
      }
    }
  } catch {
    return text;
  }
}

/** Returns what an error's body says, in the fields that servers use for it. */
function reasonIn(text) {
  try {
    const { error, reason, detail } = JSON.parse(text);
    const said = [error, reason, detail].find((value) => typeof value === "string" && value);
    return said?.slice(0, 500);
  } catch {
    return undefined;
  }
}

// -- Events to nodes ---------------------------------------------------------

/** Returns a URL that is safe in a link, or null. */
export function safeUrl(url) {
  // The parser would take out tabs and line breaks, and a reader is shown another URL.
  if (typeof url !== "string" || /[\s\p{Cc}\p{Cf}\\]/u.test(url)) return null;
  let parsed;
  try {
    parsed = new URL(url);
  } catch {
    return null;
  }
  const { protocol, hostname, username, password } = parsed;
  const web = protocol === "http:" || protocol === "https:";
  return web && hostname && !username && !password ? parsed.href : null;
}

/** Returns how a chip is named to those who cannot see where it stands. */
export function nameOf(label, passages = []) {
  const titles = passages.map(({ title }) => String(title ?? "").replace(/[\s\p{Cc}]+/gu, " "));
  const title = titles.find((words) => words.trim())?.trim();
  const name = title ? `Source ${label}: ${title}` : `Source ${label}`;
  return name.length > MOST_IN_NAME ? `${name.slice(0, MOST_IN_NAME)}…` : name;
}

/**
 * Returns the text of a citation in parts, as [text, label], label null for what
 * stands between. The parts make up the text; each label has one part.
 *
 * @param {string} text As the server writes it: `[1, 2]`, `[S1]`, `[^1]`, or its own way.
 * @param {(string | number)[]} cited
 */
export function partsOf(text, cited) {
  if (!text || !cited.length) return text ? [[text, null]] : [];
  const places = placesOf(text, cited) ?? [{ start: 0, end: text.length }];
  const parts = [];
  let at = 0;
  places.forEach(({ start, end }, index) => {
    if (start > at) parts.push([text.slice(at, start), null]);
    parts.push([text.slice(start, end), cited[index]]);
    at = end;
  });
  if (at < text.length) parts.push([text.slice(at), null]);
  // A broad label or a range names more than it has characters for.
  for (const label of cited.slice(places.length)) parts.push(["", label]);
  return parts;
}

function placesOf(text, cited) {
  // By position first, since a renumbered citation has other numbers than its labels.
  const items = [];
  for (const group of text.matchAll(/[[【]([^[\]【】]*)[\]】]/g)) {
    let at = group.index + 1;
    for (const item of group[1].split(/([,;，；、]\s*)/)) {
      if (item && !/^[,;，；、]/.test(item)) items.push({ start: at, end: at + item.length });
      at += item.length;
    }
  }
  if (items.length === cited.length) return items;
  // Then by name: a label may hold a comma, and what is kept may be invalid.
  const named = [];
  let from = 0;
  for (const label of cited.map(String)) {
    let start = text.indexOf(label, from);
    while (start >= 0 && isInside(text, start, start + label.length)) {
      start = text.indexOf(label, start + 1);
    }
    if (start < 0) {
      return items.length ? [{ start: items[0].start, end: items[items.length - 1].end }] : null;
    }
    from = start + label.length;
    named.push({ start, end: from });
  }
  return named;
}

/** Says whether a piece of a text is a part of a longer number or word. */
function isInside(text, start, end) {
  const both = /^(\p{L}{2}|\p{N}{2})$/u;
  return both.test(text.slice(start - 1, start + 1)) || both.test(text.slice(end - 1, end + 1));
}

/** Shows an answer in an element, event by event, and never writes the same text twice. */
export class AnswerView {
  #root;
  #document;
  #onOpen;
  #onRetract;
  #lit = null;
  #passages = new Map();
  #chips = new Map();
  #sentences = new Map();
  #worded = new Map();
  #uncited = [];
  // Stretches of text in which no sentence has ended yet, in their order. A
  // sentence never goes beyond its paragraph, so each is inside one.
  #open = [];
  #paragraph = null;
  #paragraphOver = true;
  #lineEmpty = true;

  /**
   * @param {Element} root Emptied, and filled with the answer.
   * @param {{onOpen?: Function, onRetract?: Function}} [options]
   */
  constructor(root, { onOpen, onRetract } = {}) {
    this.#root = root;
    this.#document = root.ownerDocument;
    this.#onOpen = onOpen;
    this.#onRetract = onRetract;
    root.replaceChildren();
    root.addEventListener("click", (event) => this.#opened(event, "click"));
    root.addEventListener("focusin", (event) => this.#opened(event, "focus"));
  }

  /** Shows an event of `ask`. */
  show({ type, data }) {
    if (type === "delta") this.#append(data.text ?? "");
    else if (type === "citation") this.#cite(data);
    else if (type === "sentence") this.#end(data);
    else if (type === "claim") this.#note(data.content, "verdict", data.verdict);
    else if (type === "warning") this.#note(data.content, "warning", data.reason);
    else if (type === "retract") this.#onRetract?.({ ...data, removed: this.clear() });
  }

  /** Removes all that is shown, and returns it. */
  clear() {
    const removed = this.#document.createDocumentFragment();
    while (this.#root.firstChild) removed.append(this.#root.firstChild);
    this.#passages = new Map();
    this.#chips = new Map();
    this.#sentences = new Map();
    this.#worded = new Map();
    this.#uncited = [];
    this.#open = [];
    this.#paragraph = null;
    this.#paragraphOver = true;
    this.#lineEmpty = true;
    return removed;
  }

  /** The visible answer so far. */
  get text() {
    return this.#root.textContent;
  }

  /** What the server said of each passage that was cited, by label as a string. */
  get passages() {
    return this.#passages;
  }

  /** The sentences without a citation. */
  get uncited() {
    return [...this.#uncited];
  }

  /** Returns the chips of a label. */
  chips(label) {
    return [...(this.#chips.get(String(label)) ?? [])];
  }

  /** Returns the sentences that rest on a label. */
  sentences(label) {
    return [...(this.#sentences.get(String(label)) ?? [])];
  }

  /** Returns the last sentence with these words. */
  sentence(content) {
    return this.#worded.get(content) ?? null;
  }

  /** Lights up what rests on a passage, what is still to come included; `null` ends it. */
  light(label) {
    this.#toggle(false);
    this.#lit = label === null ? null : String(label);
    this.#toggle(true);
  }

  #toggle(on) {
    if (this.#lit === null) return;
    for (const node of [...this.chips(this.#lit), ...this.sentences(this.#lit)]) {
      node.classList.toggle("lit", on);
    }
  }

  #opened({ target }, cause) {
    const chip = target.closest?.("button.chip");
    if (!chip || !this.#onOpen) return;
    const { label } = chip.dataset;
    this.#onOpen({ label, passages: this.#passages.get(label) ?? [], chip, cause });
  }

  // -- Text

  #append(text) {
    // A blank line ends a paragraph, and belongs to it.
    let from = 0;
    for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) {
      const line = text.slice(from, at + 1);
      this.#write(line);
      this.#paragraphOver = this.#lineEmpty && !line.trim();
      this.#lineEmpty = true;
      from = at + 1;
    }
    const rest = text.slice(from);
    if (rest) {
      this.#lineEmpty &&= !rest.trim();
      this.#write(rest);
    }
  }

  #write(text) {
    const stretch = this.#stretch();
    stretch.text += text;
    const last = stretch.span.lastChild;
    // 3 is a text node.
    if (last?.nodeType === 3 && last.length < MOST_IN_NODE) last.appendData(text);
    else stretch.span.append(text);
  }

  #stretch() {
    if (this.#paragraphOver) {
      this.#paragraph = this.#document.createElement("p");
      this.#root.append(this.#paragraph);
      this.#paragraphOver = false;
      this.#begin(this.#paragraph);
    }
    return this.#open[this.#open.length - 1];
  }

  #begin(paragraph) {
    const span = this.#document.createElement("span");
    paragraph.append(span);
    this.#open.push({ span, text: "" });
  }

  // -- Citations

  #cite({ text, cited, passages }) {
    // Passages first: a chip is named after what came with it.
    for (const passage of passages ?? []) {
      const label = String(passage.label);
      this.#passages.set(label, [...(this.#passages.get(label) ?? []), passage]);
    }
    if (!text) return;
    this.#lineEmpty = false;
    const stretch = this.#stretch();
    const citation = this.#document.createElement("span");
    citation.className = "citation";
    for (const [part, label] of partsOf(text, cited ?? [])) {
      citation.append(label === null ? part : this.#chip(part, String(label)));
    }
    stretch.text += text;
    stretch.span.append(citation);
  }

  #chip(text, label) {
    const chip = this.#document.createElement("button");
    chip.type = "button";
    chip.className = label === this.#lit ? "chip lit" : "chip";
    chip.dataset.label = label;
    chip.setAttribute("aria-label", nameOf(label, this.#passages.get(label)));
    chip.append(text);
    add(this.#chips, label, chip);
    return chip;
  }

  // -- Sentences

  #end({ content, cited, covered }) {
    const index = content ? this.#open.findIndex(({ text }) => text.includes(content)) : -1;
    if (index < 0) return;
    const { span, text } = this.#open[index];
    const start = text.indexOf(content);
    const end = start + content.length;
    for (const node of headOf(span, start)) span.before(node);
    let sentence = span;
    let rest = this.#document.createElement("span");
    if (text.length - end > content.length) {
      // Much has come behind it, the whole answer perhaps: what is shorter moves.
      [sentence, rest] = [rest, span];
      sentence.append(...headOf(span, content.length));
      span.before(sentence);
    } else {
      // It stays where it is, so that a chip in it that has the focus keeps it.
      rest.append(...tailOf(span, content.length));
      span.after(rest);
    }
    // Whatever came before it and ended no sentence is a heading, code or a bullet.
    this.#open.splice(0, index + 1, { span: rest, text: text.slice(end) });
    sentence.className = "sentence";
    sentence.dataset.covered = String(covered);
    for (const label of new Set((cited ?? []).map(String))) {
      add(this.#sentences, label, sentence);
      if (label === this.#lit) sentence.classList.add("lit");
    }
    this.#worded.set(content, sentence);
    if (!covered) this.#uncited.push(sentence);
  }

  #note(content, name, value) {
    const span = this.sentence(content);
    if (!span) return;
    // More than one check can warn of a sentence.
    const said = span.dataset[name] ? span.dataset[name].split(" ") : [];
    span.dataset[name] = [...new Set([...said, String(value)])].join(" ");
  }
}

function add(map, key, value) {
  const values = map.get(key);
  if (values) values.push(value);
  else map.set(key, [value]);
}

/** Returns the nodes of the first characters, cutting a text node for it and never a citation. */
function headOf(span, length) {
  const nodes = [];
  let left = length;
  for (let node = span.firstChild; node && left > 0; node = node.nextSibling) {
    const size = node.textContent.length;
    if (node.nodeType === 3 && size > left) node.splitText(left);
    nodes.push(node);
    left -= size;
  }
  return nodes;
}

/** Returns the nodes of what follows the first characters. */
function tailOf(span, length) {
  const nodes = [];
  let node = headOf(span, length).pop()?.nextSibling ?? null;
  for (; node; node = node.nextSibling) nodes.push(node);
  return nodes;
}
