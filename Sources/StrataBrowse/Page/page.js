"use strict";
// The page about one store. Everything that comes from the store becomes text, never markup.

const $ = (id) => document.getElementById(id);
const state = { begin: null, commit: 0, view: null };
// As Intl.NumberFormat does it, which takes a browser several milliseconds to load.
const count = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, ",");

// An element: properties that are functions are listeners, `class`, `data-…` and `aria-…` are attributes.
function h(tag, properties, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(properties ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (typeof value === "function") element.addEventListener(key, value);
    else if (key in element && !key.includes("-")) element[key] = value;
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

function bytes(number) {
  let unit = "B";
  for (const next of ["kB", "MB", "GB", "TB"]) { if (number >= 1000) [number, unit] = [number / 1000, next]; }
  return `${unit === "B" ? number : number.toFixed(1)} ${unit}`;
}

// What the store answers; an error has `message` and `advice`.
async function ask(name, query, options) {
  const url = address(name, query);
  const ahead = early.get(url);
  early.delete(url);
  if (ahead) options?.signal?.addEventListener("abort", () => ahead.control.abort());
  let response;
  try { response = await (ahead?.answer ?? read(url, options)); } catch (error) {
    if (error.name === "AbortError") throw error;
    throw Object.assign(new Error("The program that serves this page has ended."), { isLost: true });
  }
  const { answer, isWell } = response;
  if (!isWell) throw Object.assign(new Error(answer.error ?? "The request was turned away."), { advice: answer.advice, fields: answer.fields });
  return answer;
}
const tell = (name, body) => ask(name, {}, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body ?? {}) });

const objectHash = (id) => `#/object/${id.split("/").map(encodeURIComponent).join("/")}`;
function link(target) {
  if (!target) return h("span", { class: "nil" }, "nil");
  if (target.isGone) return h("span", { class: "gone", title: "The object is gone." }, target.id);
  return h("a", { href: objectHash(target.id), title: target.id }, target.label ? `${target.label} ` : target.id, target.label ? h("span", { class: "faint" }, target.id) : null);
}
function show(...children) { $("main").className = ""; $("main").replaceChildren(...children.filter((child) => child !== null)); }
// What has the focus gets it back after it was drawn again: the element itself where it was kept, else the one of the same label, with what was chosen in it.
function keepFocus() {
  const old = document.activeElement, label = old?.getAttribute("aria-label");
  if (!$("main").contains(old)) return () => {};
  const [start, end] = old.tagName === "INPUT" ? [old.selectionStart, old.selectionEnd] : [];
  return () => {
    if (old === document.activeElement) return;
    const now = $("main").contains(old) ? old : label && [...$("main").querySelectorAll("[aria-label]")].find((element) => element.getAttribute("aria-label") === label);
    now?.focus();
    if (now && now !== old && typeof start === "number" && now.tagName === "INPUT") now.setSelectionRange(start, end);
  };
}
function errorText(error) { return error.message + (error.advice ? `\n${error.advice}` : ""); }
function failure(error) { return h("pre", { class: "error", role: "alert" }, errorText(error)); }

// MARK: Rows

const rowHeight = 28, tallest = 15_000_000;

