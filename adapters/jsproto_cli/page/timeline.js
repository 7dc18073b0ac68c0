// The time axis: what was asked for and has not come, in messages and bytes; pulls as bars; findings as marks above them.

const timeline = document.querySelector("#timeline canvas");
const GUTTER = 112;
const BYTES = data.standing.indexOf("bytes");
// Where nobody pulls, what was pushed and not settled is what is pending.
const PULLED = data.pulls.length > 0;
const MESSAGES = data.standing.indexOf(PULLED ? "messages" : "unsettled");
const NAME = PULLED ? "messages pending" : "unsettled";
const END = Math.max(data.seconds, total ? secondsOf(total - 1) : 0, 1e-3);
const zoom = { from: 0, to: END };
let series = { rows: [], messages: [], bytes: [], most: 0, mostBytes: 0 };
let drag;

// The bound over time: how many messages each reader asks for at most, while it has a pull open. In a trace without pulls: how many
// deliveries of all consumers may be unsettled (max_ack_pending).
function layBound() {
  if (!PULLED) {
    const limit = Object.values(data.limits).reduce((sum, each) => sum + each, 0);
    return limit ? [{ at: 0, value: limit }] : [];
  }
  const steps = [];
  for (const pull of data.pulls) {
    if (!pull.bound || (state.conn && pull.conn !== state.conn)) continue;
    const reader = `${pull.conn} ${pull.consumer}`;
    steps.push({ at: pull.at, reader, open: 1, bound: pull.bound }, { at: pull.until, reader, open: -1, bound: pull.bound });
  }
  steps.sort((one, other) => one.at - other.at || other.open - one.open);
  const readers = new Map();
  let value = 0;
  return steps.map(({ at, reader, open, bound }) => {
    const before = readers.get(reader) ?? { open: 0, bound: 0 };
    const now = { open: before.open + open, bound: open > 0 ? bound : before.bound };
    value += (now.open ? now.bound : 0) - (before.open ? before.bound : 0);
    readers.set(reader, now);
    return { at, value };
  });
}

// What is pending over time: the sum over the links, or one of them.
function layTimeline() {
  const now = data.conns.map(() => [0, 0]);
  series = { rows: [], messages: [], bytes: [], most: 0, mostBytes: 0 };
  let messages = 0;
  let bytes = 0;
  for (let row = 0; row < total; row++) {
    const stands = standingOf(row);
    if (!stands || (state.conn && connOf(row) !== state.conn)) continue;
    const before = now[rows.conn[row]];
    messages += stands[MESSAGES] - before[0];
    bytes += stands[BYTES] - before[1];
    now[rows.conn[row]] = [stands[MESSAGES], stands[BYTES]];
    series.rows.push(row);
    series.messages.push(messages);
    series.bytes.push(bytes);
    series.most = Math.max(series.most, messages);
    series.mostBytes = Math.max(series.mostBytes, bytes);
  }
  series.at = series.rows.map(secondsOf);
  series.bound = layBound();
  series.mostBound = series.bound.reduce((most, each) => Math.max(most, each.value), 0);
  series.troubles = allTroubles.filter((each) => !state.conn || each.conn === state.conn);
  byId("timeline").setAttribute("aria-description", series.troubles.map(troubleWords).join("; "));
  const wanted = data.pulls.filter((pull) => !state.conn || pull.conn === state.conn);
  series.lanes = inLanes(wanted, (pull) => pull.at, (pull) => pull.until, 12);
}

const timelineWidth = () => byId("timeline").clientWidth;
const xOf = (seconds) => GUTTER + ((seconds - zoom.from) / (zoom.to - zoom.from)) * (timelineWidth() - GUTTER - 12);
const secondsAt = (x) => zoom.from + ((x - GUTTER) / (timelineWidth() - GUTTER - 12)) * (zoom.to - zoom.from);

