"use strict";
// Shows the cases of a report. Whatever was judged is put on the page as text nodes only.
(() => {
  const ROW = 76, SPARE = 6, LONG = 20000, PRINTED = 200, FEW = 30;

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

  // Words that are looked for stand out; everything is a text node.
  const marked = (text, wanted) => {
    if (!wanted) return [text];
    const nodes = [];
    let end = 0;
    for (const hit of text.matchAll(wanted)) {
      if (!hit[0]) continue;
      nodes.push(text.slice(end, hit.index), make("mark", {}, hit[0]));
      end = hit.index + hit[0].length;
    }
    return [...nodes, text.slice(end)];
  };

  // A long text shows its beginning until somebody wants the rest.
  const textNode = (text, wanted = null) => {
    const shown = make("p", { class: "text", dir: "auto" }, ...marked(text.slice(0, LONG), wanted));
    if (text.length <= LONG) return [shown];
    const more = make("button", { type: "button" }, `show all ${text.length.toLocaleString("en")} letters`);
    more.addEventListener("click", () => { shown.replaceChildren(...marked(text, wanted)); more.remove(); shown.tabIndex = -1; shown.focus(); });
    return [shown, more];
  };

  // JSON is shown as fields, and what was checked with a tick or a cross and the reason.
  const parsed = (text) => {
    if (!/^\s*[[{]/.test(text) || text.length > LONG) return null;
    try { const value = JSON.parse(text); return value && typeof value === "object" ? value : null; } catch { return null; }
  };
  const fields = (value, wanted) => {
    if (value === null || typeof value !== "object") return make("span", { class: "text", dir: "auto" }, ...marked(String(value ?? "-"), wanted));
    if (Array.isArray(value) && value.every((one) => one === null || typeof one !== "object")) return fields(value.join(", "), wanted);
    if (typeof value.verdict === "string") return make("span", { class: value.verdict === "yes" ? "yes" : "no" },
      `${value.verdict === "yes" ? "\u2713" : "\u2717"} ${value.verdict}${value.reason ? `: ${value.reason}` : ""}`);
    return make("dl", {}, ...Object.entries(value).map(([name, one]) => make("div", {},
      make("dt", {}, Array.isArray(value) ? String(Number(name) + 1) : name), make("dd", {}, fields(one, wanted)))));
  };
  const valueNodes = (text, wanted) => {
    const value = parsed(text);
    return value ? [fields(value, wanted)] : textNode(text, wanted);
  };

  class Explorer {
    constructor(root, data) {
      this.root = root;
      root.hidden = false;
      this.data = data;
      this.tones = new Map(data.kinds.map(([name, tone]) => [name, tone]));
      this.cases = data.cases;
      this.kind = "";
      this.sure = (unit) => unit.sure?.[data.systems.length - 1] ?? null;
      this.sides = data.systems.map((_, place) => place);
      this.list = root.querySelector(".list");
      this.room = root.querySelector(".room");
      this.pane = root.querySelector(".case");
      this.found = root.querySelector(".found");
      this.search = root.querySelector("input");
      this.select = Object.fromEntries([...root.querySelectorAll("select")].map((one) => [one.name, one]));
      this.haystacks = new Array(this.cases.length);
      this.buttons();
      this.choices();
      this.listen();
      this.read(true);
    }

    // The address holds the filter and the case, so that both can be sent and come back.
    read(first = false) {
      const asked = new URLSearchParams(location.hash.includes("=") ? location.hash.slice(1) : "");
      const by = Math.max(0, this.data.systems.indexOf(asked.get("by")));
      const wanted = { gold: asked.get("gold"), group: asked.get("group"), sort: asked.get("sort"),
        said: asked.has("said") ? `${by}:${asked.get("said")}` : "" };
      for (const [name, box] of Object.entries(this.select)) box.value = wanted[name] || "";
      for (const box of Object.values(this.select)) if (box.selectedIndex < 0) box.value = "";
      this.search.value = asked.get("q") || "";
      this.kind = this.tones.has(asked.get("kind")) ? asked.get("kind") : "";
      this.filter({ quiet: true });
      const place = this.shown.findIndex((one) => one.id === asked.get("case"));
      if (place >= 0) this.choose(place, { quiet: true });
      if ([...asked].length) this.root.scrollIntoView({ behavior: first ? "instant" : "auto" });
    }

    write() {
      const [by, said] = (this.select.said?.value || ":").split(/:(.*)/s);
      const told = { kind: this.kind, gold: this.select.gold?.value, by: said && this.data.systems[by], said, group: this.select.group?.value,
        sort: this.select.sort.value, q: this.search.value.trim(), case: this.shown[this.at]?.id };
      const kept = new URLSearchParams(Object.entries(told).filter(([, value]) => value));
      history.replaceState(null, "", `#${kept}`);
    }

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

    // What people and the judge said of a unit, by the names under which it is counted.
    names(unit) { return unit.names ?? [unit.gold, ...unit.said.map((said) => said || "no answer")]; }

    choices() {
      const every = this.cases.flatMap((one) => one.units.map((unit) => this.names(unit)));
      const offer = (name, options, most) => {
        if (new Set(options.map(([value]) => value)).size > 1 && options.length <= most)
          this.select[name].append(make("option", { value: "" }, "anything"), ...options.map(([value, words]) => make("option", { value }, words)));
        else { this.select[name].parentElement.remove(); delete this.select[name]; }
      };
      const named = (place) => [...new Set(every.map((names) => names[place]))].filter(Boolean).sort();
      offer("gold", named(0).map((name) => [name, name]), FEW);
      offer("said", this.sides.flatMap((place) => named(place + 1).map((name) =>
        [`${place}:${name}`, this.sides.length > 1 ? `${this.data.systems[place]}: ${name}` : name])), FEW * this.sides.length);
      offer("group", [...new Set(this.cases.map((one) => one.group))].filter(Boolean).sort().map((name) => [name, name]), 2000);
      if (!this.cases.some((one) => one.units.some((unit) => this.sure(unit) !== null)))
        for (const option of this.select.sort.querySelectorAll("[value$=sure]")) option.remove();
      if (!this.select.group) this.select.sort.querySelector("[value=group]").remove();
      if (this.select.sort.options.length < 2) this.select.sort.parentElement.hidden = true;
    }

    // The surest or the least sure of what is wrong in a case, else of all of it.
    sureness(one, way) {
      const wrong = one.units.filter((unit) => this.tones.get(unit.became) !== "good");
      const found = (wrong.length ? wrong : one.units).map((unit) => this.sure(unit)).filter((share) => share !== null);
      return found.length ? way * Math.max(...found.map((share) => way * share)) : way > 0 ? -1 : 2;
    }

    haystack(place) {
      const one = this.cases[place];
      return this.haystacks[place] ??= [one.id, one.group, one.source, ...one.inputs.map((input) => input[2] ? "" : input[1]),
        ...one.units.flatMap((unit) => [unit.text, unit.gold, ...unit.said]),
        ...one.notes.flatMap((note) => [note.reasoning, note.error])].join("\n").toLowerCase();
    }

    filter({ quiet = false } = {}) {
      const words = this.search.value.toLowerCase().trim();
      const [gold, group, sort] = ["gold", "group", "sort"].map((name) => this.select[name]?.value || "");
      const [side, said] = (this.select.said?.value || ":").split(/:(.*)/s);
      const fits = this.fits = (unit) => {
        const names = this.names(unit);
        return (!gold || names[0] === gold) && (!said || names[Number(side) + 1] === said);
      };
      this.shown = this.cases.filter((one, place) =>
        (!this.kind || one.kinds.includes(this.kind)) && (!group || one.group === group) &&
        ((!gold && !said) || one.units.some(fits)) && (!words || this.haystack(place).includes(words)));
      if (sort === "group") this.shown.sort((one, two) => one.group < two.group ? -1 : one.group > two.group ? 1 : 0);
      else if (sort) {
        const way = sort === "sure" ? 1 : -1;
        this.shown.sort((one, two) => way * (this.sureness(two, way) - this.sureness(one, way)));
      }
      for (const button of this.root.querySelectorAll(".kinds button"))
        button.setAttribute("aria-pressed", String(button.dataset.kind === this.kind));
      this.found.textContent = `${this.shown.length.toLocaleString("en")} of ${this.cases.length.toLocaleString("en")} cases`;
      this.room.style.height = `${this.shown.length * ROW}px`;
      this.list.scrollTop = 0;
      this.rows = new Map();
      this.room.replaceChildren();
      this.at = -1;
      this.choose(this.shown.length ? 0 : -1, { quiet: true });
      if (!quiet) this.write();
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
        make("div", { class: "what" }, ...one.kinds.map((kind) => this.tag(kind)), ...this.certainty(one)),
        make("div", { class: "preview", dir: "auto" }, this.preview(one)));
      row.style.top = `${place * ROW}px`;
      row.addEventListener("click", () => { this.choose(place); if (matchMedia("(max-width: 46rem)").matches) this.pane.scrollIntoView(); });
      return row;
    }

    // How sure the verdict on a case of one unit is.
    certainty(one) {
      const share = one.units.length === 1 ? this.sure(one.units[0]) : null;
      return share === null ? [] : [make("small", { title: "how sure it is" }, `${Math.round(100 * share)}\u00a0%`)];
    }

    preview(one) {
      const unit = one.units.find((each) => this.tones.get(each.became) === "bad" && this.fits(each)) || one.units.find((each) => each.became !== "right") || one.units[0];
      const text = (unit && unit.text) || (one.inputs.findLast((input) => !input[2])?.[1] ?? `case ${one.id}`);
      return text.slice(0, 200);
    }

    choose(place, { quiet = false } = {}) {
      this.at = place;
      if (place >= 0) {
        const top = place * ROW, height = this.list.clientHeight;
        if (top < this.list.scrollTop) this.list.scrollTop = top;
        else if (top + ROW > this.list.scrollTop + height) this.list.scrollTop = top + ROW - height;
        if (!quiet) this.write();
      }
      this.draw();
      this.pane.replaceChildren(...(place >= 0 ? this.details(this.shown[place]) : [make("p", {}, "No case fits these filters.")]));
      this.pane.scrollTop = 0;
    }

    // What is marked in the inputs: what is searched for, what the judge quotes, and units that are judged wrong.
    wanted(one) {
      const search = this.search.value.trim();
      const quoted = one.notes.flatMap((note) => [...(note.reasoning || "").matchAll(/["\u201c]([^"\u201c\u201d]{4,300})["\u201d]/g)].map((hit) => hit[1]));
      const units = one.units.filter((unit) => this.tones.get(unit.became) === "bad").map((unit) => unit.text);
      const every = [search, ...quoted, ...units].filter((text) => text && text.length > 1).slice(0, 200).sort((a, b) => b.length - a.length);
      return every.length ? new RegExp(every.map((text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|"), "gi") : null;
    }

    details(one) {
      const wanted = this.wanted(one);
      const where = [one.source, one.group && `group ${one.group}`].filter(Boolean).join(", ");
      return [
        make("h3", {}, ...one.kinds.map((kind) => this.tag(kind)), `case ${one.id}`),
        ...(where ? [make("p", { class: "where", dir: "auto" }, where)] : []),
        ...(one.units.length ? [this.verdicts(one)] : []),
        ...one.notes.flatMap((note) => this.note(note, wanted)),
        ...one.inputs.flatMap(([name, value, kind]) => [make("h4", {}, name), ...(kind ? [make("img", { src: value, alt: name })] : valueNodes(value, wanted))]),
      ];
    }

    verdicts(one) {
      // The text of a single unit that is one of the inputs stands below anyway.
      const several = one.units.some((unit) => unit.text && (one.units.length > 1 || !one.inputs.some((input) => input[1] === unit.text)));
      const known = one.units.some((unit) => unit.gold);
      const became = one.units.some((unit) => unit.became !== unit.said[0]);
      const head = [...(several ? ["unit"] : []), ...(known ? ["gold label"] : []), ...this.data.systems, ...(became ? [""] : [])];
      const rows = one.units.map((unit) => make("tr", {},
        ...(several ? [make("th", { scope: "row", class: "text", dir: "auto" }, unit.text)] : []),
        ...(known ? [make("td", { class: "verdict", dir: "auto", "data-of": "gold label" }, unit.gold || "-")] : []),
        ...unit.said.map((said, place) => make("td", { class: "verdict", dir: "auto", "data-of": this.data.systems[place] },
          ...this.said(said, unit.sure?.[place] ?? null))),
        ...(became ? [make("td", {}, this.tag(unit.became))] : [])));
      return make("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "verdicts" }, make("table", { "aria-label": "verdicts" },
        make("thead", {}, make("tr", {}, ...head.map((name) => name ? make("th", { scope: "col" }, name) : make("td", {})))),
        make("tbody", {}, ...rows)));
    }

    said(text, sure) {
      const value = parsed(text);
      return [value ? fields(value) : text || "no answer", ...(sure === null ? [] : [make("small", { title: "how sure it is" }, ` ${Math.round(100 * sure)}\u00a0%`)])];
    }

    note(note, wanted) {
      const parts = [];
      if (note.status !== "verdict") parts.push(make("h4", {}, `${note.system}: ${note.status}`), ...textNode(note.error, wanted));
      if (note.reasoning) parts.push(make("h4", {}, `${note.system}: reasoning`), ...textNode(note.reasoning, wanted));
      return parts;
    }

    listen() {
      let waiting = 0, frame = 0;
      this.search.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(() => this.filter(), 120); });
      for (const box of Object.values(this.select)) box.addEventListener("change", () => this.filter());
      addEventListener("hashchange", () => { if (location.hash.includes("=")) this.read(); });
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

  // A folded section opens where the address leads to it, and on paper.
  const unfold = () => {
    const folded = location.hash.length > 1 && !location.hash.includes("=") && document.getElementById(location.hash.slice(1))?.querySelector("details.folded");
    if (folded) folded.open = true;
  };
  addEventListener("hashchange", unfold);
  addEventListener("beforeprint", () => { for (const one of document.querySelectorAll("details.folded")) one.open = true; });
  unfold();

  for (const root of document.querySelectorAll(".explorer"))
    unpack(root.querySelector("script").textContent).then((data) => new Explorer(root, data));
})();