class RowsView {
  constructor(entity, query) {
    Object.assign(this, { entity, query, pages: new Map(), loading: new Map(), flashing: new Map(), total: 0, first: 0, chosen: 0, columns: [] });
    this.input = h("input", {
      type: "search", id: "where", spellcheck: false, autocomplete: "off", value: query.where ?? "",
      placeholder: "condition: age > 30 AND name BEGINSWITH 'A'", "aria-label": "Condition", "aria-describedby": "wrong plan",
      input: () => { clearTimeout(this.typing); this.typing = setTimeout(() => this.search(), 300); },
      keydown: (event) => {
        if (event.key === "Enter") { clearTimeout(this.typing); this.search(); }
        if (event.key === "Escape" || event.key === "ArrowDown") { this.scroller.focus(); event.preventDefault(); }
      },
    });
    this.exact = h("input", { type: "checkbox", checked: query.exact === "1", change: () => this.search() });
    this.counter = h("span", { class: "count", id: "count" });
    this.wrong = h("pre", { class: "error", id: "wrong", role: "alert", hidden: true });
    this.plan = h("div", { class: "plan mono", id: "plan" });
    this.body = h("div", { class: "cells" });
    this.layer = h("div", { class: "layer" }, this.body);
    this.spacer = h("div", {});
    this.scroller = h("div", {
      class: "scroller", id: "rows", tabIndex: 0, role: "grid", "aria-label": entity,
      scroll: () => this.draw(), keydown: (event) => this.key(event),
    }, this.layer, this.spacer);
    this.exactLabel = h("label", {}, this.exact, " without subentities");
    this.exactLabel.hidden = !state.begin.entities.some((other) => other.parent === entity);
    this.element = [
      h("div", { class: "tools" }, this.input, this.exactLabel, this.counter,
        h("button", { type: "button", class: "writing", id: "insert", click: () => insert(entity), disabled: this.about?.isAbstract }, `New ${entity}`)),
      this.wrong, this.plan, this.scroller,
    ];
    this.resize = new ResizeObserver(() => this.draw());
  }

  get about() { return state.begin.entities.find((entity) => entity.name === this.entity); }
  parameters() { return rowsQuestion(this.entity, this.query); }

  async show() {
    $("main").className = "table";
    $("main").replaceChildren(...this.element);
    this.resize.observe(this.scroller);
    await this.reload();
  }
  close() { this.resize.disconnect(); clearTimeout(this.typing); this.isClosed = true; this.leave(); }
  // Nobody waits for what was asked: the program stops looking for it.
  leave() {
    this.asking?.abort();
    for (const control of this.loading.values()) control.abort();
    this.loading.clear();
  }

  // The condition or the order has changed: it becomes part of the address.
  search(sort = this.query.sort) {
    const query = { where: this.input.value.trim(), sort: sort ?? "", exact: this.exact.checked ? "1" : "" };
    if (query.where === (this.query.where ?? "") && query.sort === (this.query.sort ?? "") && query.exact === (this.query.exact ?? "")) return;
    this.query = query;
    history.replaceState(null, "", rowsHash(this.entity, query));
    this.chosen = 0;
    this.scroller.scrollTop = 0;
    return this.reload();
  }

  // Begins anew with the newest commit. What is shown stays until the answer is there.
  async reload() {
    const turn = (this.turn = (this.turn ?? 0) + 1);
    const start = Math.floor(this.first / pageSize) * pageSize;
    this.leave();
    const asking = this.asking = new AbortController();
    const plan = ask("plan", this.parameters()).catch(() => null);
    try {
      const question = { ...this.parameters(), offset: start, limit: pageSize }, options = { signal: asking.signal };
      let answer = await ask("rows", question, options);
      // One that was asked for early can be of a commit before the one that the page knows.
      if (answer.commit < state.commit) answer = await ask("rows", question, options);
      if (turn !== this.turn || this.isClosed) return;
      Object.assign(this, { at: answer.commit, total: answer.count, columns: answer.columns, pages: new Map([[start / pageSize, answer.rows]]) });
      this.loading.clear();
      this.wrong.hidden = true;
      this.input.removeAttribute("aria-invalid");
      this.spacer.style.height = `${Math.min(tallest, this.total * rowHeight) + rowHeight}px`;
      this.spacer.style.width = `${this.columns.reduce((sum, column) => sum + this.width(column), 150)}px`;
      this.scroller.setAttribute("aria-rowcount", this.total + 1);
      this.counter.textContent = `${count(this.total)} object${this.total === 1 ? "" : "s"}`;
      this.chosen = Math.min(this.chosen, Math.max(0, this.total - 1));
      this.draw();
    } catch (error) {
      if (turn !== this.turn || this.isClosed) return;
      if (error.isLost) return lost();
      this.wrong.textContent = errorText(error);
      this.wrong.hidden = false;
      this.input.setAttribute("aria-invalid", "true");
    }
    const found = await plan;
    if (turn !== this.turn) return;
    this.plan.textContent = found ? found.plan + (found.estimatedRows === null ? "" : ` · about ${count(found.estimatedRows)} rows to look at`) : "";
  }

