// The parts of demo/page/citestream.js that need no page: bytes to events, the
// request, what a chip is cut from, named by and linked to. The parts that make
// nodes are tested in a browser.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import test from "node:test";

// Browsers go by the type of the script; older Nodes go by the file's name, and
// one in .js would be no module to them.
const source = await readFile(new URL("../../demo/page/citestream.js", import.meta.url), "base64");
const { AnswerError, EventParser, ask, nameOf, partsOf, readEvents, safeUrl } = await import(
  `data:text/javascript;base64,${source}`
);

const bytes = (text) => new TextEncoder().encode(text);

function parsed(pieces, most) {
  const parser = new EventParser(most);
  return [...pieces.flatMap((piece) => parser.feed(piece)), ...parser.finish()];
}

function* splits(whole) {
  yield [whole];
  yield Array.from(whole, (_, index) => whole.slice(index, index + 1));
  for (let at = 0; at <= whole.length; at++) yield [whole.slice(0, at), whole.slice(at)];
}

const STREAM = [
  "\ufeffevent: delta",
  'data: {"text":"é😀\u2028["}',
  "",
  ": ping",
  "",
  "event:citation",
  'data:{"text":',
  'data: "[1]"}',
  "id: 7",
  "retry: 100",
  "",
  "event: without data",
  "",
  "data:  two spaces: one stays",
  "",
  "data",
  "",
  "event: summary",
  "data: {}",
  "",
  "",
];
const EVENTS = [
  { type: "delta", data: '{"text":"é😀\u2028["}' },
  { type: "citation", data: '{"text":\n"[1]"}' },
  { type: "message", data: " two spaces: one stays" },
  { type: "message", data: "" },
  { type: "summary", data: "{}" },
];

test("a stream reads the same for every line end and every cut", () => {
  for (const lineEnd of ["\n", "\r\n", "\r"]) {
    for (const pieces of splits(bytes(STREAM.join(lineEnd)))) {
      assert.deepEqual(parsed(pieces), EVENTS);
    }
  }
});

test("an event whose blank line is missing is read at the end", () => {
  for (const end of ["", "\n", "\r", "\r\n"]) {
    assert.deepEqual(parsed([bytes(`event: summary\ndata: {}${end}`)]), EVENTS.slice(-1));
  }
});

test("an event leaves as soon as its blank line is there", () => {
  for (const lineEnd of ["\n", "\r\n", "\r"]) {
    const parser = new EventParser();
    const frame = `data: 1${lineEnd}${lineEnd}`;
    const shortest = lineEnd === "\r\n" ? frame.slice(0, -1) : frame;
    assert.deepEqual(parser.feed(bytes(shortest)), [{ type: "message", data: "1" }]);
    assert.deepEqual(parser.feed(bytes(frame.slice(shortest.length))), []);
    assert.deepEqual(parser.finish(), []);
  }
});

test("a broken byte costs one character and no event", () => {
  const broken = Uint8Array.of(...bytes("data: a"), 0xff, ...bytes("b\n\n"));
  assert.deepEqual(parsed([broken]), [{ type: "message", data: "a\ufffdb" }]);
});

test("an event that never ends is refused before it fills the memory", () => {
  const tooLong = { name: "AnswerError", kind: "unreadable", message: /too long\.$/ };
  const one = new EventParser(100);
  one.feed(bytes("data: " + "x".repeat(94)));
  assert.throws(() => one.feed(bytes("x")), tooLong);
  const many = new EventParser(100);
  const lines = "data: 123\n".repeat(11);
  many.feed(bytes(lines));
  assert.throws(() => many.feed(bytes("data: 123\n")), tooLong);
  // A comment of any length is over with its line.
  assert.deepEqual(parsed(Array(50).fill(bytes(": ping\n\n")), 100), []);
});

// -- The events of a stream ---------------------------------------------------

const frame = (type, data) => `event: ${type}\ndata: ${JSON.stringify(data)}\n\n`;
const DELTA = frame("delta", { text: "Free." });
const SUMMARY = frame("summary", { cited: [] });