function drawTimeline() {
  const width = timelineWidth();
  const height = byId("timeline").clientHeight;
  const pen = sharp(timeline, width, height);
  pen.font = `11px ${colours["--sans"]}`;
  const marks = 14;
  const axis = 20;
  const room = height - marks - axis;
  const bytesRoom = series.mostBytes ? Math.round(room * 0.22) : 0;
  const pullsRoom = Math.min(Math.round(room * 0.34), Math.max(18, 9 * series.lanes.length + 6));
  const messagesRoom = room - bytesRoom - pullsRoom;
  let top = marks;
  drawAxis(pen, width, height - axis, marks);
  const most = Math.max(series.most, series.mostBound * 1.1);
  drawSteps(pen, series.messages, series.most, top, messagesRoom - 6, NAME, "--area", "--edge", most);
  drawBound(pen, top, messagesRoom - 6, most);
  top += messagesRoom;
  if (bytesRoom) drawSteps(pen, series.bytes, series.mostBytes, top, bytesRoom - 6, "bytes pending", "--bytes", "--bytes-edge");
  drawTroubles(pen, marks, height - axis);
  top += bytesRoom;
  drawBars(pen, top, pullsRoom - 4);
  drawMarks(pen, marks);
  if (shown.chosen >= 0) drawCursor(pen, secondsOf(shown.chosen), height - axis);
  if (drag && drag.now !== drag.from) {
    pen.fillStyle = colours["--edge"];
    pen.globalAlpha = 0.16;
    pen.fillRect(Math.min(drag.from, drag.now), 0, Math.abs(drag.now - drag.from), height - axis);
    pen.globalAlpha = 1;
  }
}

function label(pen, text, y, colour = "--soft") {
  pen.fillStyle = colours[colour];
  pen.textAlign = "right";
  pen.fillText(text, GUTTER - 8, y, GUTTER - 12);
}

function drawAxis(pen, width, y, top) {
  const span = zoom.to - zoom.from;
  const wish = span / Math.max(2, (width - GUTTER) / 110);
  const power = 10 ** Math.floor(Math.log10(wish));
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= wish);
  const digits = Math.max(0, Math.min(6, -Math.floor(Math.log10(step))));
  pen.strokeStyle = colours["--rule"];
  pen.fillStyle = colours["--soft"];
  pen.textAlign = "center";
  for (let at = Math.ceil(zoom.from / step) * step; at <= zoom.to; at += step) {
    const x = Math.round(xOf(at)) + 0.5;
    pen.beginPath();
    pen.moveTo(x, top);
    pen.lineTo(x, y);
    pen.stroke();
    pen.fillText(`${at.toFixed(digits)} s`, Math.min(x, width - 24), y + 14);
  }
}

// One number over time as steps; of all that falls on one pixel the most is drawn.
function drawSteps(pen, values, most, top, height, name, fill, edge, scale = most) {
  label(pen, name, top + 10);
  label(pen, most ? `≤ ${short(most)}` : "none", top + 23);
  if (!most) return;
  const right = timelineWidth() - 12;
  const yOf = (value) => top + height - (value / scale) * height;
  const first = Math.max(0, placeOf(series.at, zoom.from) - 1);
  const path = [];
  let x = -1;
  let highest = 0;
  let last = first > 0 || series.at[0] <= zoom.from ? values[first] : 0;
  path.push([GUTTER, last]);
  for (let at = first; at < values.length && series.at[at] <= zoom.to; at++) {
    const here = Math.max(GUTTER, Math.round(xOf(series.at[at])));
    if (here !== x) {
      if (x >= 0) path.push([x, highest], [x + 1, last]);
      x = here;
      highest = last;
    }
    highest = Math.max(highest, values[at]);
    last = values[at];
  }
  if (x >= 0) path.push([x, highest], [Math.min(x + 1, right), last]);
  path.push([right, last]);
  const trace = () => {
    let before = path[0][1];
    pen.moveTo(path[0][0], yOf(before));
    path.forEach(([at, value]) => {
      pen.lineTo(at, yOf(before));
      pen.lineTo(at, yOf(value));
      before = value;
    });
  };
  pen.beginPath();
  trace();
  pen.lineTo(right, top + height);
  pen.lineTo(GUTTER, top + height);
  pen.fillStyle = colours[fill];
  pen.fill();
  pen.beginPath();
  trace();
  pen.strokeStyle = colours[edge];
  pen.lineWidth = 1.25;
  pen.stroke();
  pen.lineWidth = 1;
}

