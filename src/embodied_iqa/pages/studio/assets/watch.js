// The player of recordings: one clock for all images and tracks.
"use strict";

const runs = JSON.parse(document.getElementById("lanes").textContent);
const player = document.querySelector("[data-player]");
const slider = player.querySelector("[data-time]");
const status = document.querySelector("[data-jumped]");
let end = Math.max(...runs.map((run) => run.duration_s));
slider.max = end;
let now = Math.min(end, Math.max(0, Number(new URLSearchParams(location.hash.slice(1)).get("t")) || 0));
let playing = false;
let last = 0;

// The last item of a sorted list that is not after the time; -1 for none.
function before(list, time, of = (item) => item) {
  let low = 0, high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (of(list[middle]) <= time + 1e-6) low = middle + 1; else high = middle;
  }
  return low - 1;
}

// Shows an image when it has arrived; a later wish replaces one that waits.
function show(image, address) {
  image.wanted = address;
  if (image.busy || image.shown === address) return;
  image.busy = true;
  const fresh = new Image();
  fresh.src = address;
  const done = () => {
    image.busy = false;
    if (fresh.naturalWidth) { image.src = address; image.shown = address; }
    if (image.wanted !== address) show(image, image.wanted);
  };
  fresh.decode().then(done, done);
}

function drawLane(run, box) {
  for (const shots of box.querySelectorAll("[data-view]")) {
    const stamps = run.frames[shots.dataset.view];
    const place = Math.max(0, before(stamps, now));
    for (const image of shots.querySelectorAll("img")) {
      show(image, `${run.address}/${shots.dataset.view}/${image.dataset.side}/${place}`);
    }
  }
  for (const place of box.querySelectorAll("[data-verdict]")) {
    const rows = run.verdicts[place.dataset.verdict];
    const row = rows[before(rows, now, (item) => item[0])];
    place.textContent = row ? row[1] : "";
    place.dataset.state = row ? row[1] : "";
    place.nextElementSibling.textContent = row ? row[2].split("; ").join("\n") : "";
  }
  for (const place of box.querySelectorAll("[data-curve]")) {
    const rows = run.curves[place.dataset.curve];
    const row = rows[before(rows, now, (item) => item[0])];
    place.textContent = row ? row[1].toFixed(row[1] < 10 ? 2 : 0) : "";
  }
  const level = box.querySelector("[data-level]");
  const span = run.levels[before(run.levels, now, (item) => item[0])];
  if (level) level.textContent = span ? `level ${span[2]}` : "";
  const decision = run.decisions[before(run.decisions, now, (item) => item[0])];
  box.querySelector("[data-decision]").textContent = decision ? decision[1] : "";
  box.querySelector("[data-cursor]").style.setProperty("--at", Math.min(1, now / run.duration_s));
}

function draw() {
  slider.value = now;
  player.querySelector("[data-clock]").textContent = `${now.toFixed(2)} of ${end.toFixed(2)} s`;
  for (const box of document.querySelectorAll("[data-lane]")) drawLane(runs[box.dataset.lane], box);
}

function go(time, words = "") {
  now = Math.min(end, Math.max(0, time));
  status.textContent = words;
  if (!playing) history.replaceState(null, "", `#t=${now.toFixed(2)}`);
  draw();
}

function play(on) {
  playing = on;
  last = performance.now();
  player.querySelector("[data-play]").setAttribute("aria-pressed", String(on));
  document.body.classList.toggle("playing", on);
  if (on && now >= end) now = 0;
  if (on) requestAnimationFrame(tick); else go(now);
}

function tick(time) {
  if (!playing) return;
  now += Math.max(0, time - last) / 1000 * Number(player.querySelector("[data-speed]").value);
  last = time;
  if (now >= end) { now = end; play(false); return; }
  draw();
  requestAnimationFrame(tick);
}

function step(by) {
  const stamps = [...new Set(runs.flatMap((run) => Object.values(run.frames).flat()))].sort((a, b) => a - b);
  const place = before(stamps, now);
  const next = stamps[Math.min(stamps.length - 1, Math.max(0, place + by))];
  if (next !== undefined) { play(false); go(next); }
}

function jump(kind) {
  const times = runs.flatMap((run) => run[kind].map((item) => Array.isArray(item) ? item[0] : item)).sort((a, b) => a - b);
  const next = times.find((time) => time > now + 1e-3);
  play(false);
  if (next === undefined) status.textContent = `No later ${kind === "holds" ? "hold" : "decision"}.`;
  else go(next, `${kind === "holds" ? "Hold" : "Decision"} at ${next.toFixed(2)} s.`);
}

player.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  if (button.dataset.play !== undefined) play(!playing);
  if (button.dataset.step) step(Number(button.dataset.step));
  if (button.dataset.jump) jump(button.dataset.jump);
});
slider.addEventListener("input", () => { if (playing) play(false); go(Number(slider.value)); });
for (const box of document.querySelectorAll("[data-tracks]")) {
  box.addEventListener("pointerdown", (event) => {
    const strip = event.target.closest("svg");
    if (!strip) return;
    const size = strip.getBoundingClientRect();
    const run = runs[box.closest("[data-lane]").dataset.lane];
    play(false);
    go(run.duration_s * (event.clientX - size.left) / size.width);
  });
}
draw();
