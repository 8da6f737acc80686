// Follows one gate: the newest image, verdict and reason of each camera, the predicted loss of the last minute.
"use strict";

const PAUSE_MS = 500, RETRY_MS = 3000, MINUTE_S = 60, WIDTH = 600, HEIGHT = 80, TICK = 12;
const STALE_S = 2;
const SVG = "http://www.w3.org/2000/svg";
const cameras = document.querySelector("[data-cameras]");
const shape = document.querySelector("[data-camera]");
const boxes = new Map();

function say(name, words, root = document) {
  const item = root.querySelector(`[data-${name}]`);
  if (item.textContent !== words) item.textContent = words;
}

function boxOf(view) {
  if (!boxes.has(view)) {
    cameras.append(shape.content.cloneNode(true));
    const box = cameras.lastElementChild;
    say("view", view, box);
    box.querySelector("[data-image]").alt = `Newest image of the ${view} camera`;
    boxes.set(view, box);
  }
  return boxes.get(view);
}

function line(name, values) {
  const item = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(values)) item.setAttribute(key, value);
  return item;
}

function scaleOf(values, isLoss) {
  const [low, high] = isLoss || !values.length ? [0, 1] : [Math.min(...values), Math.max(...values)];
  return { low, high: high > low ? high : low + 1 };
}

function plot(box, view, points, threshold, isLoss) {
  const drawing = box.querySelector("[data-plot]");
  const known = points.filter((point) => point[2] !== null), values = known.map((point) => point[2]);
  const { low, high } = scaleOf(threshold === null ? values : [...values, threshold], isLoss);
  const part = (value) => Math.min(1, Math.max(0, (value - low) / (high - low)));
  const x = (age) => (WIDTH * (1 - age / MINUTE_S)).toFixed(1), y = (value) => (HEIGHT * (1 - part(value))).toFixed(1);
  const parts = points.filter((point) => point[1] !== "PASS")
    .map((point) => line("path", { d: `M${x(point[0])} ${HEIGHT + 4}v${TICK}`, "stroke-width": 2 }));
  if (threshold !== null) parts.push(line("path", { d: `M0 ${y(threshold)}H${WIDTH}`, "stroke-dasharray": "6 4" }));
  const track = known.map((point) => `${x(point[0])},${y(point[2])}`).join(" ");
  parts.push(line("polyline", { points: track, "stroke-width": 2, "data-track": "" }));
  drawing.replaceChildren(...parts);
  const name = isLoss ? "Predicted loss" : "Metric, higher is worse,";
  say("scale", `${name} of the last minute, from ${+low.toPrecision(3)} to ${+high.toPrecision(3)}`, box);
  const held = points.filter((point) => point[1] !== "PASS").length;
  drawing.setAttribute("aria-label", `${view}: ${points.length} images in the last minute, ${held} did not pass`);
}

function unpredicted(points) {
  const held = points.filter((point) => point[1] !== "PASS").length;
  return `No loss was predicted in the last minute: the judge of statistics predicts none. Images that did not pass: ${held} of ${points.length}.`;
}

function forget(verdict, reason) {
  say("verdict", verdict);
  say("reason", reason);
  for (const box of boxes.values()) {
    say("view-verdict", "", box);
    say("view-reason", "", box);
    box.querySelector("[data-image]").hidden = true;
  }
}

function headOf(answer, isStale) {
  if (answer.age_s > STALE_S) return `No observation for ${answer.age_s.toFixed(0)} s`;
  const silent = Object.keys(answer.gate.views).filter(isStale);
  if (!silent.length) return answer.gate.verdict;
  const held = answer.gate.verdict === "PASS" ? "" : `${answer.gate.verdict}; `;
  return `${held}no new image of ${silent.join(", ")}`;
}

function show(answer) {
  if (answer.gate === null) { forget("Waiting for the first observation", ""); return; }
  const ageOf = (view) => answer.cameras[view]?.age_s ?? answer.age_s;
  const isStale = (view) => ageOf(view) > STALE_S;
  say("verdict", headOf(answer, isStale));
  say("mode", `mode: ${answer.gate.mode}; observations: ${answer.answered}`);
  say("reason", answer.gate.reason);
  for (const [view, camera] of Object.entries(answer.cameras)) {
    const box = boxOf(view), judged = answer.gate.views[view];
    const image = box.querySelector("[data-image]");
    if (camera.image?.startsWith("data:image/png;base64,") && image.src !== camera.image) image.src = camera.image;
    image.hidden = !camera.image;
    image.classList.toggle("stale", isStale(view));
    say("view-verdict", isStale(view) ? `no new image for ${ageOf(view).toFixed(0)} s` : judged ? judged.verdict : "", box);
    say("view-reason", judged ? judged.reason : "", box);
    const value = judged ? judged.value : null;
    // what the newest image has no value of stays what it was: a loss, or the value of a metric
    if (value !== null) box.dataset.isLoss = answer.gate.expected_loss !== null;
    const isLoss = box.dataset.isLoss !== "false";
    const predicts = camera.points.some((point) => point[2] !== null);
    const shown = value !== null ? `${isLoss ? "Predicted loss" : "Metric"} ${value.toFixed(3)}`
      : predicts ? "No prediction for the newest image." : unpredicted(camera.points);
    say("prediction", shown, box);
    box.querySelector("[data-chart]").hidden = !predicts;
    if (predicts) plot(box, view, camera.points, judged ? judged.threshold : null, isLoss);
  }
}

async function watch() {
  let pause = PAUSE_MS;
  if (!document.hidden) {
    try {
      const reply = await fetch("/gate/live");
      if (!reply.ok) throw new Error(reply.statusText);
      const answer = await reply.json();
      if (answer.silent) { forget("The gate does not answer", answer.silent); pause = RETRY_MS; }
      else show(answer);
    } catch { forget("The studio does not answer", ""); pause = RETRY_MS; }
  }
  setTimeout(watch, pause);
}

watch();
