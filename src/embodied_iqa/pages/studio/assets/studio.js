// Small helpers of all pages; everything works without them except the slider and the player.
"use strict";

document.addEventListener("change", (event) => {
  const form = event.target.closest("form[data-submit-on-change]");
  if (!form || event.target.type === "number" && !event.target.checkValidity()) return;
  form.requestSubmit();
});

document.addEventListener("submit", (event) => {
  if (event.target.method !== "get") return;
  for (const field of event.target.elements) if (field.name && field.value === "") field.disabled = true;
});
window.addEventListener("pageshow", () => {
  for (const field of document.querySelectorAll("form :disabled")) field.disabled = false;
});

// A key of `data-key` clicks its element, unless somebody types.
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input:not([type=range]), select, textarea")) return;
  const named = document.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
  if (named) { event.preventDefault(); named.click(); }
});

// A fragment of the server, loaded when its place is opened.
document.addEventListener("toggle", async (event) => {
  const place = event.target;
  const address = place.dataset?.load;
  if (!address || !place.open) return;
  delete place.dataset.load;
  const answer = await fetch(address);
  const holder = document.createElement("div");
  holder.innerHTML = answer.ok ? await answer.text() : "could not be loaded";
  place.querySelector("p")?.replaceWith(holder);
}, true);

// Two images under one slider with one zoom.
function compare(box) {
  const controls = document.querySelector("[data-controls]");
  const zooms = [...box.querySelectorAll(".zoom")];
  const slider = controls.querySelector("[data-slider]");
  let scale = 1, x = 0, y = 0;
  controls.hidden = false;

  const place = () => {
    const size = zooms[0].parentElement.getBoundingClientRect();
    x = Math.min(0, Math.max(size.width * (1 - scale), x));
    y = Math.min(0, Math.max(size.height * (1 - scale), y));
    for (const one of zooms) one.style.transform = scale === 1 ? "" : `translate(${x}px, ${y}px) scale(${scale})`;
    box.classList.toggle("zoomed", scale > 1);
  };
  const zoom = (factor, at) => {
    const size = zooms[0].parentElement.getBoundingClientRect();
    const [px, py] = at ?? [size.width / 2, size.height / 2];
    const next = factor ? Math.min(16, Math.max(1, scale * factor)) : 1;
    x = px - (px - x) * next / scale;
    y = py - (py - y) * next / scale;
    scale = next;
    place();
  };
  const wipe = (on) => {
    box.classList.toggle("wipe", on);
    controls.querySelector(".wipe").hidden = !on;
    const button = controls.querySelector("[data-mode]");
    button.setAttribute("aria-pressed", String(!on));
    place();
  };
  const border = () => box.style.setProperty("--border", `${slider.value}%`);

  slider.addEventListener("input", border);
  controls.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if (button.dataset.zoom !== undefined) zoom(Number(button.dataset.zoom));
    if (button.dataset.mode !== undefined) wipe(!box.classList.contains("wipe"));
    if (button.dataset.actions !== undefined) {
      button.setAttribute("aria-pressed", String(!box.classList.toggle("no-actions")));
    }
  });
  for (const one of zooms) {
    const view = one.parentElement;
    view.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && scale === 1 && event.deltaY > 0) return;
      event.preventDefault();
      const size = view.getBoundingClientRect();
      zoom(event.deltaY < 0 ? 1.25 : 0.8, [event.clientX - size.left, event.clientY - size.top]);
    }, { passive: false });
    view.addEventListener("pointermove", (event) => {
      if (!event.buttons || scale === 1) return;
      x += event.movementX;
      y += event.movementY;
      place();
    });
    view.addEventListener("dblclick", () => zoom(0));
    view.addEventListener("dragstart", (event) => event.preventDefault());
  }
  for (const row of document.querySelectorAll("[data-subject-row]")) {
    const show = (on) => {
      box.classList.toggle("one-subject", on);
      for (const item of box.querySelectorAll("[data-subject]")) {
        const same = item.dataset.subject === row.dataset.subjectRow;
        item.classList.toggle("shown", on && same);
      }
    };
    for (const name of ["mouseenter", "focus"]) row.addEventListener(name, () => show(true));
    for (const name of ["mouseleave", "blur"]) row.addEventListener(name, () => show(false));
  }
  window.addEventListener("resize", place);
  border();
  wipe(true);
}
for (const box of document.querySelectorAll("[data-compare]")) compare(box);
