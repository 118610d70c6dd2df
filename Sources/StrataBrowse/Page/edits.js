"use strict";
// What is not saved yet: the edits that the program keeps for all pages, and the fields that are open in this one.

// `turn` grows with every change of them: no picture of a former one is shown again.
const pending = { changes: new Map(), wrong: [], told: "", turn: 0, saved: new Map() };
const canEdit = (attribute) => state.begin.writes && !attribute.isDerived && !["image", "large", "bytes", "text"].includes(attribute.kind) && attribute.isWhole !== false && !["composite", "transformable", "undefined", "binaryData"].includes(attribute.type);
const canReplace = (attribute) => state.begin.writes && !attribute.isDerived && attribute.type === "binaryData";
async function change(edit) { changedHere(await tell("edit", edit)); }
async function insert(entity) {
  try {
    const answer = await tell("edit", { kind: "insert", entity });
    changedHere(answer);
    location.hash = objectHash(answer.id);
  } catch (error) { complain(error); }
}
async function act(name) {
  // What is still in a field is meant to be saved, too.
  if (name === "save" && !(await finishFields())) return;
  try { changedHere(await tell(name)); } catch (error) { complain(error); }
}

// What is not valid is told where it is, and below with a link to it.
function complain(error) {
  if (error.isLost) return lost();
  pending.wrong = error.fields ?? [];
  $("pending").hidden = false;
  $("pending").querySelector(".what")?.remove();
  $("pending").prepend(h("div", { class: "what error", role: "alert" }, errorText(error), pending.wrong.slice(0, 20).flatMap((field) => ["\n", h("a", { href: objectHash(field.id) }, `${field.id} ${field.name ?? ""}`), ` ${field.error}`])));
  if (state.view instanceof ObjectView) state.view.show();
}

// Other pages of this browser are told at once; those of others ask.
const pages = new BroadcastChannel("strata");
pages.addEventListener("message", () => refreshPending().catch(() => {}));
addEventListener("focus", () => refreshPending().catch(() => {}));
function changedHere(answer) {
  showPending(answer);
  pages.postMessage("edited");
}
// The edits of other pages. Where there are none, what is shown stays.
async function refreshPending() {
  if (!state.begin?.writes) return;
  const answer = await ask("pending");
  if (JSON.stringify(answer) !== pending.told) showPending(answer);
}

function showPending(answer) {
  pending.wrong = [];
  pending.turn += 1;
  pending.told = JSON.stringify({ ...answer, id: undefined });
  pending.changes = new Map(answer.changes.map((item) => [item.id, item]));
  for (const [key, saved] of pending.saved) { if (!isEdited(saved.id, saved.name)) pending.saved.delete(key); }
  const words = { inserted: "new", updated: "changed", deleted: "deleted" };
  $("pending").hidden = !answer.changes.length && !answer.canUndo && !answer.canRedo;
  $("pending").replaceChildren(
    h("span", { class: "what" }, answer.changes.length ? h("strong", {}, `${count(answer.total)} unsaved: `) : "Nothing to save. ",
      answer.changes.slice(0, 12).flatMap((item) => [h("a", { href: objectHash(item.id) }, item.id), ` ${words[item.kind]}  `])),
    h("button", { type: "button", id: "undo", disabled: !answer.canUndo, click: () => act("undo") }, "Undo"),
    h("button", { type: "button", id: "redo", disabled: !answer.canRedo, click: () => act("redo") }, "Redo"),
    h("button", { type: "button", id: "discard", disabled: !answer.changes.length, click: () => act("discard") }, "Throw away"),
    h("button", { type: "button", id: "save", class: "strong", disabled: !answer.changes.length, click: () => act("save") }, "Save"));
  if (state.view instanceof ObjectView) state.view.show();
  if (state.view instanceof RowsView) state.view.draw();
}
function has(values, name) { return Boolean(values) && Object.hasOwn(values, name); }
function isEdited(id, name) {
  const edit = pending.changes.get(id);
  return has(edit?.values, name) || has(edit?.links, name);
}
// What is saved under an edit, where saving the edit would overwrite it; it may be newer than the edit.
function savedText(id, name, text, shown = text) {
  const key = JSON.stringify([id, name]);
  if (!pending.saved.has(key)) pending.saved.set(key, { id, name, text });
  return pending.saved.get(key).text === text
    ? h("div", { class: "faint saved" }, `saved: ${shown}`) : h("div", { class: "message saved" }, `changed by others meanwhile: ${shown}`);
}

// MARK: Bytes

// What is being sent, and what went wrong with the last file, by the object and the name of the attribute.
const uploads = new Set(), refused = new Map();

