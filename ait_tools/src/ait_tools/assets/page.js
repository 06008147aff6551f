// SPDX-License-Identifier: Apache-2.0
"use strict";
const find = (s, of = document) => of.querySelector(s), all = (s, of = document) => [...of.querySelectorAll(s)];
const details = JSON.parse(find("#details").textContent);
const views = all("svg.view").map((svg) => ({ svg, scene: find(".scene", svg), x: 0, y: 0, scale: 0 }));
let now = views[0];

function draw() { now.scene.setAttribute("transform", `translate(${now.x},${now.y}) scale(${now.scale})`); }
function home(whole) {  // all of it, or its top at a size that can be read
  const { clientWidth: w, clientHeight: h } = now.svg, { width, height } = now.svg.dataset;
  const fit = Math.min((w - 40) / width, (h - 80) / height);
  now.scale = Math.min(1.25, whole ? fit : Math.max(fit, Math.min(1, Math.max(0.75, (w - 40) / width))));
  now.x = (w - width * now.scale) / 2;
  now.y = 24;
  if (!whole && width * now.scale > w) {  // too wide: start at what is on top
    const top = all(".box", now.svg).reduce((a, b) => (+b.dataset.y < +a.dataset.y ? b : a));
    now.x = w / 2 - top.dataset.x * now.scale;
  }
  draw();
}
function zoom(by, cx = now.svg.clientWidth / 2, cy = now.svg.clientHeight / 2) {
  const scale = Math.min(4, Math.max(0.03, now.scale * by));
  now.x = cx - ((cx - now.x) * scale) / now.scale;
  now.y = cy - ((cy - now.y) * scale) / now.scale;
  now.scale = scale;
  draw();
}
function centre(box) {
  now.scale = Math.max(now.scale, 0.8);
  now.x = now.svg.clientWidth / 2 - box.dataset.x * now.scale;
  now.y = now.svg.clientHeight / 2 - box.dataset.y * now.scale;
  draw();
}
function show(index) {
  now = views[index];
  views.forEach((v, i) => v.svg.toggleAttribute("hidden", i !== index));
  all(".tabs button").forEach((b, i) => b.setAttribute("aria-selected", i === index));
  if (!now.scale) home(false);
  search();
}

// -- pan and zoom
for (const { svg } of views) {
  let from = null;
  svg.addEventListener("wheel", (e) => {
    e.preventDefault();
    const r = svg.getBoundingClientRect();
    if (e.ctrlKey || e.metaKey || !e.shiftKey) zoom(Math.exp(-e.deltaY * 0.0015), e.clientX - r.left, e.clientY - r.top);
    else { now.x -= e.deltaX || e.deltaY; draw(); }
  }, { passive: false });
  svg.addEventListener("pointerdown", (e) => { if (e.button === 0) from = { x: e.clientX - now.x, y: e.clientY - now.y, far: 0 }; });
  svg.addEventListener("pointermove", (e) => {
    if (!from) return;
    from.far += Math.abs(e.movementX) + Math.abs(e.movementY);
    if (from.far < 4) return;
    if (!svg.hasPointerCapture(e.pointerId)) svg.setPointerCapture(e.pointerId);
    svg.classList.add("dragged");
    now.x = e.clientX - from.x;
    now.y = e.clientY - from.y;
    draw();
  });
  for (const end of ["pointerup", "pointercancel"]) svg.addEventListener(end, () => { from = null; svg.classList.remove("dragged"); });
}

// -- details; only ever as text
function element(kind, text) { const e = document.createElement(kind); e.textContent = text; return e; }
function choose(box) {
  all(".box.chosen").forEach((b) => b.classList.remove("chosen"));
  find("#panel").toggleAttribute("hidden", !box);
  if (!box) return;
  box.classList.add("chosen");
  const d = details[box.dataset.key];
  find("#panel h2").textContent = d.title;
  find("#panel > div").replaceChildren(...d.details.flatMap(([heading, body]) => {
    if (typeof body === "string") return [element("h3", heading), element(heading === "source code" ? "pre" : "p", body)];
    const table = document.createElement("table");
    for (const row of body) table.insertRow().append(...row.map((c) => element("td", c)));
    return [element("h3", heading), table];
  }));
}
function near(key, on) {
  for (const w of all(".wire", now.svg)) {
    const ends = w.dataset.to.split(" ");
    if (w.dataset.from !== key && !ends.includes(key)) continue;
    w.classList.toggle("near", on);
    for (const k of [w.dataset.from, ...ends]) find(`[data-key="${k}"]`, now.svg)?.classList.toggle("near", on);
  }
}
for (const box of all(".box")) {
  box.addEventListener("click", () => choose(box));
  box.addEventListener("keydown", (e) => { if (e.key === "Enter") choose(box); });
  box.addEventListener("pointerenter", () => near(box.dataset.key, true));
  box.addEventListener("pointerleave", () => near(box.dataset.key, false));
}

// -- search
let hits = [], at = -1;
function search() {
  const text = find("#search").value.trim().toLowerCase();
  all(".box.hit").forEach((b) => b.classList.remove("hit"));
  hits = text ? all(".box", now.svg).filter((b) => b.dataset.search.includes(text)) : [];
  hits.sort((a, b) => a.dataset.y - b.dataset.y || a.dataset.x - b.dataset.x);
  hits.forEach((b) => b.classList.add("hit"));
  at = -1;
  find("#hits").textContent = text ? `${hits.length} found` : "";
  if (hits.length) step(1);
}
function step(by) {
  if (!hits.length) return;
  at = (at + by + hits.length) % hits.length;
  find("#hits").textContent = `${at + 1} of ${hits.length}`;
  centre(hits[at]);
}
find("#search").addEventListener("input", search);
find("#search").addEventListener("keydown", (e) => {
  if (e.key === "Enter") { step(e.shiftKey ? -1 : 1); if (hits.length) choose(hits[at]); }
  if (e.key === "Escape") { e.target.value = ""; search(); e.target.blur(); }
});

// -- buttons and keys
all(".tabs button").forEach((b, i) => b.addEventListener("click", () => show(i)));
find("#in").addEventListener("click", () => zoom(1.3));
find("#out").addEventListener("click", () => zoom(1 / 1.3));
find("#fit").addEventListener("click", () => home(true));
find("#close").addEventListener("click", () => choose(null));
const root = document.documentElement, dark = matchMedia("(prefers-color-scheme: dark)");
const theme = (name) => { root.dataset.theme = name; };
theme(dark.matches ? "dark" : "light");
dark.addEventListener("change", () => theme(dark.matches ? "dark" : "light"));
find("#theme").addEventListener("click", () => theme(root.dataset.theme === "dark" ? "light" : "dark"));
addEventListener("keydown", (e) => {
  if (e.target.tagName === "INPUT" || e.ctrlKey || e.metaKey || e.altKey) return;
  const act = { "/": () => find("#search").focus(), "+": () => zoom(1.3), "=": () => zoom(1.3), "-": () => zoom(1 / 1.3),
    0: () => home(true), Escape: () => choose(null) }[e.key];
  if (act) { e.preventDefault(); act(); }
});
show(Math.min(1, views.length - 1));