function streamOf(pieces, { then, cancelled } = {}) {
  const rest = pieces.map((piece) => (typeof piece === "string" ? bytes(piece) : piece));
  return new ReadableStream({
    pull(controller) {
      if (rest.length) controller.enqueue(rest.shift());
      else if (then instanceof Error) controller.error(then);
      else if (then !== "wait") controller.close();
    },
    cancel: cancelled,
  });
}

async function collected(events) {
  const types = [];
  try {
    for await (const { type } of events) types.push(type);
  } catch (error) {
    return { types, error };
  }
  return { types, error: null };
}

test("an answer with its summary ends in silence, whatever comes after it", async () => {
  for (const end of ["", ": ping\n\n", DELTA, SUMMARY]) {
    assert.deepEqual(await collected(readEvents(streamOf([DELTA, SUMMARY + end]))), {
      types: ["delta", "summary"],
      error: null,
    });
  }
  const broken = streamOf([DELTA, SUMMARY], { then: new Error("reset") });
  assert.deepEqual(await collected(readEvents(broken)), {
    types: ["delta", "summary"],
    error: null,
  });
});

test("an abort after the summary comes too late", async () => {
  const controller = new AbortController();
  const { signal } = controller;
  const types = [];
  for await (const { type } of readEvents(streamOf([DELTA + SUMMARY, ": ping\n\n"]), { signal })) {
    types.push(type);
    if (type === "summary") controller.abort();
  }
  assert.deepEqual(types, ["delta", "summary"]);
});

test("what cannot be sent is a mistake of the caller's, and not the server's", async () => {
  const circular = {};
  circular.self = circular;
  const { error } = await collected(ask("http://127.0.0.1:9/", circular));
  assert.equal(error.name, "TypeError");
});

test("an answer without a summary gives what came and says that the server is gone", async () => {
  const cut = [DELTA, SUMMARY.slice(0, -5)];
  const ends = [{}, { then: new Error("reset") }];
  for (const options of ends) {
    const { types, error } = await collected(readEvents(streamOf(cut, options)));
    assert.deepEqual(types, ["delta"]);
    assert.ok(error instanceof AnswerError);
    assert.equal(error.kind, "gone");
    assert.equal(error.message, "The answer broke off: the server is gone.");
  }
});

test("an event of another name is given out, one that is no object is not", async () => {
  const other = frame("draft", { text: "[7]" }) + frame("tick", 7) + "event: odd\ndata: {\n\n";
  assert.deepEqual(await collected(readEvents(streamOf([other + DELTA + SUMMARY]))), {
    types: ["draft", "delta", "summary"],
    error: null,
  });
});

test("a known event that is no JSON is an error and not left out", async () => {
  const { types, error } = await collected(
    readEvents(streamOf([DELTA + "event: delta\ndata: {oops\n\n" + SUMMARY])),
  );
  assert.deepEqual(types, ["delta"]);
  assert.equal(error.kind, "unreadable");
});

test("leaving the loop hangs up", async () => {
  let left = 0;
  const stream = streamOf([DELTA + DELTA], { then: "wait", cancelled: () => left++ });
  for await (const { type } of readEvents(stream)) {
    assert.equal(type, "delta");
    break;
  }
  assert.equal(left, 1);
});

test("a server that falls silent is gone, and its pings are no silence", async () => {
  let left = 0;
  let pings = 0;
  const pinging = new ReadableStream({
    async pull(controller) {
      if (pings === 5) return;
      await new Promise((resolve) => setTimeout(resolve, 20));
      controller.enqueue(bytes(pings++ ? ": ping\n\n" : DELTA));
    },
    cancel: () => left++,
  });
  const { types, error } = await collected(readEvents(pinging, { silence: 200 }));
  assert.deepEqual([types, error.kind, pings, left], [["delta"], "gone", 5, 1]);
});

test("a flood that is there already lets others work in between", async () => {
  const flood = streamOf([DELTA.repeat(2000) + SUMMARY]);
  let turns = 0;
  let over = false;
  const count = () => {
    turns++;
    if (!over) setImmediate(count);
  };
  setImmediate(count);
  let given = 0;
  for await (const { type } of readEvents(flood)) {
    given += type === "delta";
    const until = performance.now() + 0.05;
    while (performance.now() < until);
  }
  over = true;
  assert.equal(given, 2000);
  assert.ok(turns > 2, `${turns} turns`);
});