// Bytes are not typed: a file takes their place.
function fileButtons(id, { name, kind, isOptional }) {
  const key = JSON.stringify([id, name]);
  const attempt = (work) => {
    refused.delete(key);
    // The object when it has failed.
    const upload = work().then(() => null, (error) => {
      if (error.isLost) lost();
      refused.set(key, errorText(error));
      if (state.view instanceof ObjectView && state.view.id === id) state.view.draw();
      return id;
    }).finally(() => uploads.delete(upload));
    uploads.add(upload);
  };
  const input = h("input", { type: "file", hidden: true, "aria-label": `File for ${name}`, change: () => { if (input.files[0]) attempt(() => replace(id, name, input.files[0])); } });
  return [h("div", { class: "writing" }, input,
    h("button", { type: "button", "aria-label": `Replace ${name}`, title: `A file of up to ${bytes(state.begin.largestUpload)}`, click: () => input.click() }, "Replace by a file…"), " ",
    isOptional && kind !== "nil" ? h("button", { type: "button", "aria-label": `Set ${name} to nil`, click: () => attempt(() => change({ kind: "update", id, name, value: null })) }, "Set to nil") : null),
  refused.has(key) ? h("div", { class: "message", role: "alert" }, refused.get(key)) : null].filter(Boolean);
}

async function replace(id, name, file) {
  const most = state.begin.largestUpload;
  if (file.size > most) throw new Error(`${file.name} has ${count(file.size)} bytes. A file of up to ${count(most)} bytes can be put in here.`);
  let body;
  try { body = await file.arrayBuffer(); } catch { throw new Error(`${file.name} cannot be read.`); }
  changedHere(await ask("upload", { id, name }, { method: "POST", headers: { "Content-Type": "application/octet-stream" }, body }));
}

// MARK: Open fields

// By the object and the name of the property. They stay what they are when the view of their object is drawn again, and when it is left.
const opened = new Map();
const openOf = (id) => [...opened.values()].filter((open) => open.id === id);
const openField = (id, name) => opened.get(JSON.stringify([id, name]));
const isTyped = (open) => open.field.value !== open.start;

// Opens a field in `dd`. `send` makes of its text what the program is told.
function openIn(dd, { id, name, kind, field, canBeNil, isNew, send }) {
  const key = JSON.stringify([id, name]);
  const message = h("div", { class: "message", role: "alert" });
  const close = () => {
    opened.delete(key);
    if (state.view instanceof ObjectView && state.view.id === id) state.view.draw();
  };
  const finish = async (value) => {
    try {
      const answer = await tell("edit", { kind, id, name, value });
      opened.delete(key);
      changedHere(answer);
      return true;
    } catch (error) {
      if (error.isLost) lost();
      message.textContent = errorText(error);
      field.setAttribute("aria-invalid", "true");
      return false;
    }
  };
  // Browsers change the ends of lines: what nobody has typed in stays as it is saved.
  const set = async () => {
    if (!isNew && !isTyped(open)) { close(); return true; }
    return finish(send(field.value));
  };
  // Its text as the browser gives it back.
  const open = { id, name, dd, field, start: field.value, set };
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.isComposing && (field.tagName !== "TEXTAREA" || event.ctrlKey || event.metaKey)) set();
    if (event.key === "Escape" && !event.isComposing) close();
  });
  dd.replaceChildren(field, message, h("div", {},
    h("button", { type: "button", class: "strong", click: set }, "Set"), " ",
    canBeNil ? h("button", { type: "button", click: () => finish(null) }, "Set to nil") : null, " ",
    h("button", { type: "button", click: close }, "Cancel")));
  opened.set(key, open);
  field.focus();
}

// Sends what was typed and not set yet. False when something of it is not valid: it is shown.
async function finishFields() {
  const failed = (await Promise.all(uploads)).find((id) => id !== null);
  if (failed !== undefined) {
    if (location.hash !== objectHash(failed)) location.hash = objectHash(failed);
    return false;
  }
  for (const open of [...opened.values()]) {
    if (!isTyped(open) || await open.set()) continue;
    if (location.hash !== objectHash(open.id)) location.hash = objectHash(open.id);
    return false;
  }
  return true;
}

// Line ends that a text keeps when it goes through a field; nil for those of several kinds.
function lineEnd(text) {
  const ends = new Set(text.match(/\r\n|\r|\n/g) ?? []);
  return ends.size > 1 ? null : [...ends][0] ?? "\n";
}

addEventListener("beforeunload", (event) => { if (pending.changes.size || uploads.size || [...opened.values()].some(isTyped)) event.preventDefault(); });
