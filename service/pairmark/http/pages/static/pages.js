// What a page can do beyond being read: copy, local times, a live plan, a cell under the pointer. Everything works without it.
"use strict";

const said = document.createElement("p");
said.className = "unseen";
said.setAttribute("role", "status");
document.body.append(said);

const copyTo = async (button, text) => {
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "copied";
    said.textContent = "Copied";
  } catch {
    button.textContent = "press Ctrl+C";
    const range = document.createRange();
    range.selectNodeContents(button.parentElement.querySelector("pre, code"));
    getSelection().removeAllRanges();
    getSelection().addRange(range);
  }
  setTimeout(() => { button.textContent = "copy"; }, 1500);
};

const enliven = (root) => {
  for (const button of root.querySelectorAll("button.copy")) {
    button.hidden = false;
    button.addEventListener("click", () => copyTo(button, button.dataset.copy ?? button.parentElement.querySelector("pre").textContent));
  }
  for (const time of root.querySelectorAll("time[datetime]")) {
    const moment = new Date(time.dateTime);
    if (!Number.isNaN(moment.valueOf())) time.title = `${moment.toLocaleString()} where you are`;
  }
};
enliven(document);

// what fits its place needs no scrolling, and is no stop of the keyboard
const stops = () => {
  for (const one of document.querySelectorAll(".wide")) {
    if (one.scrollWidth > one.clientWidth) one.tabIndex = 0;
    else one.removeAttribute("tabindex");
  }
};
addEventListener("resize", stops);
stops();

// a page that waits looks again, and is another one once there is a verdict or will be none
const waiting = document.querySelector("[data-again]");
if (waiting) {
  const look = async () => {
    try {
      const answer = await fetch(location.pathname, { headers: { Accept: "text/html" } });
      if (![202, 429, 503].includes(answer.status)) { location.reload(); return; }
      const found = new DOMParser().parseFromString(await answer.text(), "text/html");
      if (answer.status === 202) {
        waiting.replaceChildren(...found.getElementById(waiting.id).children);
        document.title = found.title;
      }
    } catch { /* the service is away for a moment */ }
    setTimeout(look, 1000 * Number(waiting.dataset.again));
  };
  setTimeout(look, 1000 * Number(waiting.dataset.again));
}

// what waits is cancelled by the interface, with one's own key, which is not kept
const cancel = document.querySelector("form[data-cancel]");
if (cancel) {
  const says = cancel.querySelector(".cancel-says");
  cancel.hidden = false;
  cancel.addEventListener("submit", async (event) => {
    event.preventDefault();
    const key = new FormData(cancel).get("key");
    const headers = key ? { Accept: "application/json", Authorization: `Bearer ${key.trim()}` } : { Accept: "application/json" };
    says.textContent = "";
    try {
      const answer = await fetch(cancel.dataset.cancel, { method: "DELETE", headers });
      if (answer.ok || answer.status === 409) location.reload();
      else says.textContent = (await answer.json()).detail;
    } catch {
      says.textContent = "The service did not answer; it is not known to be cancelled. Try again.";
    }
  });
}

// the plan: a slider for every number, and the answer without a button
const form = document.querySelector("form[data-live]");
if (form) {
  for (const input of form.querySelectorAll("[data-slider-max]")) {
    const slider = document.createElement("input");
    slider.type = "range";
    slider.min = input.dataset.sliderMin;
    slider.max = input.dataset.sliderMax;
    slider.step = input.dataset.sliderStep;
    slider.setAttribute("aria-label", `${input.parentElement.querySelector("span").textContent.trim()}, slider`);
    if (input.value === "") slider.classList.add("unset");
    slider.value = input.value === "" ? slider.min : input.value;
    slider.addEventListener("input", () => { input.value = slider.value; ask(); });
    input.addEventListener("input", () => { if (input.value !== "") slider.value = input.value; ask(); });
    input.after(slider);
  }
  const target = document.getElementById(form.dataset.live);
  let asked = 0;
  let timer = 0;
  const show = async (turn) => {
    const given = new URLSearchParams([...new FormData(form)].filter(([, value]) => value !== ""));
    const address = `${form.getAttribute("action")}?${given}`;
    target.setAttribute("aria-busy", "true");
    try {
      const answer = await fetch(address, { headers: { Accept: "text/html" } });
      const found = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById(form.dataset.live);
      if (turn !== asked || !found) return;
      target.replaceChildren(...found.children);
      enliven(target);
      stops();
      history.replaceState(null, "", address);
    } finally {
      if (turn === asked) target.removeAttribute("aria-busy");
    }
  };
  function ask() {
    clearTimeout(timer);
    asked += 1;
    const turn = asked;
    timer = setTimeout(() => show(turn), 200);
  }
}