  width(column) { return { number: 120, wide: 220, "": 170 }[this.kind(column)]; }
  visible() { return Math.max(1, Math.floor((this.scroller.clientHeight - rowHeight) / rowHeight)); }

  // Pixels of the scroll bar are rows, or more than one when there are very many.
  draw() {
    const visible = this.visible(), last = Math.max(0, this.total - visible);
    const room = this.spacer.offsetHeight - this.scroller.clientHeight;
    const part = this.total * rowHeight > tallest ? (room > 0 ? this.scroller.scrollTop / room : 0) * last : this.scroller.scrollTop / rowHeight;
    this.first = Math.min(last, Math.max(0, Math.round(part)));
    this.layer.style.height = `${this.scroller.clientHeight}px`;
    this.layer.style.width = this.spacer.style.width;
    this.spacer.style.marginTop = `-${this.scroller.clientHeight}px`;
    const rows = [this.head()];
    for (let place = this.first; place < Math.min(this.total, this.first + visible + 1); place++) rows.push(this.row(place));
    this.body.replaceChildren(...rows);
    for (const page of new Set([this.first, this.first + visible].map((place) => Math.floor(place / pageSize)))) this.load(page);
  }

  head() {
    const [key, direction] = (this.query.sort ?? "").split(":");
    return h("div", { class: "row head", role: "row", "aria-rowindex": 1 },
      h("div", { class: "cell id", role: "columnheader" }, "id"),
      this.columns.map((column) => h("div", {
        class: `cell ${this.kind(column)}`, role: "columnheader", title: column.type ?? column.kind, "data-sort": column.sorts ? column.name : null,
        "aria-sort": key === column.name ? (direction === "desc" ? "descending" : "ascending") : null,
        click: () => column.sorts && this.search(key !== column.name ? `${column.name}:asc` : direction === "asc" ? `${column.name}:desc` : ""),
      }, column.name, key === column.name ? (direction === "desc" ? " ▼" : " ▲") : "")));
  }
  kind(column) { return column.isNumber ? "number" : column.kind === "one" || ["date", "uuid", "uri", "string"].includes(column.type) ? "wide" : ""; }

  row(place) {
    const row = this.pages.get(Math.floor(place / pageSize))?.[place % pageSize];
    const properties = { class: "row", role: "row", "aria-rowindex": place + 2 };
    if (place === this.chosen) { properties.class += " chosen"; properties["aria-selected"] = "true"; }
    if (!row) return h("div", properties, h("div", { class: "cell id faint" }, "…"));
    if (row.gone) return h("div", properties, h("div", { class: "cell id gone" }, row.gone));
    const flash = this.flashing.get(row.id);
    if (flash) Object.assign(properties, { class: `${properties.class} flash`, "data-change": flash.word });
    const edit = pending.changes.get(row.id);
    if (edit) properties.class += edit.kind === "deleted" ? " removed edited" : " edited";
    properties.click = () => { this.chosen = place; this.draw(); };
    properties.dblclick = () => { location.hash = objectHash(row.id); };
    const element = h("div", properties, h("div", { class: "cell id", role: "gridcell" }, h("a", { href: objectHash(row.id), tabIndex: -1 }, row.id)),
      this.columns.map((column, index) => this.cell(column, row.cells[index])));
    // A row that is drawn again goes on flashing where it was.
    if (flash) element.style.animationDelay = `${flash.since - performance.now()}ms`;
    return element;
  }

  cell(column, value) {
    const properties = { class: `cell ${this.kind(column)}`, role: "gridcell" };
    if (value === null) return h("div", { ...properties, class: properties.class + " nil" }, "nil");
    if (typeof value === "string") return h("div", { ...properties, title: value }, value);
    if (value.size !== undefined) return h("div", { ...properties, class: properties.class + " faint" }, bytes(value.size));
    if (value.count !== undefined) return h("div", properties, count(value.count));
    return h("div", properties, link(value));
  }

