// Plays the recorded packets. Times are microseconds from the begin of the span.

const recording = JSON.parse(document.getElementById("recording").textContent);
const { nodes, links, flows, packets, length } = recording;
const count = packets.link.length;
const [ON_ITS_WAY, ARRIVED, DROPPED, LOST] = [0, 1, 2, 3];
const [DATA, ACK, AGAIN] = [0, 1, 2];
const PALETTE = ["#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#999933", "#882255", "#44AA99", "#AA4499"];
const FLASH_MS = 350; // on the reader's clock
const element = id => document.getElementById(id);
const colour = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// When each packet begins to move, and when it is gone: a queue transmits one after another.
const start = new Float64Array(count), end = new Float64Array(count);
{
  const free = new Float64Array(links.length).fill(-Infinity);
  const { link, entered, departs, left } = packets;
  const order = Array.from({ length: count }, (_, index) => index).sort((a, b) => (departs[a] ?? Infinity) - (departs[b] ?? Infinity));
  for (const packet of order) {
    end[packet] = left[packet] ?? (departs[packet] ?? Infinity) + links[link[packet]].delay;
    start[packet] = departs[packet] === null ? end[packet] : Math.min(Math.max(entered[packet], free[link[packet]]), end[packet]);
    free[link[packet]] = departs[packet] ?? Infinity;
  }
}

// Which packets are somewhere in each part of the span, so that a frame looks at few.
const PARTS = 400;
const parts = Array.from({ length: PARTS }, () => []);
const speeds = [1, 10, 30, 100, 300, 1000, 3000];
const part = time => Math.min(PARTS - 1, Math.max(0, Math.floor(time / length * PARTS)));
for (let packet = 0; packet < count; packet++) {
  // A flash lasts on the reader's clock; at full speed that is the longest of the run's time.
  const last = end[packet] + (packets.fate[packet] >= DROPPED ? FLASH_MS * 1000 : 0);
  for (let at = part(packets.entered[packet]); at <= part(last); at++) parts[at].push(packet);
}

// Slow enough to follow one round trip, fast enough to see the whole span within a minute.
let slowness = speeds.find(speed => length / 1e6 * speed >= 20) ?? speeds.at(-1);
let now = 0, playing = false, before = 0;
// The flow with the most data in the span: others may not have begun, or may have ended.
const sent = flows.map(() => 0);
for (let packet = 0; packet < count; packet++) if (packets.kind[packet] !== ACK) sent[packets.flow[packet]]++;
let chosen = sent.indexOf(Math.max(...sent));

const speed = element("speed"), seek = element("seek"), play = element("play"), flow = element("flow");
speed.append(...speeds.map(value => new Option(value === 1 ? "real time" : `${value} times`, value)));
speed.value = slowness;
flow.append(...flows.map((one, index) => new Option(one.name, index)));
if (chosen >= 0) flow.value = chosen;
element("receiver").hidden = chosen < 0;

function canvas(id, height) {
  const target = element(id), context = target.getContext("2d"), ratio = window.devicePixelRatio || 1;
  const width = target.clientWidth;
  target.style.height = `${height(width)}px`;
  target.width = Math.round(width * ratio);
  target.height = Math.round(height(width) * ratio);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return { context, width, height: height(width) };
}

let map, sequence, place, theme;
const wide = Math.max(...nodes.map(node => node.x)), tall = Math.max(...nodes.map(node => node.y));

function measure() {
  const margin = 46;
  map = canvas("map", width => Math.max(180, Math.min(560, (width - 2 * margin) * tall / (wide || 1) + 2 * margin)));
  sequence = canvas("sequence", () => 220);
  const scale = Math.min((map.width - 2 * margin) / (wide || 1), tall ? (map.height - 2 * margin) / tall : Infinity);
  const left = (map.width - wide * scale) / 2, bottom = (map.height + tall * scale) / 2;
  place = nodes.map(node => [left + node.x * scale, bottom - node.y * scale]);
  theme = Object.fromEntries(["ink", "soft", "track", "ack", "again", "late", "queue", "gone", "line"].map(name => [name, colour(`--${name}`)]));
  drawn = lines();
}

// Each direction of a link lies on its own side, as traffic drives on the right.
let drawn;
function lines() {
  return links.map(link => {
    const [x, y] = place[link.src], [toX, toY] = place[link.dst];
    const size = Math.hypot(toX - x, toY - y) || 1;
    const across = [-(toY - y) / size, (toX - x) / size];
    return { x: x + 4 * across[0], y: y + 4 * across[1], dx: toX - x, dy: toY - y, size, across };
  });
}