// -- The request --------------------------------------------------------------

async function serving(answer, use) {
  const requests = [];
  const server = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf-8");
    request.on("data", (piece) => (body += piece));
    request.on("end", () => {
      const { method, headers } = request;
      requests.push({ method, headers, body });
      answer(response);
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    await use(`http://127.0.0.1:${server.address().port}/ask`, requests);
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}

const EVENT_STREAM = { "content-type": "text/event-stream; charset=utf-8" };

test("a question is posted as JSON, and asked once", async () => {
  await serving(
    (response) => response.writeHead(200, EVENT_STREAM).end(DELTA + SUMMARY),
    async (url, requests) => {
      const events = [];
      const asked = ask(url, { question: "é?" }, { headers: { "x-tenant": "a" } });
      for await (const event of asked) events.push(event);
      assert.deepEqual(events, [
        { type: "delta", data: { text: "Free." } },
        { type: "summary", data: { cited: [] } },
      ]);
      const [{ method, headers, body }] = requests;
      assert.equal(requests.length, 1);
      assert.deepEqual(
        [method, body, headers.accept, headers["content-type"], headers["x-tenant"]],
        ["POST", '{"question":"é?"}', "text/event-stream", "application/json", "a"],
      );
    },
  );
});

test("an answer that breaks off is not asked for again", async () => {
  await serving(
    (response) => {
      response.writeHead(200, EVENT_STREAM);
      response.write(DELTA, () => response.destroy());
    },
    async (url, requests) => {
      const { types, error } = await collected(ask(url, {}));
      assert.deepEqual([types, error.kind, requests.length], [["delta"], "gone", 1]);
    },
  );
});

test("a refusal says what the server says", async () => {
  const plain = "The server refused, with status 502.";
  const refusals = [
    ['{"reason":"source failed","id":"a1"}', "source failed"],
    ['{"error":"expected a question"}', "expected a question"],
    ['{"detail":"Not Found"}', "Not Found"],
    ['{"detail":[{"loc":[]}]}', plain],
    [`{"error":"${"x".repeat(900)}"}`, "x".repeat(500)],
    ["<h1>Bad Gateway</h1>", plain],
    ["x".repeat(200_000), plain],
    ["null", plain],
    ["", plain],
  ];
  for (const [body, message] of refusals) {
    await serving(
      (response) => response.writeHead(502, { "content-type": "application/json" }).end(body),
      async (url) => {
        const { types, error } = await collected(ask(url, {}));
        assert.deepEqual(
          [types, error.kind, error.status, error.message],
          [[], "refused", 502, message],
        );
      },
    );
  }
});

test("what is no stream of events is not read as one", async () => {
  for (const type of ["text/html", "application/json", "text/event-stream-not", ""]) {
    await serving(
      (response) => response.writeHead(200, type ? { "content-type": type } : {}).end(SUMMARY),
      async (url) => {
        const { types, error } = await collected(ask(url, {}));
        assert.deepEqual([types, error.kind], [[], "unreadable"]);
      },
    );
  }
});

test("a server that is not there cannot be reached", async () => {
  let gone;
  await serving(() => {}, async (url) => (gone = url));
  const { types, error } = await collected(ask(gone, {}));
  assert.deepEqual([types, error.kind], [[], "unreachable"]);
});

test("an abort hangs up at once, before, during and between the events", async () => {
  for (const when of ["before", "headers", "events"]) {
    const left = {};
    left.promise = new Promise((resolve) => (left.resolve = resolve));
    await serving(
      (response) => {
        response.on("close", left.resolve);
        if (when === "headers") return;
        response.writeHead(200, EVENT_STREAM);
        response.write(DELTA);
      },
      async (url) => {
        const controller = new AbortController();
        const { signal } = controller;
        if (when === "before") controller.abort();
        if (when === "headers") setTimeout(() => controller.abort(), 50);
        const types = [];
        const reading = async () => {
          for await (const { type } of ask(url, {}, { signal })) {
            types.push(type);
            controller.abort();
          }
        };
        await assert.rejects(reading, { name: "AbortError" });
        assert.deepEqual(types, when === "events" ? ["delta"] : []);
        if (when !== "before") await left.promise;
      },
    );
  }
});

// -- Citations ----------------------------------------------------------------

test("a citation is cut into one part for each label, and its text stays whole", () => {
  const cases = [
    ["[1]", [1], [["[", null], ["1", 1], ["]", null]]],
    ["[1, 2]", [1, 2], [["[", null], ["1", 1], [", ", null], ["2", 2], ["]", null]]],
    // Renumbered: by position, not by name.
    ["[1, 2]", [2, 7], [["[", null], ["1", 2], [", ", null], ["2", 7], ["]", null]]],
    ["[S1, S2]", [1, 2], [["[", null], ["S1", 1], [", ", null], ["S2", 2], ["]", null]]],
    ["[^1]", [1], [["[", null], ["^1", 1], ["]", null]]],
    ["【4:0†source】", ["4:0"], [["【", null], ["4:0†source", "4:0"], ["】", null]]],
    [
      "[Article 6, 7; Article 8]",
      ["Article 6, 7", "Article 8"],
      [
        ["[", null],
        ["Article 6, 7", "Article 6, 7"],
        ["; ", null],
        ["Article 8", "Article 8"],
        ["]", null],
      ],
    ],
    // A narrower label than the passage's own.
    ["[Article 6(3)(a)]", ["Article 6(3)"], [["[", null], ["Article 6(3)(a)", "Article 6(3)"], ["]", null]]],
    // A broader one, and a range: more labels than characters for them.
    ["[Article 6]", ["A6(1)", "A6(2)"], [["[", null], ["Article 6", "A6(1)"], ["]", null], ["", "A6(2)"]]],
    ["[1-3]", [1, 2, 3], [["[", null], ["1-3", 1], ["]", null], ["", 2], ["", 3]]],
    // What was kept or flagged beside it is no chip.
    ["[12, 2]", [2], [["[12, ", null], ["2", 2], ["]", null]]],
    ["[S12, S2]", [2], [["[S12, S", null], ["2", 2], ["]", null]]],
    ["[1](?)", [1], [["[", null], ["1", 1], ["](?)", null]]],
    ["[7]", [], [["[7]", null]]],
    // The caller's own way to write it.
    ["(see 1)", [1], [["(see ", null], ["1", 1], [")", null]]],
    ["¹", [1], [["¹", 1]]],
    ["", [], []],
    ["", [1], []],
  ];
  for (const [text, cited, parts] of cases) {
    assert.deepEqual(partsOf(text, cited), parts);
    assert.equal(parts.map(([part]) => part).join(""), text);
  }
});

test("a chip is named after its source", () => {
  const cases = [
    [2, [{ title: "Refunds" }], "Source 2: Refunds"],
    [2, [{ title: null }], "Source 2"],
    [2, [], "Source 2"],
    [2, undefined, "Source 2"],
    [2, [{ title: " " }, { title: "Second" }], "Source 2: Second"],
    [2, [{ title: "a\r\n\u0000 b" }], "Source 2: a b"],
    [2, [{ title: 7 }], "Source 2: 7"],
    ["Article 6(3)", [{ title: "Law" }], "Source Article 6(3): Law"],
  ];
  for (const [label, passages, name] of cases) assert.equal(nameOf(label, passages), name);
  assert.equal(nameOf(1, [{ title: "x".repeat(5000) }]).length, 201);
});

test("only web addresses become links", () => {
  const safe = ["https://bikes.example/a?b=c#d", "http://127.0.0.1:8000/", "https://[::1]/"];
  for (const url of safe) assert.equal(safeUrl(url), url);
  assert.equal(safeUrl("HTTPS://Bikes.Example"), "https://bikes.example/");
  const unsafe = [
    "javascript:alert(1)",
    "java\tscript:alert(1)",
    " https://bikes.example/",
    "https://bikes.example/\n",
    "https://bikes\u202e.example/",
    "data:text/html,x",
    "vbscript:x",
    "file:///etc/passwd",
    "blob:https://bikes.example/1",
    "//evil.example/",
    "/relative",
    "https:\\\\evil.example",
    "https://bank.example@evil.example/",
    "https://",
    "",
    null,
    undefined,
    7,
    {},
  ];
  for (const url of unsafe) assert.equal(safeUrl(url), null, String(url));
});