// The bound is a dashed line; what is pending above it was asked for in excess.
function drawBound(pen, top, height, most) {
  if (!series.mostBound) return;
  label(pen, `bound ${short(series.mostBound)}`, top + 36, "--bound");
  const yOf = (value) => Math.round(top + height - (value / most) * height) + 0.5;
  const right = timelineWidth() - 12;
  pen.strokeStyle = colours["--bound"];
  pen.setLineDash([5, 3]);
  pen.lineWidth = 1.5;
  pen.beginPath();
  let last = 0;
  series.bound.forEach(({ at, value }, place) => {
    const from = Math.max(GUTTER, xOf(at));
    const to = Math.min(right, xOf(series.bound[place + 1]?.at ?? END));
    if (value && to > from && to - last >= 0.5) (pen.moveTo(from, yOf(value)), pen.lineTo(to, yOf(value)), (last = to));
  });
  pen.stroke();
  pen.setLineDash([]);
  pen.lineWidth = 1;
}

function drawBars(pen, top, height) {
  label(pen, "pulls", top + 10);
  const lane = Math.max(3, Math.min(9, Math.floor(height / Math.max(1, series.lanes.length))));
  const own = shown.chosen >= 0 ? rows.pull[shown.chosen] : -1;
  series.laneHeight = lane;
  series.barsTop = top;
  series.lanes.slice(0, Math.floor(height / lane)).forEach((each, place) => {
    let filledTo = -1;
    for (const pull of each) {
      if (pull.until < zoom.from || pull.at > zoom.to) continue;
      const from = Math.max(GUTTER, xOf(pull.at));
      const to = Math.min(timelineWidth() - 12, Math.max(from + 1.5, xOf(pull.until) - 1));
      if (to <= filledTo && pull.number !== own) continue;
      filledTo = Math.max(filledTo, to);
      pen.fillStyle = colours[pull.number === own ? "--edge" : colourOf(pull)];
      pen.fillRect(from, top + place * lane, to - from, lane - 1.5);
    }
  });
}

const troubleWords = ({ what, conn, from, to, beat }) =>
  `${conn}: ${what} from ${clock(from, 3)} s to ${clock(to, 3)} s${beat ? `, ${many(Math.floor((to - from) / beat), "heartbeat")} missed` : ""}`;

// Silence and lost links lie over what is pending; heartbeats that did not come are ticks at its foot.
function drawTroubles(pen, top, bottom) {
  for (const { what, from, to, beat } of series.troubles) {
    if (to < zoom.from || from > zoom.to) continue;
    const left = Math.max(GUTTER, xOf(from));
    const right = Math.min(timelineWidth() - 12, Math.max(left + 2, xOf(to)));
    pen.fillStyle = colours[beat ? "--error" : "--event"];
    pen.globalAlpha = beat ? 0.14 : 0.28;
    pen.fillRect(left, top, right - left, bottom - top);
    pen.globalAlpha = 1;
    const apart = beat ? xOf(from + beat) - xOf(from) : 0;
    for (let at = from + beat; apart > 3 && at < to; at += beat) if (xOf(at) >= left && xOf(at) <= right) pen.fillRect(xOf(at) - 0.5, bottom - 7, 1.5, 7);
    pen.textAlign = "left";
    if (right - left > 44) pen.fillText(what, left + 4, top + 10, right - left - 8);
  }
}

function drawMarks(pen, height) {
  const total = data.findings.length;
  label(pen, total ? many(total, "finding") : "no finding", 11, total ? "--ink" : "--soft");
  for (const severity of ["warning", "error"]) {
    pen.fillStyle = colours[`--${severity}`];
    let taken = -9;
    for (const row of rowsWithFindings) {
      const at = secondsOf(row);
      if (severityAt(row) !== severity || at < zoom.from || at > zoom.to) continue;
      const x = xOf(at);
      if (x - taken < 2) continue;
      taken = x;
      pen.beginPath();
      pen.moveTo(x - 4, 3);
      pen.lineTo(x + 4, 3);
      pen.lineTo(x, height - 3);
      pen.fill();
    }
  }
}