  async load(page) {
    if (page * pageSize >= this.total || this.pages.has(page) || this.loading.has(page)) return;
    const turn = this.turn;
    // What was scrolled past is not waited for.
    for (const [other, control] of this.loading) { if (Math.abs(other - page) > 1) { control.abort(); this.loading.delete(other); } }
    const control = new AbortController();
    this.loading.set(page, control);
    try {
      const answer = await ask("rows", { ...this.parameters(), offset: page * pageSize, limit: pageSize, at: this.at }, { signal: control.signal });
      if (turn !== this.turn || this.isClosed) return;
      // The list of that commit is gone: this one is another list.
      if (answer.commit !== this.at) return this.reload();
      this.pages.set(page, answer.rows);
      if (this.pages.size > 60) this.pages.delete(this.pages.keys().next().value);
      this.draw();
    } catch (error) {
      if (error.isLost) lost();
    } finally {
      if (this.loading.get(page) === control) this.loading.delete(page);
    }
  }

  choose(place) {
    this.chosen = Math.min(this.total - 1, Math.max(0, place));
    const visible = this.visible(), last = Math.max(1, this.total - visible);
    if (this.chosen < this.first || this.chosen >= this.first + visible) {
      const top = Math.min(last, Math.max(0, this.chosen < this.first ? this.chosen : this.chosen - visible + 1));
      const room = this.spacer.offsetHeight - this.scroller.clientHeight;
      this.scroller.scrollTop = this.total * rowHeight > tallest ? (top / last) * room : top * rowHeight;
    }
    this.draw();
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: this.visible(), PageUp: -this.visible(), Home: -Infinity, End: Infinity }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      this.choose(Math.max(-1, Math.min(this.total, this.chosen + step)));
    } else if (event.key === "Enter") {
      const row = this.pages.get(Math.floor(this.chosen / pageSize))?.[this.chosen % pageSize];
      if (row?.id) location.hash = objectHash(row.id);
    }
  }

  // Others have saved: what is new and what has changed flashes.
  changed(change) {
    const until = performance.now() + 2400;
    for (const word of ["inserted", "updated"]) { for (const id of change[word] ?? []) this.flashing.set(id, { word, since: performance.now() }); }
    setTimeout(() => {
      for (const [id, flash] of this.flashing) { if (flash.since + 2400 <= until) this.flashing.delete(id); }
      if (!this.isClosed) this.draw();
    }, 2500);
    return this.reload();
  }
}

function rowsHash(entity, query = {}) {
  const text = new URLSearchParams(Object.entries(query).filter(([, value]) => value)).toString();
  return `#/rows/${encodeURIComponent(entity)}${text ? `?${text}` : ""}`;
}

// MARK: An object

class ObjectView {
  constructor(id) { this.id = id; }

  async show() {
    const turn = (this.turn = (this.turn ?? 0) + 1);
    try {
      const edit = pending.changes.get(this.id);
      const object = edit?.kind === "inserted" ? edit.object : await ask("object", { id: this.id });
      if (turn !== this.turn || this.isClosed) return;
      // Pages of members that were asked for stay while nothing has been saved.
      if (this.object?.commit !== object.commit) this.lists?.forEach((list) => list.forget());
      this.object = object;
      this.draw();
    } catch (error) {
      if (turn !== this.turn || this.isClosed) return;
      // What was typed can still be copied.
      const open = openOf(this.id);
      show(failure(error), open.length ? h("dl", { class: "fields" }, open.flatMap((open) => [h("dt", {}, open.name), open.dd])) : null);
    }
  }
  close() { this.isClosed = true; }

