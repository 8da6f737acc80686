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