function drawCursor(pen, seconds, height) {
  if (seconds < zoom.from || seconds > zoom.to) return;
  pen.strokeStyle = colours["--ink"];
  pen.beginPath();
  pen.moveTo(Math.round(xOf(seconds)) + 0.5, 0);
  pen.lineTo(Math.round(xOf(seconds)) + 0.5, height);
  pen.stroke();
}

function short(value) {
  const steps = [[1e9, "G"], [1e6, "M"], [1e4, "k"]];
  const step = steps.find(([size]) => value >= size);
  return step ? `${(value / (step[1] === "k" ? 1e3 : step[0])).toFixed(1).replace(/\.0$/, "")} ${step[1]}` : number(value);
}

function tell(x, y) {
  const seconds = Math.min(Math.max(secondsAt(x), 0), END);
  const at = placeOf(series.at, seconds + 1e-9) - 1;
  const lines = [`${clock(seconds)} s`, `${number(at < 0 ? 0 : series.messages[at])} ${NAME}`];
  const bound = series.bound[placeOf(series.bound.map((each) => each.at), seconds + 1e-9) - 1]?.value;
  if (bound) lines.push(`${number(bound)} is the bound`);
  if (series.mostBytes) lines.push(`${number(at < 0 ? 0 : series.bytes[at])} bytes pending`);
  series.troubles.filter((each) => each.from <= seconds && seconds <= each.to).forEach((each) => lines.push(troubleWords(each)));
  const pull = pullAt(seconds, y);
  if (pull) lines.push(`pull of line ${pull.line}: ${pull.got} of ${pull.batch}, ${fateWords(pull)}`);
  const tip = byId("tip");
  tip.textContent = lines.join("\n");
  tip.hidden = false;
  tip.style.left = `${x + 14 + tip.offsetWidth > timelineWidth() ? x - 14 - tip.offsetWidth : x + 14}px`;
}

function pullAt(seconds, y) {
  const lane = series.lanes[Math.floor((y - series.barsTop) / series.laneHeight)];
  return y >= series.barsTop ? lane?.find((pull) => pull.at <= seconds && seconds <= pull.until) : undefined;
}

function zoomTo(from, to) {
  const least = 1e-5;
  zoom.from = Math.max(0, Math.min(from, END - least));
  zoom.to = Math.min(END, Math.max(to, zoom.from + least));
  later(drawTimeline);
}

// Moves what is seen of the time axis so that a time is in it.
function follow(seconds) {
  const half = (zoom.to - zoom.from) / 2;
  if (seconds < zoom.from || seconds > zoom.to) zoomTo(Math.max(0, Math.min(seconds - half, END - 2 * half)), Math.min(END, Math.max(seconds + half, 2 * half)));
}

timeline.addEventListener("pointerdown", (event) => {
  timeline.setPointerCapture(event.pointerId);
  drag = { from: event.offsetX, now: event.offsetX };
});
timeline.addEventListener("pointermove", (event) => {
  if (drag) drag.now = event.offsetX;
  tell(event.offsetX, event.offsetY);
  if (drag) later(drawTimeline);
});
timeline.addEventListener("pointerup", (event) => {
  const { from, now } = drag;
  drag = undefined;
  if (Math.abs(now - from) > 4) zoomTo(secondsAt(Math.min(from, now)), secondsAt(Math.max(from, now)));
  else goToTime(secondsAt(event.offsetX), pullAt(secondsAt(event.offsetX), event.offsetY));
});
timeline.addEventListener("pointerleave", () => (byId("tip").hidden = true));
timeline.addEventListener("dblclick", () => zoomTo(0, END));
timeline.addEventListener("wheel", (event) => {
  event.preventDefault();
  const middle = secondsAt(event.offsetX);
  const factor = event.deltaY > 0 ? 1.25 : 0.8;
  zoomTo(middle - (middle - zoom.from) * factor, middle + (zoom.to - middle) * factor);
}, { passive: false });
