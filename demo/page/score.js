// The summary in words: what was cited, whether that is grounded and why, and
// how it ended. It knows no stream.

import { make } from "./passages.js";

const ENDED = {
  complete: "the model came to its end",
  error: "the model failed",
  cancelled: "it was stopped",
};

const CHECKS = {
  no_passages: "nothing was found to answer from",
  below_floor: "what was found fits the question too badly",
  model_refused: "the model refused",
  invented_citation: "it cites a source that does not exist",
  no_citation: "it cites nothing",
  uncited_sentence: "a sentence cites nothing",
  uncited_share: "too many sentences cite nothing",
  too_long: "it is too long",
  unsupported: "a source does not support its sentence",
};

/** Says why a check failed, in words. */
export function reasonOf(check) {
  return CHECKS[check] ?? check;
}

/** Says what a summary comes to: {kind, words}. */
export function verdictOf(summary) {
  const { cited, invalid, grounded, refused_by: refusedBy, ended, warnings = [] } = summary;
  const left = invalid.length
    ? ` Left out: ${invalid.join(", ")}, which no source has.`
    : "";
  if (ended === "error") {
    return { kind: "bad", words: `The model failed. What came so far is above.${left}` };
  }
  if (ended === "cancelled") {
    return { kind: "bad", words: `The answer was cut off. What came so far is above.${left}` };
  }
  if (refusedBy === "policy") {
    return { kind: "plain", words: "The answer did not pass the checks, and is not shown." };
  }
  if (refusedBy) {
    return { kind: "plain", words: `The documents do not answer this, the model says.${left}` };
  }
  if (!grounded) {
    return { kind: "bad", words: `This answer isn’t backed by your documents.${left}` };
  }
  if (warnings.length) {
    const [{ reason }] = warnings;
    return { kind: "bad", words: `Read it with care: ${reasonOf(reason)}.${left}` };
  }
  const count = cited.length === 1 ? "one source" : `${cited.length} sources`;
  return { kind: "good", words: `Cites ${count} that it was given.${left}` };
}

function groundsOf({ cited, grounded, refused_by: refusedBy }) {
  if (refusedBy === "policy") return "no: the policy refused";
  if (refusedBy) return "no: the model refused";
  if (!cited.length) return "no: nothing valid is cited";
  return grounded ? "yes: at least one valid citation, and no refusal" : "no";
}

function endOf({ ended, reason, refused_by: refusedBy, attempts = [], omitted = 0 }) {
  const parts = [refusedBy === "policy" ? "the policy ended it" : (ENDED[ended] ?? ended)];
  // An id for the server's log is of no use to a reader.
  if (reason && ended === "cancelled") parts.push(reason);
  if (attempts.length > 1) parts.push(`${attempts.length} attempts`);
  if (omitted) parts.push(omitted === 1 ? "one sentence left out" : `${omitted} sentences left out`);
  return parts.join("; ");
}

// A list of more is no longer read.
const MOST_LISTED = 5;

const FIELDS = ["cited", "invalid", "unused", "grounded", "uncited", "supported", "ended"];

/** Fills the list of the summary; `null` empties it. */
export function showSummary(summary) {
  const rows = Object.fromEntries(FIELDS.map((name) => [name, document.getElementById(name)]));
  for (const row of Object.values(rows)) row.replaceChildren();
  rows.supported.parentElement.hidden = !summary?.claims?.length;
  if (!summary) return;
  const { cited, invalid, unused, truncated, sentences, uncited, claims = [] } = summary;
  rows.cited.textContent = cited.join(", ") || "none";
  rows.invalid.textContent = (invalid.join(", ") || "none") + (truncated ? ", and more" : "");
  rows.unused.textContent = unused.join(", ") || "none";
  rows.grounded.textContent = groundsOf(summary);
  rows.ended.textContent = endOf(summary);
  if (claims.length) rows.supported.append(...claimsOf(claims));
  if (uncited) {
    rows.uncited.append(uncited.length ? `${uncited.length} of ${sentences}` : `none of ${sentences}`);
    if (uncited.length) {
      const list = make("ul");
      list.append(...uncited.slice(0, MOST_LISTED).map((content) => make("li", "", content)));
      const more = uncited.length - MOST_LISTED;
      if (more > 0) list.append(make("li", "", `and ${more} more`));
      rows.uncited.append(list);
    }
  }
}

/** Says how many sentences the passages support, and which they contradict. */
function claimsOf(claims) {
  const counts = ["supported", "contradicted", "unknown"]
    .map((verdict) => [claims.filter((claim) => claim.verdict === verdict).length, verdict])
    .filter(([count]) => count);
  const words = counts.map(([count, verdict]) => `${count} ${verdict}`).join(", ");
  const wrong = claims.filter(({ verdict }) => verdict === "contradicted");
  if (!wrong.length) return [words];
  const list = make("ul");
  list.append(...wrong.slice(0, MOST_LISTED).map(({ content }) => make("li", "", content)));
  return [words, list];
}

/** Says whether the two goals are reached; `null` says nothing of them. */
export function showGoals(summary, holding) {
  const cites = document.getElementById("goal-cites");
  const answers = document.getElementById("goal-answers");
  const met = summary && {
    cites: Boolean(holding) && summary.cited.map(String).includes(String(holding.label)),
    answers: summary.refused_by === null,
  };
  const marker = holding ? ` (${holding.marker})` : "";
  say(cites, `It cites the passage that holds the answer${marker}.`, met?.cites);
  say(answers, "It does not refuse.", met?.answers);
}

function say(item, words, met) {
  item.dataset.met = met === undefined ? "" : String(met);
  item.replaceChildren(make("span", "", words));
  // For those who do not see the sign.
  if (met !== undefined) item.firstChild.append(make("span", "unseen", met ? " Reached." : " Missed."));
}