  draw() {
    const object = this.object, edit = pending.changes.get(this.id), again = keepFocus();
    if (!object) return;
    const isRemoved = edit?.kind === "deleted";
    show(
      h("h2", { id: "object", class: isRemoved ? "removed" : "" }, object.id),
      h("p", { class: "faint" }, h("a", { href: rowsHash(object.entity) }, object.entity), ` · ${edit?.kind === "inserted" ? "not saved yet" : `saved ${count(object.saved)} time${object.saved === 1 ? "" : "s"}`} · `, h("code", {}, object.uri ?? ""), " ",
        isRemoved ? " deleted, not saved yet " : h("button", { type: "button", class: "writing", id: "delete", click: () => change({ kind: "delete", id: object.id }).catch(complain) }, "Delete")),
      h("dl", { class: "fields", id: "attributes" }, object.attributes.flatMap((attribute) => this.attribute(attribute, edit))),
      h("h3", {}, "Relationships"),
      h("dl", { class: "fields", id: "links" },
        object.toOne.flatMap((one) => this.toOne(one, edit)),
        object.toMany.flatMap((many) => this.toMany(many, has(edit?.members, many.name) ? edit.members[many.name] : undefined, true))),
      object.incoming.some((many) => many.count) ? h("h3", {}, "What refers to it") : null,
      object.incoming.some((many) => many.count) ? h("dl", { class: "fields", id: "incoming" }, object.incoming.filter((many) => many.count).flatMap((many) => this.toMany(many))) : null);
    again();
    if (this.flash) { $("attributes").classList.add("flash"); this.flash = false; }
  }

  attribute(attribute, edit) {
    const label = h("dt", {}, attribute.name, h("small", {}, `${attribute.type}${attribute.isOptional ? "" : ", required"}${attribute.isDerived ? ", derived" : ""}`));
    const open = openField(this.id, attribute.name);
    if (open) return [label, open.dd];
    const isChanged = has(edit?.values, attribute.name), isSaved = !isChanged && edit?.kind !== "inserted";
    const { name, type, isOptional, isDerived } = attribute;
    const now = isChanged ? { name, type, isOptional, isDerived, ...edit.values[name] } : attribute;
    const dd = h("dd", { "data-name": name, class: isChanged ? "edited" : "" }, this.text(now, isSaved));
    if (!isSaved && now.isWhole === false && now.kind === "value") dd.append(h("div", { class: "faint" }, "The beginning. It can be edited again when it is shorter, or undone."));
    if (canEdit(now) && lineEnd(now.text ?? "") === null) dd.append(h("div", { class: "faint" }, "Its lines end in different ways, which a field of a page cannot keep."));
    else if (canEdit(now)) dd.append(" ", h("button", { type: "button", class: "writing", "aria-label": `Edit ${name}`, click: () => this.edit(now, dd) }, "Edit"));
    if (state.begin.writes && attribute.why) dd.append(h("div", { class: "faint why" }, attribute.why));
    if (canReplace(attribute)) dd.append(...fileButtons(this.id, now));
    if (isChanged) dd.append(savedText(this.id, name, attribute.kind === "nil" ? "nil" : attribute.text ?? bytes(attribute.size ?? 0), attribute.type === "binaryData" && attribute.kind !== "nil" ? bytes(attribute.size ?? 0) : undefined));
    dd.append(...this.wrong(name));
    return [label, dd];
  }

  wrong(name) { return pending.wrong.filter((field) => field.id === this.id && field.name === name).map((field) => h("div", { class: "message", role: "alert" }, field.error)); }

  // A value as what it is.
  text(attribute, isSaved = true) {
    const url = `api/value?id=${encodeURIComponent(this.id)}&name=${encodeURIComponent(attribute.name)}${isSaved ? "" : `&pending=1&turn=${pending.turn}`}`;
    const whole = attribute.isWhole === false ? h("a", { href: url, target: "_blank", rel: "noopener" }, " whole value") : null;
    const size = attribute.size === undefined ? null : h("div", { class: "faint" }, bytes(attribute.size), attribute.media ? ` · ${attribute.media}` : "", whole);
    switch (attribute.kind) {
      case "nil": return h("span", { class: "nil" }, "nil");
      case "image": return h("div", {}, h("a", { href: url, target: "_blank", rel: "noopener" }, h("img", { src: url, alt: `${attribute.name}, ${bytes(attribute.size)}` })), size);
      case "text": case "bytes": return h("div", {}, h("pre", { "data-kind": attribute.kind }, attribute.text), size);
      case "large": return size;
      default: return h("span", {}, attribute.text, whole);
    }
  }

