"use strict";
// What the page shows first is asked for while the rest of the page is still read.

const pageSize = 100;

// An address that somebody has typed may be none.
function decoded(text) { try { return decodeURIComponent(text); } catch { return text; } }

// Where the page is: the parts of the path, and what is asked of a table.
function place() {
  const [path, search] = location.hash.slice(2).split(/\?(.*)/s);
  return { parts: path.split("/").map(decoded), query: Object.fromEntries(new URLSearchParams(search ?? "")) };
}

function address(name, query) {
  const text = new URLSearchParams(Object.entries(query ?? {}).filter(([, value]) => value !== undefined && value !== null && value !== ""));
  // A plus sign stands for itself here.
  return `api/${name}?${text.toString().replaceAll("+", "%20")}`;
}

async function read(url, options) {
  const response = await fetch(url, { cache: "no-store", ...options });
  const answer = await response.json().catch((error) => {
    if (error.name === "AbortError") throw error;
    return { error: `The answer cannot be read (${response.status}).` };
  });
  return { answer, isWell: response.ok };
}

const rowsQuestion = (entity, query) => ({ entity, where: query.where, sort: query.sort, exact: query.exact });

// Answers on their way by address, for whoever asks first.
const early = new Map();
(() => {
  const { parts, query } = place();
  const addresses = [address("begin")];
  if (parts[0] === "rows" && parts[1]) {
    const question = rowsQuestion(parts[1], query);
    addresses.push(address("rows", { ...question, offset: 0, limit: pageSize }), address("plan", question));
  }
  for (const url of addresses) {
    const control = new AbortController();
    const answer = read(url, { signal: control.signal });
    // Said to who asks.
    answer.catch(() => {});
    early.set(url, { answer, control });
  }
})();
