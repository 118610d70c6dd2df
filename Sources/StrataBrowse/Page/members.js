"use strict";
// The members of one to-many relationship of the object that is shown: as they are saved, in pages, and what was done to them.

class MemberList {
  // Pages behind the one that comes with the object; what was typed to be added.
  pages = [];
  typed = "";
  constructor(view, isOwn) { Object.assign(this, { view, isOwn }); }
  forget() { this.pages = []; }

  draw(saved, edit) {
    const name = saved.name, removed = new Set(edit?.removed);
    const message = h("div", { class: "message", role: "alert" });
    const list = h("ul", { class: "links" });
    const set = async (value, adds) => {
      const text = this.typed;
      if (adds) this.typed = "";
      try { await change({ kind: "member", id: this.view.id, name, value, adds }); } catch (error) {
        if (adds) this.typed = text;
        message.textContent = errorText(error);
      }
    };
    const item = (member, isNew) => h("li", { class: isNew ? "edited" : "" }, link(member),
      this.isOwn ? h("button", { type: "button", class: "writing small", "aria-label": `Take away ${member.id}`, click: () => set(member.id, false) }, "×") : null);
    const add = (page) => list.append(...page.members.filter((member) => !removed.has(member.id)).map((member) => item(member, false)));
    let next = saved.next;
    for (const page of [saved, ...this.pages]) { add(page); next = page.next; }
    const more = h("button", { type: "button", hidden: !next, "aria-label": `More ${name}`, click: async () => {
      const commit = this.view.object.commit;
      try {
        const page = await ask("members", { id: this.view.id, relationship: name, after: next, limit: 200 });
        if (this.view.object.commit === commit) this.pages.push(page);
        this.view.draw();
      } catch (error) { more.replaceWith(failure(error)); }
    } }, "More");
    const added = edit?.added.length ? h("ul", { class: "links added" }, edit.added.map((member) => item(member, true))) : null;
    const field = h("input", {
      value: this.typed, placeholder: `${saved.destination}/p1`, "aria-label": `Add to ${name}`, class: "writing", input: () => { this.typed = field.value; },
      keydown: (event) => { if (event.key === "Enter" && field.value.trim()) set(field.value.trim(), true); },
    });
    const done = [[edit?.addedCount, "added"], [edit?.removedCount, "taken away"]].filter(([number]) => number).map(([number, word]) => `, ${count(number)} ${word}`);
    return [h("dt", {}, name, h("small", {}, `${saved.isOrdered ? "ordered, " : ""}${count(edit?.count ?? saved.count)} ${saved.destination}${done.join("")}`)),
      h("dd", { "data-name": name, class: edit && done.length ? "edited" : "" }, list, more, added, this.isOwn ? [field, message] : null, ...this.view.wrong(name))];
  }
}
