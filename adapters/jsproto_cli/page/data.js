// The data of the page: columns are unpacked at once, blocks when somebody stops at one of their frames.

const byId = (id) => document.getElementById(id);

async function unpack(base64) {
  const packed = atob(base64);
  const bytes = new Uint8Array(packed.length);
  for (let at = 0; at < packed.length; at++) bytes[at] = packed.charCodeAt(at);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).json();
}

const data = await unpack(byId("columns").textContent);
const rows = data.rows;
const total = rows.way.length;

let packedBlocks;
const openBlocks = new Map();

// The fields and the bytes of one row; the block stays open for its neighbours.
async function details(row) {
  packedBlocks ??= byId("blocks").textContent.split("\n");
  const number = Math.floor(row / data.block);
  if (!openBlocks.has(number)) {
    if (openBlocks.size > 8) openBlocks.clear();
    openBlocks.set(number, unpack(packedBlocks[number]));
  }
  const [fields, text] = (await openBlocks.get(number))[row % data.block];
  return { fields, text };
}

const secondsOf = (row) => rows.at[row] / 1e6;
const connOf = (row) => data.conns[rows.conn[row]];
const kindOf = (row) => data.kinds[rows.kind[row]];
const standingOf = (row) => data.standings[rows.standing[row]];

// What was so before a row: how its link stood behind the row of that link before it.
function standingBefore(row) {
  for (let at = row - 1; at >= 0; at--) {
    if (rows.conn[at] === rows.conn[row] && rows.standing[at] >= 0) return standingOf(at);
  }
  return undefined;
}

const findingsAt = new Map();
data.findings.forEach(([row, rule, words]) => {
  if (!findingsAt.has(row)) findingsAt.set(row, []);
  findingsAt.get(row).push({ rule, words, ...data.rules[rule] });
});
const rowsWithFindings = [...findingsAt.keys()].sort((a, b) => a - b);
const severityAt = (row) =>
  findingsAt.get(row)?.reduce((worst, each) => (each.severity === "error" ? "error" : worst), "warning");

// The row of the answer of each row that has one; the last one if it has several.
const answers = new Map();
rows.pair.forEach((asked, row) => { if (asked >= 0) answers.set(asked, row); });

const pulls = new Map(data.pulls.map((pull) => [pull.number, pull]));
const WELL = new Set(["FILLED", "BYTES_SPENT"]);
const QUIET = new Set(["EXPIRED", "NO_MESSAGES", "REQUESTS_PENDING", "UNSUBSCRIBED", "CLOSED", "DEADLINE"]);
const colourOf = (pull) =>
  pull.fate === "OPEN" ? "--open" : WELL.has(pull.fate) ? "--filled" : QUIET.has(pull.fate) ? "--ended" : "--bad";

// What was wrong with the links over time: no link between two of one connection, and silence of the server while a pull of
// the connection waited that it owes heartbeats, for longer than two of them.
function troubles() {
  const up = data.standing.indexOf("up");
  const found = [];
  const heard = new Map();
  const down = new Map();
  const beating = new Map();
  const least = new Map();
  for (const pull of data.pulls) {
    if (!pull.heartbeat) continue;
    if (!beating.has(pull.conn)) beating.set(pull.conn, []);
    beating.get(pull.conn).push(pull);
    least.set(pull.conn, Math.min(pull.heartbeat, least.get(pull.conn) ?? Infinity));
  }
  const silence = (conn, row, to) => {
    if (!heard.has(conn)) return;
    const said = heard.get(conn);
    if (to - said.at <= 2 * (least.get(conn) ?? Infinity)) return;
    // Pulls of one connection stand in the order of their times: nearly always the last one is asked about.
    const waiting = (beating.get(conn) ?? []).findLast((pull) => pull.at < to && Math.min(pull.until, to) - Math.max(pull.at, said.at) > 2 * pull.heartbeat);
    if (waiting) found.push({ what: "silent", conn, row: said.row, from: Math.max(said.at, waiting.at), to, beat: waiting.heartbeat });
  };
  for (let row = 0; row < total; row++) {
    const conn = connOf(row);
    const at = secondsOf(row);
    const stands = standingOf(row);
    if (rows.way[row] === "<" || (stands && !stands[up])) {
      silence(conn, row, at);
      heard.set(conn, { at, row });
    }
    if (!stands) continue;
    if (!stands[up]) {
      heard.delete(conn);
      if (!down.has(conn)) down.set(conn, { at, row });
    } else if (down.has(conn)) {
      const lost = down.get(conn);
      found.push({ what: "no link", conn, row: lost.row, from: lost.at, to: at, beat: 0 });
      down.delete(conn);
    }
  }
  const end = Math.max(data.seconds, total ? secondsOf(total - 1) : 0);
  [...heard.keys()].forEach((conn) => silence(conn, total - 1, end));
  return found.sort((one, other) => one.from - other.from);
}
const allTroubles = troubles();
const troublesAt = new Map(allTroubles.map((each) => [each.row, each]));

// Lays intervals beside each other: each gets the first lane that is free; those that find none are left out.
function inLanes(intervals, begin, end, most) {
  const lanes = [];
  for (const each of intervals) {
    let lane = lanes.findIndex((taken) => end(taken[taken.length - 1]) <= begin(each));
    if (lane < 0 && lanes.length < most) lane = lanes.push([]) - 1;
    if (lane >= 0) lanes[lane].push(each);
  }
  return lanes;
}

// The first place in a sorted column that is not below a value.
function placeOf(column, value, count = column.length) {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (column[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

const number = (value) => value.toLocaleString("en");
const clock = (seconds, digits = 6) => seconds.toFixed(digits);
const many = (count, word) => `${number(count)} ${word}${count === 1 ? "" : "s"}`;

// An element with text and children; text is never read as HTML.
function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children.filter((child) => child !== undefined && child !== null));
  return made;
}

// A canvas as sharp as the screen; gives its pen and its size in CSS pixels.
function sharp(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  return pen;
}

let colours = {};
function readColours() {
  const style = getComputedStyle(document.documentElement);
  colours = new Proxy({}, { get: (_, name) => style.getPropertyValue(name).trim() });
}
readColours();