  edit(now, dd) {
    const text = now.kind === "nil" ? "" : now.text ?? "", end = lineEnd(text);
    const field = h(now.type === "string" ? "textarea" : "input", { value: text, rows: 3, "aria-label": now.name, spellcheck: false });
    openIn(dd, {
      id: this.id, name: now.name, kind: "update", field, canBeNil: now.isOptional, isNew: now.kind === "nil",
      send: (value) => end === "\n" ? value : value.replaceAll("\n", end),
    });
  }

  toOne(one, edit) {
    const label = h("dt", {}, one.name, h("small", {}, `to one ${one.destination}`));
    const open = openField(this.id, one.name);
    if (open) return [label, open.dd];
    const isChanged = has(edit?.links, one.name), target = isChanged ? edit.links[one.name] : one.target;
    const dd = h("dd", { "data-name": one.name, class: isChanged ? "edited" : "" }, link(target));
    dd.append(" ", h("button", { type: "button", class: "writing", "aria-label": `Edit ${one.name}`, click: () => {
      const field = h("input", { value: target?.id ?? "", placeholder: `${one.destination}/p1`, "aria-label": one.name });
      openIn(dd, { id: this.id, name: one.name, kind: "link", field, canBeNil: true, send: (value) => value.trim() || null });
    } }, "Edit"));
    if (isChanged) dd.append(savedText(this.id, one.name, one.target?.id ?? "nil"));
    dd.append(...this.wrong(one.name));
    return [label, dd];
  }

  toMany(saved, edit, isOwn = false) {
    const list = (this.lists ??= new Map()).get(saved.name) ?? new MemberList(this, isOwn);
    this.lists.set(saved.name, list);
    return list.draw(saved, edit);
  }

  changed(change) {
    if (!["updated", "related", "deleted"].some((word) => change[word]?.includes(this.id)) && !change.isUnknown && !change.uncertain?.length) return;
    this.flash = true;
    return this.show();
  }
}

// MARK: History, model, space

class HistoryView {
  list = h("ol", { class: "timeline", id: "timeline" });
  more = h("button", { type: "button", hidden: true, click: () => this.load() }, "Earlier");
  async show() {
    show(h("h2", {}, "History"), this.list, this.more);
    await this.load();
  }
  close() { this.isClosed = true; }
  async load() {
    try {
      const answer = await ask("history", { before: this.before });
      if (this.isClosed) return;
      if (!answer.recordsHistory) return this.list.replaceWith(h("p", {}, "The store records no history: what is saved while the page is open is told beside the tables."));
      for (const transaction of answer.transactions) { this.list.append(this.entry(transaction)); this.before = transaction.number; }
      if (!this.list.children.length) this.list.append(h("li", {}, "Nothing was saved since the history began."));
      this.more.hidden = !answer.hasMore;
    } catch (error) { $("main").append(failure(error)); }
  }
  entry(transaction) {
    const total = Object.values(transaction.counts).reduce((sum, number) => sum + number, 0);
    const words = { insert: "new", update: "changed", delete: "deleted" };
    const changes = transaction.changes.map((item) => h("li", {}, h("span", { class: item.type }, words[item.type] ?? item.type), " ",
      item.type === "delete" ? h("span", { class: "gone" }, item.id) : link({ id: item.id }),
      item.properties ? h("span", { class: "faint" }, ` ${item.properties.join(", ")}`) : null,
      item.tombstone ? h("span", { class: "faint" }, ` ${Object.entries(item.tombstone).map(([key, value]) => `${key} = ${value}`).join(", ")}`) : null));
    if (total > transaction.changes.length) changes.push(h("li", { class: "faint" }, `and ${count(total - transaction.changes.length)} more`));
    return h("li", { "data-number": transaction.number }, h("strong", {}, transaction.author ?? "somebody"), ` · ${new Date(transaction.time).toLocaleString()} · `,
      h("span", { class: "faint" }, `transaction ${count(transaction.number)}${transaction.context ? `, ${transaction.context}` : ""}, process ${transaction.process}`),
      changes.length > 12 ? h("details", {}, h("summary", {}, `${count(total)} changes`), h("ul", {}, changes)) : h("ul", {}, changes));
  }
  changed() {
    if (this.isClosed || $("main").scrollTop > 40) return;
    this.close();
    return (state.view = new HistoryView()).show();
  }
}

