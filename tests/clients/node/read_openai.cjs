// Reads answers with the official openai client for Node and prints what it made of them as JSON.
// It is asked as read_openai.py is, and loads nothing but the client, from NODE_PATH.

const OpenAI = require("openai");
const { VERSION } = require("openai/version");

const messages = [{ role: "user", content: "How long do refunds take?" }];

class Read {
  contents = {};
  finishes = {};
  summaries = {};
  annotations = {};
  tools = {};
  other = {};
  usage = null;

  chunk(chunk) {
    if (chunk.usage) this.usage = chunk.usage.total_tokens;
    for (const choice of chunk.choices) {
      const index = String(choice.index);
      const delta = choice.delta ?? {};
      if (chunk.citestream) this.summaries[index] = chunk.citestream;
      const text = choice.text ?? delta.content;
      if (text) (this.contents[index] ??= []).push(text);
      if (choice.finish_reason) (this.finishes[index] ??= []).push(choice.finish_reason);
      if (delta.annotations) (this.annotations[index] ??= []).push(...delta.annotations);
      for (const call of delta.tool_calls ?? []) {
        this.tools[index] = (this.tools[index] ?? "") + (call.function?.arguments ?? "");
      }
      for (const name of ["refusal", "reasoning_content"]) {
        if (delta[name]) this.other[name] = (this.other[name] ?? "") + delta[name];
      }
    }
  }

  completion(completion) {
    this.usage = completion.usage?.total_tokens ?? null;
    for (const choice of completion.choices) {
      const index = String(choice.index);
      const message = choice.message ?? choice;
      const text = message.content ?? message.text;
      this.contents[index] = text ? [text] : [];
      this.finishes[index] = [choice.finish_reason];
      const summary = choice.citestream ?? completion.citestream;
      if (summary) this.summaries[index] = summary;
      if (message.annotations) this.annotations[index] = message.annotations;
      for (const call of message.tool_calls ?? []) this.tools[index] = call.function.arguments;
      for (const name of ["refusal", "reasoning_content"]) {
        if (message[name]) this.other[name] = message[name];
      }
    }
  }
}

const ways = {
  async raw(client, { model, request }, read) {
    const stream = await client.chat.completions.create({ model, messages, stream: true, ...request });
    for await (const chunk of stream) read.chunk(chunk);
  },
  async legacy(client, { model, request }, read) {
    const answer = await client.completions.create({ model, prompt: "How?", ...request });
    if (!request.stream) return read.completion(answer);
    for await (const chunk of answer) read.chunk(chunk);
  },
  async whole(client, { model, request }, read) {
    read.completion(await client.chat.completions.create({ model, messages, ...request }));
  },
  async helper(client, { model, request }, read) {
    const seen = new Read();
    let text = "";
    const stream = client.chat.completions.stream({ model, messages, ...request });
    stream.on("chunk", (chunk) => seen.chunk(chunk));
    stream.on("content", (delta) => (text += delta));
    const final = await stream.finalChatCompletion();
    read.completion(final);
    if (final.choices.length === 1 && text !== (read.contents[0][0] ?? "")) {
      throw new Error("the helper's events and its final object differ");
    }
    read.other.summaryInFinal = JSON.stringify(Object.keys(read.summaries));
    read.summaries = seen.summaries;
  },
};

async function main() {
  let input = "";
  for await (const piece of process.stdin) input += piece;
  const client = new OpenAI({ baseURL: process.argv[2], apiKey: "x", maxRetries: 0 });
  const results = { version: VERSION };
  for (const one of JSON.parse(input)) {
    for (const way of one.ways) {
      const read = new Read();
      await ways[way](client, one, read);
      results[`${one.model} ${way}`] = read;
    }
  }
  console.log(JSON.stringify(results));
}

main();
