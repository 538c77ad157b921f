"use strict";
// Shows the cases of a report. Whatever was judged is put on the page as text nodes only.
(() => {
  const ROW = 76, SPARE = 6, LONG = 20000, PRINTED = 200;

  const make = (tag, attributes = {}, ...children) => {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.append(...children);
    return node;
  };

  const unpack = async (text) => {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(await new Response(stream).text());
  };

  // A long text shows its beginning until somebody wants the rest.
  const textNode = (text, attributes = {}) => {
    const shown = make("p", { class: "text", dir: "auto", ...attributes }, text.slice(0, LONG));
    if (text.length <= LONG) return [shown];
    const more = make("button", { type: "button" }, `show all ${text.length.toLocaleString("en")} letters`);
    more.addEventListener("click", () => { shown.textContent = text; more.remove(); shown.tabIndex = -1; shown.focus(); });
    return [shown, more];
  };

  class Explorer {
    constructor(root, data) {
      this.root = root;
      this.data = data;
      this.tones = new Map(data.kinds.map(([name, tone]) => [name, tone]));
      this.cases = data.cases;
      this.kind = "";
      this.list = root.querySelector(".list");
      this.room = root.querySelector(".room");
      this.pane = root.querySelector(".case");
      this.found = root.querySelector(".found");
      this.search = root.querySelector("input");
      this.gold = root.querySelector("select");
      this.haystacks = new Array(this.cases.length);
      this.buttons();
      this.golds();
      this.listen();
      this.filter();
      const asked = decodeURIComponent(location.hash.replace(/^#case=/, ""));
      const place = this.shown.findIndex((one) => one.id === asked);
      if (place >= 0) { this.choose(place); this.root.scrollIntoView(); }
    }

    text(value) { return value && typeof value === "object" ? this.data.texts[value.t] : value; }

    tag(kind) { return make("span", { class: `tag ${this.tones.get(kind) || "open"}` }, kind); }

    buttons() {
      const group = this.root.querySelector(".kinds");
      const add = (name, count, title) => {
        const button = make("button", { type: "button", "aria-pressed": String(name === ""), title },
          name || "all", " ", make("b", {}, count.toLocaleString("en")));
        button.addEventListener("click", () => { this.kind = name; this.filter(); });
        button.dataset.kind = name;
        group.append(button);
      };
      add("", this.cases.length, "every case");
      for (const [name, , words] of this.data.kinds) {
        const count = this.cases.filter((one) => one.kinds.includes(name)).length;
        if (count) add(name, count, words);
      }
    }

    golds() {
      const values = new Set(this.cases.flatMap((one) => one.units.map((unit) => this.text(unit.gold))));
      values.delete("");
      if (!values.size || values.size > 30) { this.gold.parentElement.remove(); this.gold = null; return; }
      for (const value of ["", ...[...values].sort()]) this.gold.append(make("option", { value }, value || "anything"));
    }

    haystack(place) {
      const one = this.cases[place];
      return this.haystacks[place] ??= [one.id, one.group, one.source, ...one.inputs.map((pair) => this.text(pair[1])),
        ...one.units.flatMap((unit) => [this.text(unit.text), this.text(unit.gold), ...unit.said.map((said) => this.text(said))]),
        ...one.notes.flatMap((note) => [this.text(note.reasoning), this.text(note.error)])].join("\n").toLowerCase();
    }

    filter() {
      const words = this.search.value.toLowerCase().trim(), gold = this.gold ? this.gold.value : "";
      this.shown = this.cases.filter((one, place) =>
        (!this.kind || one.kinds.includes(this.kind)) &&
        (!gold || one.units.some((unit) => this.text(unit.gold) === gold)) &&
        (!words || this.haystack(place).includes(words)));
      for (const button of this.root.querySelectorAll(".kinds button"))
        button.setAttribute("aria-pressed", String(button.dataset.kind === this.kind));
      this.found.textContent = `${this.shown.length.toLocaleString("en")} of ${this.cases.length.toLocaleString("en")} cases`;
      this.room.style.height = `${this.shown.length * ROW}px`;
      this.list.scrollTop = 0;
      this.rows = new Map();
      this.room.replaceChildren();
      this.at = -1;
      this.choose(this.shown.length ? 0 : -1, { quiet: true });
    }

    // Only the rows that can be seen are in the page; those that stay are not made again.
    draw() {
      const first = Math.max(0, Math.floor(this.list.scrollTop / ROW) - SPARE);
      const last = Math.min(this.shown.length, Math.ceil((this.list.scrollTop + this.list.clientHeight) / ROW) + SPARE);
      for (const [place, row] of this.rows) if (place < first || place >= last) { row.remove(); this.rows.delete(place); }
      for (let place = last - 1; place >= first; place -= 1) {
        if (!this.rows.has(place)) this.rows.set(place, this.room.insertBefore(this.row(place), this.rows.get(place + 1) || null));
        this.rows.get(place).setAttribute("aria-selected", String(place === this.at));
      }
      if (this.rows.size) this.list.setAttribute("aria-activedescendant", `case-${this.at}`);
      else this.list.removeAttribute("aria-activedescendant");
    }

    row(place) {
      const one = this.shown[place];
      const row = make("div", { class: "row", role: "option", id: `case-${place}`, "aria-posinset": place + 1, "aria-setsize": this.shown.length },
        make("div", { class: "what" }, ...one.kinds.map((kind) => this.tag(kind))),
        make("div", { class: "preview", dir: "auto" }, this.preview(one)));
      row.style.top = `${place * ROW}px`;
      row.addEventListener("click", () => { this.choose(place); if (matchMedia("(max-width: 46rem)").matches) this.pane.scrollIntoView(); });
      return row;
    }

    preview(one) {
      const unit = one.units.find((each) => each.became !== "right") || one.units[0];
      const text = (unit && this.text(unit.text)) || (one.inputs.length ? this.text(one.inputs[one.inputs.length - 1][1]) : `case ${one.id}`);
      return text.slice(0, 200);
    }

    choose(place, { quiet = false } = {}) {
      this.at = place;
      if (place >= 0) {
        const top = place * ROW, height = this.list.clientHeight;
        if (top < this.list.scrollTop) this.list.scrollTop = top;
        else if (top + ROW > this.list.scrollTop + height) this.list.scrollTop = top + ROW - height;
        if (!quiet) history.replaceState(null, "", `#case=${encodeURIComponent(this.shown[place].id)}`);
      }
      this.draw();
      this.pane.replaceChildren(...(place >= 0 ? this.details(this.shown[place]) : [make("p", {}, "No case is like that.")]));
      this.pane.scrollTop = 0;
    }

    details(one) {
      const where = [one.source, one.group && `group ${one.group}`].filter(Boolean).join(", ");
      return [
        make("h3", {}, ...one.kinds.map((kind) => this.tag(kind)), `case ${one.id}`),
        ...(where ? [make("p", { class: "where", dir: "auto" }, where)] : []),
        ...(one.units.length ? [this.verdicts(one)] : []),
        ...one.notes.flatMap((note) => this.note(note)),
        ...one.inputs.flatMap(([name, value]) => [make("h4", {}, this.text(name)), ...textNode(this.text(value))]),
      ];
    }

    verdicts(one) {
      const several = one.units.some((unit) => this.text(unit.text));
      const known = one.units.some((unit) => this.text(unit.gold));
      const head = [...(several ? ["unit"] : []), ...(known ? ["people said"] : []), ...this.data.systems, ""];
      const rows = one.units.map((unit) => make("tr", {},
        ...(several ? [make("th", { scope: "row", class: "text", dir: "auto" }, this.text(unit.text))] : []),
        ...(known ? [make("td", { class: "verdict", dir: "auto", "data-of": "people said" }, this.text(unit.gold) || "-")] : []),
        ...unit.said.map((said, place) => make("td", { class: "verdict", dir: "auto", "data-of": this.data.systems[place] },
          this.text(said) || "no answer")),
        make("td", {}, this.tag(unit.became))));
      return make("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "verdicts" }, make("table", { "aria-label": "verdicts" },
        make("thead", {}, make("tr", {}, ...head.map((name) => name ? make("th", { scope: "col" }, name) : make("td", {})))),
        make("tbody", {}, ...rows)));
    }

    note(note) {
      const parts = [];
      if (note.status !== "verdict") parts.push(make("h4", {}, `${note.system}: ${note.status}`), ...textNode(this.text(note.error)));
      if (this.text(note.reasoning)) parts.push(make("h4", {}, `${note.system}: reasoning`), ...textNode(this.text(note.reasoning)));
      return parts;
    }

    listen() {
      let waiting = 0, frame = 0;
      this.search.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(() => this.filter(), 120); });
      if (this.gold) this.gold.addEventListener("change", () => this.filter());
      this.list.addEventListener("scroll", () => { cancelAnimationFrame(frame); frame = requestAnimationFrame(() => this.draw()); });
      new ResizeObserver(() => this.draw()).observe(this.list);
      this.list.addEventListener("keydown", (event) => this.key(event));
      document.addEventListener("keydown", (event) => this.anywhere(event));
      addEventListener("beforeprint", () => this.print());
      addEventListener("afterprint", () => this.root.querySelector(".printed").replaceChildren());
    }

    key(event) {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const page = Math.max(1, Math.floor(this.list.clientHeight / ROW) - 1), last = this.shown.length - 1;
      const to = { ArrowDown: this.at + 1, j: this.at + 1, ArrowUp: this.at - 1, k: this.at - 1, PageDown: this.at + page,
        PageUp: this.at - page, Home: 0, End: last }[event.key];
      if (to !== undefined) this.choose(Math.max(0, Math.min(last, to)));
      else if (event.key === "Enter") this.pane.focus();
      else return;
      event.preventDefault();
    }

    anywhere(event) {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
      if (event.key === "Escape" && this.root.contains(event.target)) {
        if (event.target === this.search && this.search.value) { this.search.value = ""; this.filter(); }
        this.list.focus();
      } else if (typing) {
        if (event.target === this.search && event.key === "Enter") this.list.focus();
        else return;
      } else if (event.key === "/") this.search.focus();
      else if (/^[1-9]$/.test(event.key)) {
        const button = this.root.querySelectorAll(".kinds button")[Number(event.key) - 1];
        if (!button) return;
        button.click();
        this.list.focus();
      } else return;
      event.preventDefault();
    }

    // On paper, the cases that are chosen stand below each other.
    print() {
      const some = this.shown.slice(0, PRINTED);
      const left = this.shown.length - some.length;
      this.root.querySelector(".printed").replaceChildren(
        ...some.map((one) => make("div", { class: "sheet case" }, ...this.details(one))),
        ...(left ? [make("p", {}, `${left} more cases are not printed.`)] : []));
    }
  }

  for (const root of document.querySelectorAll(".explorer"))
    unpack(root.querySelector("script").textContent).then((data) => new Explorer(root, data));
})();