// a disproof goes to the interface, with the reviewer's own key, which is not kept
const disproof = document.querySelector("form[data-disproof]");
if (disproof) {
  const says = disproof.querySelector(".disproof-says");
  disproof.hidden = false;
  disproof.addEventListener("submit", async (event) => {
    event.preventDefault();
    const given = new FormData(disproof);
    const digests = given.get("digests").split(/\s+/).filter((one) => one !== "");
    const headers = { "Content-Type": "application/json", Accept: "application/json" };
    if (given.get("key")) headers.Authorization = `Bearer ${given.get("key").trim()}`;
    disproof.setAttribute("aria-busy", "true");
    says.textContent = "Judging…";
    try {
      const answer = await fetch(disproof.dataset.disproof, { method: "POST", headers, body: JSON.stringify({ text: given.get("text"), digests }) });
      const found = await answer.json();
      if (answer.ok) location.assign(`/certifications/${found.id}`);
      else says.textContent = found.detail;
    } catch {
      says.textContent = "The service did not answer; nothing is known to be recorded. Try again.";
    } finally {
      disproof.removeAttribute("aria-busy");
    }
  });
}

// the map: one listener for all cells
const map = document.querySelector("svg[data-map]");
if (map) {
  const rows = map.dataset.map.split(" ");
  const size = Number(map.dataset.cell);
  const tasks = [...map.querySelectorAll("[data-row]")].map((one) => one.dataset.row);
  const injections = [...map.querySelectorAll("[data-column]")].map((one) => one.dataset.column);
  const cursor = map.querySelector(".cursor");
  const line = document.querySelector("[data-map-says]");
  const kinds = {
    l: "lost: done without the attack, not under it", g: "gained: done under attack only", k: "kept: done in both arms",
    n: "neither: done in no arm", m: "the epochs differ", u: "no pair of outcomes",
  };
  const place = (event) => {
    const box = map.getBoundingClientRect();
    const scale = map.viewBox.baseVal.width / box.width;
    const column = Math.floor(((event.clientX - box.left) * scale - Number(map.dataset.left)) / size);
    const row = Math.floor(((event.clientY - box.top) * scale - Number(map.dataset.top)) / size);
    const letter = rows[row]?.[column] ?? ".";
    return letter === "." ? null : { row, column, letter };
  };
  const say = (found) => {
    cursor.setAttribute("visibility", found ? "visible" : "hidden");
    map.classList.toggle("over-cell", Boolean(found));
    if (!found) { line.textContent = ""; return; }
    cursor.setAttribute("x", Number(map.dataset.left) + found.column * size);
    cursor.setAttribute("y", Number(map.dataset.top) + found.row * size);
    const success = found.letter === found.letter.toUpperCase() ? "; the attack succeeded" : "";
    line.textContent = `${tasks[found.row]} × ${injections[found.column]}: ${kinds[found.letter.toLowerCase()]}${success}`;
  };
  map.addEventListener("pointermove", (event) => say(place(event)));
  map.addEventListener("pointerleave", () => say(null));
  map.addEventListener("click", (event) => {
    const found = place(event);
    if (!found || event.target.closest("a")) return;
    const given = new URLSearchParams({ task: tasks[found.row], injection: injections[found.column] });
    location.assign(`${map.dataset.pairs}?${given}`);
  });
}
