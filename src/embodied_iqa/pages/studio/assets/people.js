// Pages on which people work; they also work without this, but then keys and advice while typing are missing.
"use strict";

const csrf = document.querySelector("meta[name=csrf]").content;

function addAdvice(line, item, typed) {
  line.textContent = "";
  const add = (text, kind) => { const part = document.createElement("span"); part.textContent = text; if (kind) part.className = kind; line.append(part); };
  if (!typed) return;
  if (item.verb) add(item.verb);
  if (item.meaning) add(`means: ${item.meaning}`, "good");
  if (item.problem) add(item.problem, "bad");
  for (const [wrong, right] of item.spelling) add(`${wrong}: ${right}?`, "bad");
  for (const rank of item.repeats) add(`same as task ${rank}`, "bad");
  if (item.other_references) add(`also at ${item.other_references} other references`);
}

const tasks = document.querySelector("form[data-tasks]");
if (tasks) {
  const texts = [...tasks.querySelectorAll(".task input")];
  let timer = 0, asked = 0;
  const advise = async () => {
    const number = ++asked, query = new URLSearchParams();
    for (const field of texts) query.set(field.name, field.value);
    const answer = await fetch(`${tasks.dataset.advice}?${query}`).catch(() => null);
    if (!answer || !answer.ok || number !== asked) return;
    const items = await answer.json();
    items.forEach((item, index) => addAdvice(document.getElementById(`advice${index + 1}`), item, texts[index].value.trim()));
    tasks.dataset.advised = texts.map((field) => field.value).join("|");
  };
  tasks.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(advise, 250); });
  tasks.addEventListener("keydown", (event) => {
    const at = texts.indexOf(event.target);
    if (event.key !== "Enter" || event.ctrlKey || event.metaKey || event.isComposing || event.target.matches("button, a")) return;
    event.preventDefault();
    (texts[at + 1] && at >= 0 ? texts[at + 1] : tasks.querySelector("[data-save]")).focus();
  });
  const held = document.querySelector("[data-held]");
  const reserve = async () => {
    const answer = await fetch(tasks.dataset.reserve, { method: "POST", headers: { "X-CSRF-Token": csrf } }).catch(() => null);
    if (!answer || !answer.ok) return;
    const state = await answer.json();
    const stale = !state.problem && String(state.last) !== tasks.elements.last.value;
    held.textContent = stale ? "Somebody has edited this reference since you opened it: reload before you go on." : state.problem;
    held.hidden = !held.textContent;
  };
  reserve();
  setInterval(reserve, 40_000);
}

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && event.target.matches("input, select")) event.target.blur();
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    const button = document.querySelector("[data-save]");
    if (button) { event.preventDefault(); button.click(); }
  }
});

// A key that leads to a field moves there: a click would not.
for (const field of document.querySelectorAll("input[data-key], select[data-key]")) field.addEventListener("click", () => field.focus());

document.querySelector("[data-all-fit]")?.addEventListener("click", () => {
  for (const field of document.querySelectorAll("form[data-verdicts] input[value=fits]")) field.checked = true;
  document.querySelector("[data-save]").focus();
});

const judge = document.querySelector("[data-judge]");
if (judge) {
  const form = judge.querySelector("form");
  let touched = false;
  form?.addEventListener("input", () => { touched = true; });
  setInterval(async () => {
    if (document.hidden) return;
    const answer = await fetch(judge.dataset.judge).catch(() => null);
    if (!answer || !answer.ok || (await answer.json()).version === judge.dataset.version) return;
    if (touched) judge.querySelector("[data-changed]").hidden = false;
    else location.reload();
  }, 2000);
}