class ModelView {
  show() { show(h("img", { class: "diagram", id: "diagram", src: "api/diagram", alt: "The entities and their relationships" })); }
  close() {}
}

const hues = [212, 150, 32, 280, 0, 180, 96, 330, 250, 60];
class SpaceView {
  async show() {
    try {
      const answer = await ask("space");
      if (this.isClosed) return;
      const parts = [...answer.parts, { name: "free pages", bytes: answer.freeBytes, isFree: true }].filter((part) => part.bytes > 0).sort((a, b) => b.bytes - a.bytes);
      parts.forEach((part, place) => { part.color = part.isFree ? "#b9c0ca" : `hsl(${hues[place % hues.length]} 55% ${70 - 8 * Math.floor(place / hues.length)}%)`; });
      const picture = document.createElementNS("http://www.w3.org/2000/svg", "svg");
      for (const [key, value] of Object.entries({ viewBox: "0 0 1000 420", class: "space", id: "space", role: "img", "aria-label": "Where the bytes of the file are" })) picture.setAttribute(key, value);
      this.divide(parts, 0, 0, 1000, 420, picture);
      const total = parts.reduce((sum, part) => sum + part.bytes, 0);
      show(h("h2", {}, `${bytes(answer.bytes)} in pages of ${count(answer.pageSize)} bytes`), picture,
        h("table", {}, h("thead", {}, h("tr", {}, h("th", {}, "what"), h("th", { class: "n" }, "entries"), h("th", { class: "n" }, "bytes"), h("th", { class: "n" }, "part"))),
          h("tbody", {}, parts.map((part) => {
            const swatch = h("span", { class: "swatch" });
            swatch.style.background = part.color;
            return h("tr", {}, h("td", {}, swatch, part.name), h("td", { class: "n" }, part.entries === undefined ? "" : count(part.entries)), h("td", { class: "n" }, count(part.bytes)), h("td", { class: "n" }, `${(part.bytes / total * 100).toFixed(1)} %`));
          }))),
        h("p", { class: "faint" }, answer.logBytes ? `A log of ${bytes(answer.logBytes)} with ${count(answer.logCommits)} commits. ` : "No log. ", `${count(answer.readers)} readers.`));
    } catch (error) { $("main").replaceChildren(failure(error)); }
  }
  // Halves by weight, along the longer side.
  divide(parts, x, y, width, height, picture) {
    if (parts.length === 0) return;
    if (parts.length === 1) {
      const add = (tag, attributes, text) => {
        const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
        for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
        element.textContent = text ?? "";
        picture.append(element);
        return element;
      };
      add("rect", { x, y, width, height, fill: parts[0].color }).append(Object.assign(document.createElementNS("http://www.w3.org/2000/svg", "title"), { textContent: `${parts[0].name}: ${bytes(parts[0].bytes)}` }));
      const room = Math.floor(width / 7.2);
      if (height > 22 && room > 6) add("text", { x: x + 8, y: y + 17 }, parts[0].name.length > room ? `${parts[0].name.slice(0, room - 1)}…` : parts[0].name);
      if (height > 40 && room > 8) add("text", { x: x + 8, y: y + 34 }, bytes(parts[0].bytes));
      return;
    }
    const total = parts.reduce((sum, part) => sum + part.bytes, 0);
    let place = 1, left = parts[0].bytes;
    while (place < parts.length - 1 && left + parts[place].bytes / 2 < total / 2) left += parts[place++].bytes;
    const share = left / total;
    if (width >= height) {
      this.divide(parts.slice(0, place), x, y, width * share, height, picture);
      this.divide(parts.slice(place), x + width * share, y, width * (1 - share), height, picture);
    } else {
      this.divide(parts.slice(0, place), x, y, width, height * share, picture);
      this.divide(parts.slice(place), x, y + height * share, width, height * (1 - share), picture);
    }
  }
  close() { this.isClosed = true; }
  changed() { return this.show(); }
}