function drawMap() {
  const { context } = map;
  context.clearRect(0, 0, map.width, map.height);
  context.lineWidth = 1;
  context.strokeStyle = theme.track;
  context.beginPath();
  for (const line of drawn) {
    context.moveTo(line.x, line.y);
    context.lineTo(line.x + line.dx, line.y + line.dy);
  }
  context.stroke();
  const waiting = new Uint32Array(links.length);
  const flash = FLASH_MS * 1000 / slowness;
  const crosses = [];
  let moving = 0;
  for (const packet of parts[part(now)]) {
    if (packets.entered[packet] > now) continue;
    const line = drawn[packets.link[packet]], kind = packets.kind[packet], fate = packets.fate[packet];
    if (fate === DROPPED) {
      if (now - end[packet] <= flash && now >= end[packet]) crosses.push([line.x, line.y]);
      continue;
    }
    if (now < start[packet]) {
      waiting[packets.link[packet]]++;
      continue;
    }
    if (now > end[packet]) {
      if (fate === LOST && now - end[packet] <= flash) crosses.push([line.x + line.dx, line.y + line.dy]);
      continue;
    }
    const share = (now - start[packet]) / (end[packet] - start[packet] || 1);
    moving++;
    context.globalAlpha = chosen < 0 || packets.flow[packet] === chosen ? 1 : 0.3;
    context.fillStyle = kind === ACK ? theme.ack : kind === AGAIN ? theme.again : PALETTE[packets.flow[packet] % PALETTE.length];
    context.beginPath();
    context.arc(line.x + line.dx * share, line.y + line.dy * share, kind === ACK ? 2 : 4, 0, 2 * Math.PI);
    context.fill();
  }
  context.globalAlpha = 1;
  context.font = "11px system-ui, sans-serif";
  context.textAlign = "center";
  links.forEach((_, index) => {
    if (waiting[index] === 0) return;
    const line = drawn[index], size = Math.min(2.2 * waiting[index], 0.45 * line.size);
    const x = line.x + 7 * line.across[0], y = line.y + 7 * line.across[1];
    context.strokeStyle = theme.queue;
    context.lineWidth = 5;
    context.beginPath();
    context.moveTo(x, y);
    context.lineTo(x + line.dx / line.size * size, y + line.dy / line.size * size);
    context.stroke();
    context.fillStyle = theme.ink;
    context.fillText(waiting[index], x + 14 * line.across[0] + line.dx / line.size * 10, y + 14 * line.across[1] + line.dy / line.size * 10 + 4);
  });
  context.strokeStyle = theme.gone;
  context.lineWidth = 2;
  for (const [x, y] of crosses) {
    context.beginPath();
    context.arc(x, y, 9, 0, 2 * Math.PI);
    context.stroke();
  }
  context.fillStyle = theme.soft;
  for (const [x, y] of place) {
    context.beginPath();
    context.arc(x, y, 4, 0, 2 * Math.PI);
    context.fill();
  }
  if (nodes.length <= 60) {
    context.fillStyle = theme.ink;
    nodes.forEach((node, index) => context.fillText(node.name, place[index][0], place[index][1] - 12));
  }
  document.body.dataset.moving = moving;
  document.body.dataset.waiting = waiting.reduce((sum, one) => sum + one, 0);
  document.body.dataset.gone = crosses.length;
}

// What the chosen flow's receiver sees: arrivals at its node, and the ACKs that it sends.
let arrivals = [], acks = [];
function select(index) {
  chosen = index;
  arrivals = [];
  acks = [];
  if (chosen < 0) return;
  const { dst } = flows[chosen];
  for (let packet = 0; packet < count; packet++) {
    if (packets.flow[packet] !== chosen) continue;
    const link = links[packets.link[packet]];
    if (packets.kind[packet] === ACK) {
      if (link.src === dst) acks.push([packets.entered[packet], packets.segment[packet]]);
    } else if (link.dst === dst && packets.fate[packet] === ARRIVED) {
      arrivals.push([packets.left[packet], packets.segment[packet], packets.kind[packet]]);
    }
  }
  arrivals.sort((a, b) => a[0] - b[0]);
  acks.sort((a, b) => a[0] - b[0]);
  let greatest = -1;
  for (const arrival of arrivals) {
    arrival.push(arrival[1] < greatest);
    greatest = Math.max(greatest, arrival[1]);
  }
}

