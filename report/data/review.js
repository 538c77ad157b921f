"use strict";
// The review page: a label is kept in this browser until the server has it on the disk. Texts are text nodes only.
(async () => {
  const SPOKEN = 300, LONG = 20000, AGAIN = 2000;
  const find = (selector) => document.querySelector(selector);
  const about = JSON.parse(find("#about").textContent);
  const bytes = Uint8Array.from(atob(find("#units").textContent), (letter) => letter.charCodeAt(0));
  const data = JSON.parse(await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text());
  const text = (value) => (value && typeof value === "object" && "t" in value ? data.texts[value.t] : value);
  const key = (name) => `jurist review ${about.judge} ${about.file} ${name}`;
  const make = (tag, attributes = {}, ...children) => {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.append(...children);
    return node;
  };

  const rater = find("#rater"), unit = find(".unit"), saved = find("#saved");
  let own = {}, at = 0, sending = false;
  const read = (name, otherwise) => JSON.parse(localStorage.getItem(key(name)) ?? "null") ?? otherwise;
  const write = (name, value) => localStorage.setItem(key(name), JSON.stringify(value));
  let queue = read("queue", []);
  rater.value = read("rater", about.rater);

  const say = (words, not = false) => { saved.textContent = words; saved.classList.toggle("not", not); };

  // One after the other, in order; what the server cannot take now is sent again, also by the next visit.
  const send = async () => {
    if (sending) return;
    sending = true;
    while (queue.length) {
      let answer;
      try {
        answer = await fetch("/labels", { method: "POST", body: JSON.stringify(queue[0]),
          headers: { "content-type": "application/json", "x-jurist": "review" } });
      } catch {
        say(`not saved yet: ${queue.length} kept in this browser`, true);
        setTimeout(send, AGAIN);
        break;
      }
      if (!answer.ok) say(`refused: ${(await answer.json()).error}`, true);
      const [done] = queue.splice(0, 1);
      write("queue", queue);
      if (!answer.ok && done.rater === rater.value) await load();
      if (answer.ok && !queue.length) say("saved");
    }
    sending = false;
  };

  const load = async () => {
    const answer = await fetch(`/labels?rater=${encodeURIComponent(rater.value)}`);
    const found = await answer.json();
    own = found.labels;
    for (const one of queue) if (one.rater === rater.value) own[one.place] = [one.label, one.category];
    find("#agreement").textContent = found.agreement;
  };

  const has = (place) => Boolean(own[place] && (own[place][0] || own[place][1]));
  const keep = (label, category) => {
    if (!rater.value.trim()) { say("who are you? write your name above", true); rater.focus(); return false; }
    own[at] = [label, category];
    queue.push({ place: at, rater: rater.value, label, category });
    write("queue", queue);
    send();
    return true;
  };

  const choose = (label) => {
    if (!keep(label, "")) return;
    const before = at;
    count();
    if (label && about.choices.length) setTimeout(() => { if (at === before) open(); }, 250);
    show(at, { still: true });
  };

  const open = () => {
    for (let step = 1; step <= data.units.length; step += 1) {
      const place = (at + step) % data.units.length;
      if (!has(place)) return show(place);
    }
    say("every unit has your label");
    return undefined;
  };

  const count = () => {
    const done = data.units.filter((_, place) => has(place)).length;
    find("#progress").value = done;
    find("#count").textContent = `${done} of ${data.units.length}`;
  };

  const pressed = () => {
    const [label, category] = own[at] || ["", ""];
    for (const button of document.querySelectorAll(".choices button")) button.setAttribute("aria-pressed", String(button.value === label));
    for (const button of document.querySelectorAll(".reasons button")) button.setAttribute("aria-pressed", String(button.value === category));
    const field = find(".choices input");
    if (field && document.activeElement !== field) field.value = label;
  };

  const long = (whole, attributes) => {
    const shown = make("p", { dir: "auto", ...attributes }, whole.slice(0, LONG));
    if (whole.length <= LONG) return [shown];
    const more = make("button", { type: "button" }, `show all ${whole.length.toLocaleString("en")} letters`);
    more.addEventListener("click", () => { shown.textContent = whole; more.remove(); });
    return [shown, more];
  };

  const show = (place, { still = false } = {}) => {
    at = Math.max(0, Math.min(data.units.length - 1, place));
    const one = data.units[at], [number, all] = one.of;
    if (!still) {
      unit.replaceChildren(
        make("p", { class: "where" }, [`${at + 1} of ${data.units.length}`, all > 1 ? `unit ${number} of ${all}` : "", text(one.why)].filter(Boolean).join(" · ")),
        ...long(text(one.text), { class: "judged" }),
        ...one.inputs.filter(([, value]) => text(value) !== text(one.text)).flatMap(([name, value]) => [make("h2", {}, text(name)), ...long(text(value), { class: "text" })]));
      unit.scrollTop = 0;
      find("#now").textContent = `${at + 1} of ${data.units.length}: ${text(one.text).slice(0, SPOKEN)}`;
      write("at", at);
    }
    pressed();
    count();
  };

  const button = (group, value, mark, act) => {
    const made = make("button", { type: "button", value, "aria-pressed": "false" }, value, " ", make("kbd", {}, mark));
    made.addEventListener("click", act);
    find(group).append(made);
  };
  about.choices.forEach((choice, place) => button(".choices", choice, place < 9 ? String(place + 1) : "", () => choose(choice)));
  if (!about.choices.length) {
    const field = make("input", { "aria-label": about.expects, placeholder: about.expects, autocomplete: "off" });
    field.addEventListener("input", () => choose(field.value.trim()));
    find(".choices").append(field);
  }
  about.reasons.forEach((reason) => button(".reasons", reason, reason[0], () => {
    keep((own[at] || [""])[0], (own[at] || ["", ""])[1] === reason ? "" : reason);
    show(at, { still: true });
  }));
  find(".reasons").prepend("ambiguous: ");
  find("#undo").addEventListener("click", () => choose(""));
  find("#back").addEventListener("click", () => show(at - 1));
  find("#next").addEventListener("click", () => show(at + 1));
  find("#open").addEventListener("click", open);
  rater.addEventListener("change", async () => { write("rater", rater.value); await load(); show(0); });

  const keys = { j: () => show(at + 1), ArrowRight: () => show(at + 1), k: () => show(at - 1), ArrowLeft: () => show(at - 1), n: open,
    u: () => choose(""), PageDown: () => unit.scrollBy(0, unit.clientHeight * .8), PageUp: () => unit.scrollBy(0, -unit.clientHeight * .8) };
  about.reasons.forEach((reason) => { keys[reason[0]] ??= () => find(`.reasons button[value="${reason}"]`).click(); });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.tagName === "INPUT") {
      if (event.key === "Escape" || event.key === "Enter") { event.target.blur(); if (event.key === "Enter" && event.target !== rater) open(); }
      return;
    }
    const choice = /^[1-9]$/.test(event.key) ? about.choices[Number(event.key) - 1] : undefined;
    if (choice !== undefined) choose(choice);
    else if (keys[event.key]) keys[event.key]();
    else return;
    event.preventDefault();
  });
  setInterval(() => load().then(pressed, () => {}), 15000);
  try { await load(); } catch { say("the server does not answer", true); }
  show(read("at", 0));
  send();
})();
