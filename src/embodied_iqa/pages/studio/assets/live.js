// Follows recordings that are being written: asks for what was appended, and keeps the newest moment shown.
"use strict";

const PAUSE_MS = 1000, RETRY_MS = 5000;
const following = document.querySelector("[data-follow]");
const badge = document.querySelector("[data-recorded]");
if (location.hash) following.checked = false;

function say(words) { if (badge.textContent !== words) badge.textContent = words; }

// The time up to which the stamps of every camera are known.
function knownUntil(run) {
  const lasts = Object.values(run.frames).map((stamps) => stamps[stamps.length - 1] ?? -1);
  return lasts.length ? Math.min(...lasts) : -1;
}

function take(run, box, answer) {
  const fresh = answer.lane;
  if (Object.keys(fresh.frames).some((view) => !(view in run.frames))) { location.reload(); return; }
  for (const [view, stamps] of Object.entries(fresh.frames)) {
    const last = run.frames[view][run.frames[view].length - 1] ?? -1;
    run.frames[view].push(...stamps.filter((stamp) => stamp > last));
  }
  Object.assign(run, { ...fresh, frames: run.frames });
  box.querySelector("[data-state-of-run]").textContent = fresh.state;
  box.querySelector("[data-tracks]").innerHTML = answer.tracks;
  end = Math.max(...runs.map((one) => one.duration_s));
  slider.max = end;
  if (following.checked && !playing) now = end;
  draw();
}

function leave(hash) {
  if (hash) history.replaceState(null, "", hash);
  location.reload();
}

// Returns the pause until the next question; 0 for none.
async function ask(run, box) {
  const place = `${run.address}/live?after=${knownUntil(run)}&position=${run.position}`;
  const reply = await fetch(place);
  if (!reply.ok) throw new Error(reply.statusText);
  const answer = await reply.json();
  if (answer.state === "ended") { leave(following.checked ? `#t=${end.toFixed(2)}` : ""); return 0; }
  if (answer.state === "interrupted") { say("interrupted"); status.textContent = answer.message; return 0; }
  say(`recording, ${answer.recorded_s.toFixed(0)} s so far`);
  if (answer.lane) take(run, box, answer);
  if (following.checked && runs.length === 1 && answer.newest !== run.address) location.assign(answer.newest);
  return answer.behind ? 1 : PAUSE_MS;
}

async function watch(run, box) {
  let pause = PAUSE_MS;
  if (!document.hidden) {
    try { pause = await ask(run, box); } catch { say("The studio does not answer."); pause = RETRY_MS; }
  }
  if (pause) setTimeout(watch, pause, run, box);
}

function look() { following.checked = false; }
following.addEventListener("change", () => {
  if (!following.checked) return;
  play(false);
  now = end;
  history.replaceState(null, "", location.pathname + location.search);
  draw();
});
player.addEventListener("click", (event) => { if (event.target.closest("button")) look(); }, true);
slider.addEventListener("input", look);
for (const box of document.querySelectorAll("[data-tracks]")) box.addEventListener("pointerdown", look);
if (following.checked) { now = end; draw(); }
for (const box of document.querySelectorAll("[data-lane]")) {
  if (runs[box.dataset.lane].position !== null) setTimeout(watch, PAUSE_MS, runs[box.dataset.lane], box);
}
