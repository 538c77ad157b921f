"use strict";
// The review page: a label is kept in this browser until the server has it on the disk. Texts are text nodes only.
(async () => {
  const SPOKEN = 300, LONG = 20000, AGAIN = 2000, LOOK = 350, LISTED = 300, RECENT = 20, PAUSE = 300000;
  const find = (selector) => document.querySelector(selector);
  const make = (tag, attributes = {}, ...children) => {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.append(...children);
    return node;
  };
  const rater = find("#rater"), unit = find(".unit"), saved = find("#saved"), reason = find("#reason");
  const resolving = location.pathname.endsWith("/resolve");
  const say = (words, not = false) => { saved.textContent = words; saved.classList.toggle("not", not); };

  // The token stands behind the # of a link, which no browser sends; from there it goes into a header and nowhere else.
  if (location.hash.length > 1) sessionStorage.setItem("token", location.hash.slice(1));
  history.replaceState(null, "", location.pathname);
  const token = sessionStorage.getItem("token");
  const ask = (path, more = {}) => fetch(path, { ...more,
    headers: { "content-type": "application/json", "x-jurist": "review", ...(token ? { authorization: `Bearer ${token}` } : {}) } });

  let about, data, places, server = [], own = {}, past = [], told = {}, at = 0, filter = "all", shown = LISTED;
  let pace = [], last = 0, styled = false;
  const rendered = new Map();
  let queue = [], sending = false, busy = false, refused = false, changes = 0, explaining = false;
  const key = (name) => `jurist review ${about.judge} ${about.file} ${resolving ? "resolve" : about.fixed ? about.rater : ""} ${name}`;
  const read = (name, otherwise) => JSON.parse(localStorage.getItem(key(name)) ?? "null") ?? otherwise;
  const write = (name, value) => localStorage.setItem(key(name), JSON.stringify(value));
  const label = (place) => own[place] || { label: "", category: "", reason: "", skipped: false };
  const has = (place) => Boolean(label(place).label || label(place).category);
  const filters = resolving
    ? { disagreeing: (place) => place in told && !has(place), resolved: has, all: () => true }
    : { all: () => true, unlabelled: (place) => !has(place) && !label(place).skipped, labelled: has, skipped: (place) => label(place).skipped };

  // What was said is what the server has, and then what is on its way to it.
  const follow = (steps, step) => { if (step.undo) steps.pop(); else steps.push(step); };
  const rebuild = () => {
    past = [...server];
    for (const step of queue) if (step.rater === rater.value && (step.undo || places.has(step.unit))) follow(past, step);
    own = {};
    for (const step of past) own[places.get(step.unit)] = step;
  };

  // One after the other, in order; what the server cannot take now is sent again, also by the next visit.
  const send = async () => {
    if (sending) return;
    sending = true;
    while (queue.length) {
      let answer;
      try { answer = await ask("/labels", { method: "POST", body: JSON.stringify(queue[0]) }); } catch { answer = { status: 0 }; }
      if (![200, 413, 422].includes(answer.status)) {
        const lost = answer.status === 401 ? "; this link is not valid any more: ask for a new one" : "";
        say(`not saved yet: ${queue.length} kept in this browser${lost}`, true);
        setTimeout(send, AGAIN);
        break;
      }
      const [done] = queue.splice(0, 1);
      write("queue", queue);
      changes += 1;
      if (answer.status !== 200) {
        await load().catch(() => {});
        say(`refused: ${(await answer.json()).error}`, true);
        refused = true;
      } else {
        if (done.rater === rater.value) follow(server, done);
        if (done.undo && !queue.length) await load().catch(() => {});  // another tab may have labelled in between
        if (!queue.length) say(done.undo ? "undone" : "saved");
      }
    }
    sending = false;
  };

  const load = async () => {
    const before = changes;
    const answer = await ask(`/labels?rater=${encodeURIComponent(rater.value)}`);
    if (!answer.ok) throw new Error(String(answer.status));
    const found = await answer.json();
    if (changes !== before) return;
    let fresh = false;
    if (resolving && Object.keys(found.differing).some((one) => !places.has(one))) {  // raters differ on more units now
      const now = data.units[at]?.unit;
      await enter();
      at = places.get(now) ?? 0;
      fresh = true;
    }
    server = found.history;
    const { units, raw, alpha } = found.agreement;
    find("#agree").textContent = units ? `raters agree on ${Math.round(100 * raw)} % (${units} units of two or more${alpha === null ? "" : `, alpha ${alpha.toFixed(2)}`})` : "";
    told = Object.fromEntries(Object.entries(found.differing).map(([one, said]) => [places.get(one), said]));
    rebuild();
    if (fresh) show(at);
  };

  // The time between labels of this visit, and what is left at that pace; pauses do not count.
  const paced = () => {
    const now = Date.now();
    if (last && now - last < PAUSE) pace = [...pace, now - last].slice(-RECENT);
    last = now;
    if (pace.length < 3) return;
    const usual = [...pace].sort((a, b) => a - b)[Math.floor(pace.length / 2)];
    const left = data.units.filter((_, place) => filters[resolving ? "disagreeing" : "unlabelled"](place)).length;
    find("#pace").textContent = `${Math.max(1, Math.round(usual / 1000))} s a unit, about ${Math.max(1, Math.round(left * usual / 60000))} min left`;
  };

  // Until a step is saved (or kept here) and what follows has been in sight for a moment, no key is taken.
  const hurried = () => { if (busy && !saved.classList.contains("not")) say("too fast: this key was not taken", true); return busy; };
  const wait = (on) => { busy = on; unit.setAttribute("aria-busy", String(on)); };
  const step = async (change, after = () => {}) => {
    if (hurried() || !data.units.length) return;
    if (!rater.value.trim()) { say("who are you? write your name above", true); rater.focus(); return; }
    wait(true);
    refused = false;
    const request = [...crypto.getRandomValues(new Uint8Array(9))].map((one) => one.toString(16).padStart(2, "0")).join("");
    const { label: now, category, reason: why, skipped } = label(at);
    write("rater", rater.value);
    queue.push({ request, unit: data.units[at].unit, rater: rater.value, label: now, category, reason: why, skipped, ...change });
    write("queue", queue);
    changes += 1;
    rebuild();
    pressed();
    say("saving");
    await send();
    const before = at;
    if (document.activeElement !== reason && !refused) after();  // else the reason would go to the next unit
    pressed();
    if (at !== before) await new Promise((done) => { setTimeout(done, LOOK); });
    wait(false);
  };

  const choose = (said, { explain = false } = {}) => {
    if (said && !has(at)) paced();
    const old = label(at), stale = Boolean(old.reason && old.label && old.label !== said);
    step({ label: said, category: "", skipped: false }, () => {
      explaining = explain;
      if (explain) reason.focus();
      else if (stale && said) say("saved; does the reason still hold? (w)");
      else if (said) open();
    });
  };

  const explain = () => {
    const why = reason.value.trim(), leave = explaining && label(at).label;
    if (busy) return;  // it stays in the field, and is kept as a draft
    explaining = false;
    localStorage.removeItem(key("draft"));
    if (why !== label(at).reason) step({ reason: why }, () => { if (leave) open(); });
    else if (leave) open();
  };

  const undo = () => {
    if (!past.length) { say("there is nothing to undo"); return; }
    show(places.get(past[past.length - 1].unit));
    step({ undo: true });
  };

  const move = (by) => {
    for (let place = at + by; place >= 0 && place < data.units.length; place += by) if (filters[filter](place)) { show(place); return; }
    say(`no ${by > 0 ? "further" : "earlier"} unit${filter === "all" ? "" : ` that is ${filter}`}`);
  };

  const open = () => {
    const wanted = resolving ? "disagreeing" : filter === "skipped" ? "skipped" : "unlabelled";
    for (let by = 1; by <= data.units.length; by += 1) {
      const place = (at + by) % data.units.length;
      if (place !== at && filters[wanted](place)) { show(place); return; }
    }
    say(resolving ? "nothing else is left to resolve" : `no other unit is ${wanted}`);
  };

  const pressed = () => {
    if (!data.units.length) return;
    const { label: said, category, reason: why, skipped } = label(at);
    for (const button of document.querySelectorAll(".choices button")) button.setAttribute("aria-pressed", String(button.value === said));
    for (const button of document.querySelectorAll(".reasons button")) button.setAttribute("aria-pressed", String(button.value === category));
    for (const button of document.querySelectorAll(".criteria button")) {
      const other = label(Number(button.value));
      button.textContent = `${data.units[Number(button.value)].criterion}: ${other.label || other.category || (other.skipped ? "skipped" : "–")}`;
    }
    find("#skip").setAttribute("aria-pressed", String(skipped));
    const field = find(".choices input"), draft = read("draft", {});
    if (field && document.activeElement !== field) field.value = said;
    if (document.activeElement !== reason) reason.value = draft.unit === data.units[at].unit ? draft.text : why;
    const places = data.units.map((_, place) => place), all = resolving ? Object.keys(told).length : data.units.length;
    const done = places.filter((place) => has(place) && (!resolving || place in told)).length;
    find("#progress").max = Math.max(1, all);
    find("#progress").value = done;
    find("#count").textContent = `${done} of ${all}`;
    listed();
  };

  const haystack = (one) => [one.text, ...(one.pair ?? []), ...one.inputs.filter((input) => input[2] !== "image").flatMap((input) => input[1])].join("\n").toLowerCase();
  const listed = () => {
    if (find("#list").hidden) return;
    const places = data.units.map((_, place) => place);
    for (const button of document.querySelectorAll(".filters button")) {
      button.setAttribute("aria-pressed", String(button.value === filter));
      button.textContent = `${button.value} ${places.filter(filters[button.value]).length}`;
    }
    const wanted = find("#search").value.toLowerCase().trim();
    const some = places.filter(filters[filter]).filter((place) => !wanted || haystack(data.units[place]).includes(wanted));
    find("#found").textContent = wanted ? `${some.length} found` : "";
    find("#longer").hidden = some.length <= shown;
    find("#list ol").replaceChildren(...some.slice(0, shown).map((place) => {
      const { label: said, category, skipped } = label(place), one = data.units[place];
      const row = make("button", { type: "button" }, make("b", {}, `${place + 1}`), make("span", { class: "state" }, said || category || (skipped ? "skipped" : "–")),
        make("span", { class: "text", dir: "auto" }, (one.criterion ? `${one.criterion}: ` : "") + (one.text || one.pair[0]).slice(0, SPOKEN)));
      row.addEventListener("click", () => { list(false); show(place); });
      return make("li", {}, row);
    }));
  };

  const list = (open = find("#list").hidden) => {
    find("#list").hidden = !open;
    find(".desk").hidden = find(".answer").hidden = open;
    find("#all").setAttribute("aria-expanded", String(open));
    listed();
    (open ? find(".filters button") : unit).focus();
  };

  const long = (whole, attributes) => {
    const part = make("p", { dir: "auto", ...attributes }, whole.slice(0, LONG));
    if (whole.length <= LONG) return [part];
    const more = make("button", { type: "button" }, `show all ${whole.length.toLocaleString("en")} letters`);
    more.addEventListener("click", () => { part.textContent = whole; more.remove(); });
    return [part, more];
  };

  // A list is shown as its parts, with the one that is judged marked; Markdown comes from the server without HTML of the text.
  const input = (one, [name, value, kind], html) => {
    const head = make("h2", {}, name, ...(about.fields[name] ? [make("small", {}, ` ${about.fields[name]}`)] : []));
    if (kind === "image") return [head, make("img", { src: value, alt: name })];
    if (kind === "parts") return [head, make("ol", { class: "units" }, ...value.map((part, place) =>
      make("li", { dir: "auto", ...(place === one.of[0] - 1 && part === one.text ? { "aria-current": "true" } : {}) }, part)))];
    return [head, ...(html?.[name] === undefined ? long(value, { class: "text" }) : [styledText(html[name], "text")])];
  };
  const styledText = (html, kind) => {
    const part = make("div", { class: `${kind} markdown`, dir: "auto" });
    part.innerHTML = html;  // of Markdown without HTML, links and images; the page's policy lets no script in
    return part;
  };
  const restyle = async (one) => {
    const answer = await ask(`/markdown?unit=${encodeURIComponent(one.unit)}`).catch(() => null);
    if (!answer?.ok) { say("the server does not answer", true); return; }
    rendered.set(one.unit, await answer.json());
    if (data.units[at] === one) show(at);
  };
  const style = () => {
    styled = !styled;
    write("markdown", styled);
    find("#markdown").setAttribute("aria-pressed", String(styled));
    if (data.units.length) show(at);
  };

  const show = (place) => {
    find(".answer").inert = !data.units.length;
    if (!data.units.length) {
      unit.replaceChildren(make("p", { class: "judged" }, resolving ? "Raters differ on no unit. This page shows a unit as soon as they do." : "No unit is assigned to you."));
      return;
    }
    at = Math.max(0, Math.min(data.units.length - 1, place));
    const one = data.units[at], [number, all] = one.of, said = told[at], question = one.question ?? about.question;
    const html = styled ? rendered.get(one.unit) : undefined;
    if (styled && !html) restyle(one);
    const judged = one.pair
      ? [make("div", { class: "pair" }, ...one.pair.map((side, which) => make("section", { "aria-label": "AB"[which] }, make("h2", {}, "AB"[which]), ...long(side, { class: "judged" }))))]
      : html?.[""] === undefined ? long(one.text, { class: "judged" }) : [styledText(html[""], "judged")];
    unit.replaceChildren(
      make("p", { class: "where" }, [`${at + 1} of ${data.units.length}`, all > 1 ? `unit ${number} of ${all}` : "", filter === "all" ? "" : filter].filter(Boolean).join(" · ")),
      ...(question ? [make("p", { class: "question", dir: "auto" }, question)] : []),
      ...criteria(one),
      ...judged,
      ...(said ? [make("h2", {}, "What raters said"), make("ul", { class: "said" }, ...said.labels.map(({ rater: who, label: what, reason: why }) =>
        make("li", { dir: "auto" }, make("b", {}, `${who}: ${what}`), why ? ` – ${why}` : "")), ...(said.gold ? [make("li", {}, `gold before: ${said.gold}`)] : []))] : []),
      ...one.inputs.filter(([, value]) => value !== one.text).flatMap((each) => input(one, each, html)));
    unit.scrollTop = 0;
    offer(one);
    find("#now").textContent = `${at + 1} of ${data.units.length}: ${one.criterion ? `${one.criterion}: ` : ""}${(one.text || one.pair[0]).slice(0, SPOKEN)}`;
    write("at", one.unit);
    pressed();
  };

  const choicesOf = (one) => one.choices ?? about.choices;
  const offer = (one) => {
    find(".choices").replaceChildren();
    choicesOf(one).forEach((choice, place) => button(".choices", choice, place < 9 ? String(place + 1) : "", (event) => choose(choice, { explain: event.shiftKey })));
    if (choicesOf(one).length) return;
    const expects = one.expects ?? about.expects, field = make("input", { "aria-label": expects, placeholder: expects, autocomplete: "off" });
    field.addEventListener("change", () => { if (field.value.trim() !== label(at).label) choose(field.value.trim()); });
    find(".choices").append(field);
  };
  // All criteria of a row with what was said of each: the keys label the one that is marked.
  const criteria = (one) => {
    if (!one.criterion) return [];
    const row = data.units.map((_, place) => place).filter((place) => data.units[place].row === one.row);
    return [make("div", { class: "criteria", role: "group", "aria-label": "criteria of this row" }, ...row.map((place) => {
      const made = make("button", { type: "button", value: String(place), ...(place === at ? { "aria-current": "true" } : {}) });
      made.addEventListener("click", () => show(place));
      return made;
    }))];
  };

  const button = (group, value, mark, act, text = value) => {
    const made = make("button", { type: "button", value, "aria-pressed": "false" }, text, ...(mark ? [" ", make("kbd", {}, mark)] : []));
    made.addEventListener("click", act);
    find(group).append(made);
  };

  // The units come apart from the page: who has no link sees none of them. A pair's order is the rater's own.
  const enter = async () => {
    const answer = await ask(`/work?rater=${encodeURIComponent(resolving ? "resolved" : rater.value)}`);
    if (!answer.ok) { say(answer.status === 401 ? "this link is not valid: ask for a new one" : "the server does not answer", true); return false; }
    const work = await answer.json();
    about = work.about;
    const bytes = Uint8Array.from(atob(work.units), (letter) => letter.charCodeAt(0));
    data = JSON.parse(await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text());
    places = new Map(data.units.map((one, place) => [one.unit, place]));
    find(".guideline").innerHTML = work.guideline;  // rendered from Markdown without HTML; the page's policy lets no script in
    return true;
  };
  const visit = async () => {
    wait(true);
    queue = read("queue", []);
    await send();
    try { await load(); } catch { say("the server does not answer", true); }
    if (resolving) filter = "disagreeing";
    const last = places.get(read("at", "")) ?? 0;
    show(last);
    if (resolving && !filters.disagreeing(last)) open();
    rater.disabled = false;
    if (!rater.readOnly && server.length && read("rater", null) === null) say(`somebody labelled as ${rater.value}: if it was not you, write your name above`, true);
    wait(false);
  };

  if (!(await enter())) return;
  document.title = `${resolving ? "Resolve" : "Review"}: ${about.judge}`;
  find("h1").textContent = about.judge + (resolving ? ": what raters differ on" : "");
  find(".choices").setAttribute("aria-label", about.noun);
  rater.value = about.fixed || resolving ? about.rater : read("rater", about.rater);
  rater.readOnly = about.fixed || resolving;
  if (rater.value !== about.rater) await enter();
  const alone = about.reasons.length === 1;
  if (!alone) find(".reasons").append("ambiguous: ");
  about.reasons.forEach((why) => button(".reasons", why, why[0], () => step({ category: label(at).category === why ? "" : why, skipped: false }), alone ? "ambiguous" : why));
  Object.keys(filters).forEach((name) => button(".filters", name, "", () => { filter = name; shown = LISTED; listed(); }));
  const skip = () => step({ label: "", category: "", skipped: !label(at).skipped }, () => { if (label(at).skipped) open(); });
  const acts = { "#undo": undo, "#clear": () => choose(""), "#skip": skip, "#back": () => move(-1), "#next": () => move(1), "#open": open, "#all": () => list(), "#markdown": style, "#keys": () => find("#help").showModal(),
    "#longer": () => { shown += LISTED; listed(); } };
  for (const [selector, act] of Object.entries(acts)) find(selector).addEventListener("click", () => { if (!hurried()) act(); });
  find("#search").addEventListener("input", () => { shown = LISTED; listed(); });
  styled = read("markdown", false);
  find("#markdown").setAttribute("aria-pressed", String(styled));
  reason.addEventListener("input", () => write("draft", { unit: data.units[at].unit, text: reason.value }));
  reason.addEventListener("change", explain);
  rater.addEventListener("change", async () => { write("rater", rater.value); wait(true); if (await enter()) await visit(); });

  const keys = { j: () => move(1), ArrowRight: () => move(1), k: () => move(-1), ArrowLeft: () => move(-1), n: open, u: undo, x: skip, w: () => reason.focus(), m: style, "?": () => find("#help").showModal(),
    0: () => choose(""), PageDown: () => unit.scrollBy(0, unit.clientHeight * .8), PageUp: () => unit.scrollBy(0, -unit.clientHeight * .8) };
  about.reasons.forEach((why) => { keys[why[0]] ??= () => find(`.reasons button[value="${why}"]`).click(); });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (find("#help").open) return;  // Escape closes it
    const { target } = event, digit = /^(?:Digit|Numpad)([1-9])$/.exec(event.code);
    if (target.tagName === "INPUT" || target === reason) {
      if (event.key === "Escape" && target === reason) { localStorage.removeItem(key("draft")); explaining = false; reason.value = label(at).reason; }
      if (event.key !== "Escape" && (event.key !== "Enter" || event.shiftKey)) return;
      event.preventDefault();
      target.blur();
      if (event.key === "Enter" && target === reason && explaining) explain();
    } else if (event.key === "/") {
      list(true);
      find("#search").focus();
      event.preventDefault();
    } else if (event.key === "l" || (event.key === "Escape" && !find("#list").hidden)) {
      list();
      event.preventDefault();
    } else if (find("#list").hidden && !event.repeat) {
      if (!data.units.length && event.key !== "?") return;
      const choice = !data.units.length ? undefined : /^[1-9]$/.test(event.key) ? choicesOf(data.units[at])[Number(event.key) - 1] : event.shiftKey && digit ? choicesOf(data.units[at])[Number(digit[1]) - 1] : undefined;
      if (choice === undefined && !keys[event.key]) return;
      event.preventDefault();
      if (hurried()) return;
      if (choice !== undefined) choose(choice, { explain: event.shiftKey });
      else keys[event.key]();
    }
  });
  setInterval(() => { if (!queue.length && !busy) load().then(pressed, () => {}); }, 15000);
  await visit();
})();