function drawSequence() {
  const { context, width, height } = sequence;
  context.clearRect(0, 0, width, height);
  if (arrivals.length === 0) {
    element("state").textContent = "No segment of this flow arrives in this span.";
    return;
  }
  const [left, right, top, bottom] = [58, 12, 12, 26];
  const values = [...arrivals.map(one => one[1]), ...acks.map(one => one[1])];
  const least = values.reduce((a, b) => Math.min(a, b)), most = values.reduce((a, b) => Math.max(a, b));
  const x = time => left + time / length * (width - left - right);
  const y = segment => height - bottom - (segment - least) / (most - least || 1) * (height - top - bottom);
  context.fillStyle = theme.soft;
  context.font = "11px system-ui, sans-serif";
  context.textAlign = "right";
  context.fillText(least, left - 6, y(least));
  context.fillText(most, left - 6, y(most) + 8);
  context.textAlign = "center";
  context.fillText(`${(recording.from).toPrecision(4)} s`, left, height - 8);
  context.fillText(`${(recording.from + length / 1e6).toPrecision(4)} s`, width - right - 14, height - 8);
  context.textAlign = "left";
  context.fillText("segment", left + 8, top + 4);
  let expected = null;
  context.strokeStyle = theme.ink;
  context.lineWidth = 1.2;
  context.beginPath();
  for (const [time, segment] of acks) {
    if (time > now) break;
    if (expected === null) context.moveTo(x(time), y(segment));
    else {
      context.lineTo(x(time), y(expected));
      context.lineTo(x(time), y(segment));
    }
    expected = segment;
  }
  if (expected !== null) context.lineTo(x(now), y(expected));
  context.stroke();
  const beyond = new Set();
  let seen = 0, late = 0;
  for (const [time, segment, kind, overtaken] of arrivals) {
    const past = time <= now;
    context.globalAlpha = past ? 1 : 0.12;
    context.fillStyle = kind === AGAIN ? theme.again : overtaken ? theme.late : PALETTE[chosen % PALETTE.length];
    context.fillRect(x(time) - 1.5, y(segment) - 1.5, 3, 3);
    if (!past) continue;
    seen++;
    late += overtaken && kind === DATA;
    if (expected !== null && segment > expected) beyond.add(segment);
  }
  context.globalAlpha = 1;
  context.strokeStyle = theme.gone;
  context.lineWidth = 1;
  context.beginPath();
  context.moveTo(x(now), top);
  context.lineTo(x(now), height - bottom);
  context.stroke();
  element("state").textContent = expected === null
    ? `${seen} segments have arrived in this span.`
    : `Expects segment ${expected}. ${beyond.size} ${beyond.size === 1 ? "segment waits" : "segments wait"} beyond a hole. Of ${seen} arrivals in this span ${late} had been overtaken.`;
  document.body.dataset.beyond = beyond.size;
  document.body.dataset.late = late;
}

function draw() {
  drawMap();
  if (chosen >= 0) drawSequence();
  seek.value = now;
  element("clock").textContent = `${(recording.from + now / 1e6).toFixed(4)} s`;
  document.body.dataset.now = Math.round(now);
}

function frame(at) {
  if (!playing) return;
  now = Math.min(length, now + (at - before) * 1000 / slowness);
  before = at;
  draw();
  if (now >= length) stop();
  else requestAnimationFrame(frame);
}

function begin() {
  if (now >= length) now = 0;
  playing = true;
  play.textContent = "Pause";
  play.setAttribute("aria-pressed", "true");
  requestAnimationFrame(at => {
    before = at;
    frame(at);
  });
}

function stop() {
  playing = false;
  play.textContent = "Play";
  play.setAttribute("aria-pressed", "false");
}

const go = time => {
  now = Math.min(length, Math.max(0, time));
  draw();
};
play.addEventListener("click", () => (playing ? stop() : begin()));
seek.addEventListener("input", () => go(Number(seek.value)));
// A step is a thirtieth of a second on the reader's clock.
element("step").addEventListener("click", () => go(now + 33_000 / slowness));
element("back").addEventListener("click", () => go(now - 33_000 / slowness));
speed.addEventListener("change", () => {
  slowness = Number(speed.value);
  draw();
});
flow.addEventListener("change", () => {
  select(Number(flow.value));
  draw();
});
for (const event of ["resize", "beforeprint"]) {
  window.addEventListener(event, () => {
    measure();
    draw();
  });
}
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  measure();
  draw();
});

select(chosen);
measure();
draw();
document.documentElement.dataset.player = "ready";