// MARK: The beginning

// The entities and their counts.
async function start() {
  const begin = await ask("begin");
  state.begin = begin;
  if (!state.commit || begin.commit < state.commit) state.commit = begin.commit;
  document.title = `${begin.store} – Strata`;
  document.body.classList.toggle("writes", begin.writes);
  $("store").textContent = begin.store;
  $("store").title = begin.path;
  $("mode").textContent = begin.writes ? "edits" : "only read";
  const current = $("entities").querySelector("[aria-current]")?.dataset.entity;
  $("entities").replaceChildren(...begin.entities.map((entity) => h("li", {}, h("a", {
    href: rowsHash(entity.name), "data-entity": entity.name, title: entity.parent ? `${entity.name}: ${entity.parent}` : entity.name, "aria-current": entity.name === current ? "true" : null,
  }, h("span", { class: entity.isAbstract ? "abstract" : "" }, entity.name), h("span", { class: "count" }, count(entity.count))))));
}

function route() {
  state.view?.close();
  const { parts, query } = place();
  let entity = null, tab = parts[0] || "rows";
  switch (parts[0]) {
    case "history": state.view = new HistoryView(); break;
    case "model": state.view = new ModelView(); break;
    case "space": state.view = new SpaceView(); break;
    case "object": [tab, entity, state.view] = ["rows", parts[1], new ObjectView(parts.slice(1).join("/"))]; break;
    default:
      entity = parts[1] ?? state.begin.entities.find((other) => other.count > 0)?.name ?? state.begin.entities[0]?.name;
      state.view = entity ? new RowsView(entity, query) : null;
  }
  for (const item of document.querySelectorAll("nav a")) item.toggleAttribute("aria-current", item.dataset.view === tab);
  for (const item of $("entities").querySelectorAll("a")) item.toggleAttribute("aria-current", item.dataset.entity === entity);
  if (!state.view) return $("main").replaceChildren(h("p", {}, "The model has no entities."));
  const shown = state.view.show();
  if (state.view instanceof RowsView) state.view.scroller.focus(); else $("main").focus();
  return shown;
}

addEventListener("hashchange", route);
addEventListener("keydown", (event) => {
  const isTyping = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
  const command = event.ctrlKey || event.metaKey;
  const edit = !command || !state.begin?.writes ? null : event.key.toLowerCase() === "s" ? "save" : event.key.toLowerCase() === "z" && !isTyping ? (event.shiftKey ? "redo" : "undo") : null;
  if (edit) { event.preventDefault(); act(edit); return; }
  if (isTyping || command || event.altKey) return;
  if (event.key === "?") $("keys").showModal();
  if (event.key === "/" && $("where")) { event.preventDefault(); $("where").focus(); }
  const view = { 1: "#/", 2: "#/history", 3: "#/model", 4: "#/space" }[event.key];
  if (view) location.hash = view;
});
$("help").addEventListener("click", () => $("keys").showModal());

(async () => {
  try {
    await start();
    if (state.begin.writes) showPending(await ask("pending"));
    tellLive("live", true);
    const shown = route();
    // What the page did not ask for after all: its address has changed meanwhile.
    for (const { control } of early.values()) control.abort();
    early.clear();
    await shown;
    follow();
  } catch (error) {
    $("main").replaceChildren(failure(error));
  }
})();
