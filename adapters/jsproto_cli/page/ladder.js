// The ladder: the rows that are in sight, however many there are, with lifelines, arrows and the pulls that run beside them.

// Heights as in page.css.
const ROW = 24;
const HEADS = 26;

const ladder = byId("ladder");
const ladderCanvas = document.querySelector("#window canvas");
const SIDES = { ">": "client", "<": "server", "!": "application", "=": "event", ".": "event" };

// What is shown: the rows that pass the filters, in order, and the one that is chosen.
const shown = { order: Int32Array.from({ length: total }, (_, row) => row), chosen: -1, open: false };

// What the filters ask for: words, a rule or * for any, a connection.
const state = { text: "", finding: "", conn: "" };

const pool = [];
const LANES = () => Math.max(1, Math.floor((parseFloat(colours["--lanes"]) - 8) / 8));
let lanes = [];

function layLanes() {
  const wanted = data.pulls.filter((pull) => !state.conn || pull.conn === state.conn);
  lanes = inLanes(wanted, (pull) => pull.row, (pull) => pull.end + 1, LANES());
}

const viewHeight = () => ladder.clientHeight - HEADS;
const wholeHeight = () => shown.order.length * ROW;

// Brings a place into sight, with some rows around it; in the middle if it was far away.
function reveal(place) {
  const top = place * ROW;
  const height = viewHeight();
  const from = ladder.scrollTop;
  if (top >= from + ROW && top + 2 * ROW <= from + height) return;
  const near = Math.abs(top - from - height / 2) < height;
  if (!near) ladder.scrollTop = top - height / 2;
  else if (top < from + ROW) ladder.scrollTop = top - 2 * ROW;
  else ladder.scrollTop = top + 3 * ROW - height;
}

function newRow() {
  const cells = ["line", "time", "conn", "words", "tag"].map((name) => element("span", { className: name }));
  cells.forEach((cell) => cell.setAttribute("role", "gridcell"));
  const made = element("div", {}, ...cells);
  made.setAttribute("role", "row");
  byId("rows").append(made);
  return { made, cells };
}

function drawLadder() {
  const { order, chosen } = shown;
  byId("space").style.height = `${wholeHeight() + HEADS}px`;
  byId("empty").hidden = order.length > 0;
  ladder.setAttribute("aria-rowcount", order.length);
  const from = ladder.scrollTop;
  const first = Math.floor(from / ROW);
  const height = viewHeight();
  const count = Math.max(0, Math.min(Math.ceil(height / ROW) + 1, order.length - first));
  while (pool.length < count) pool.push(newRow());
  const own = chosen >= 0 ? rows.pull[chosen] : -1;
  pool.forEach(({ made, cells }, at) => {
    made.hidden = at >= count;
    if (made.hidden) return;
    const row = order[first + at];
    const found = findingsAt.get(row);
    const trouble = troublesAt.get(row);
    const classes = ["row", folding.runs.has(row) ? "run" : "", SIDES[rows.way[row]], found ? severityAt(row) : trouble ? "warning" : ""];
    if (row === chosen) classes.push("chosen");
    else if (own >= 0 && rows.pull[row] === own) classes.push("own");
    made.className = classes.join(" ");
    made.style.top = `${(first + at) * ROW - from}px`;
    made.dataset.row = row;
    made.id = `row-${row}`;
    made.setAttribute("aria-rowindex", first + at + 1);
    made.setAttribute("aria-selected", row === chosen);
    const texts = [number(rows.line[row]), clock(secondsOf(row)), connOf(row), wordsOf(row)];
    texts.push(folding.runs.has(row) ? "▸ unfold" : folding.unfolded.has(row) ? "▾ fold" : found ? found[0].rule + (found.length > 1 ? ` +${found.length - 1}` : "") : trouble ? `${trouble.what} for ${brief(trouble.to - trouble.from)}` : "");
    cells.forEach((cell, place) => (cell.textContent = texts[place]));
  });
  if (chosen >= 0) ladder.setAttribute("aria-activedescendant", `row-${chosen}`);
  else ladder.removeAttribute("aria-activedescendant");
  drawBeside(order, first, count, from, height, own);
}

// Lanes of pulls, lifelines and arrows stand on one canvas, between the times and the words.
function drawBeside(order, first, count, from, height, own) {
  const heads = byId("heads").children;
  const left = heads[3].offsetLeft;
  const lifelines = heads[4];
  const width = lifelines.offsetLeft + lifelines.offsetWidth - left;
  ladderCanvas.style.left = `${left}px`;
  const pen = sharp(ladderCanvas, width, height);
  const bottom = Math.min(height, count * ROW - (from - first * ROW));
  const lines = [0.12, 0.5, 0.9].map((part) => lifelines.offsetLeft - left + part * lifelines.offsetWidth);
  pen.strokeStyle = colours["--rule"];
  pen.beginPath();
  lines.forEach((x) => (pen.moveTo(Math.round(x) + 0.5, 0), pen.lineTo(Math.round(x) + 0.5, bottom)));
  pen.stroke();
  for (let at = 0; at < count; at++) {
    const row = order[first + at];
    const top = (first + at) * ROW - from;
    drawPulls(pen, row, top, own, order[first + at - 1] ?? -1, order[first + at + 1] ?? total);
    drawArrows(pen, row, top + ROW / 2, lines);
  }
}

// A bar is closed where the row above or below, which may be far away in the trace, is none of its time.
function drawPulls(pen, row, top, own, above, below) {
  lanes.forEach((lane, place) => {
    let low = 0;
    let high = lane.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (lane[middle].row < below) low = middle;
      else high = middle - 1;
    }
    const pull = lane[low];
    if (!pull || pull.row >= below || pull.end < row) return;
    const begins = above < pull.row;
    const ends = below > pull.end;
    pen.fillStyle = colours[pull.number === own ? "--edge" : colourOf(pull)];
    pen.beginPath();
    const round = (yes) => (yes ? 2.5 : 0);
    pen.roundRect(place * 8 + 1, top + (begins ? 5 : 0), 5, ROW - (begins ? 5 : 0) - (ends ? 5 : 0), [
      round(begins), round(begins), round(ends), round(ends),
    ]);
    pen.fill();
  });
}

// A row with its answer has two arrows; one that stands for a run has thick ones.
function drawArrows(pen, row, y, lines) {
  const answer = folding.merged.get(row);
  pen.lineWidth = folding.runs.has(row) ? 3 : 1;
  drawArrow(pen, row, answer === undefined ? y : y - 4, lines);
  if (answer !== undefined) drawArrow(pen, answer, y + 4, lines);
  pen.lineWidth = 1;
}

function drawArrow(pen, row, y, [application, client, server]) {
  const way = rows.way[row];
  const link = kindOf(row) === "link";
  pen.strokeStyle = pen.fillStyle = colours[`--${SIDES[way]}`];
  const ends = { ">": [client, server], "<": [server, client], "!": [application, client], "=": link ? [client, server] : [client, application] };
  if (!ends[way] || !connOf(row)) {
    // Something of the world outside: no side has said it.
    pen.fillRect(client - 2.5, y - 2.5, 5, 5);
    return;
  }
  const [start, end] = ends[way];
  const heading = Math.sign(end - start);
  if (way === "=") pen.setLineDash([2, 3]);
  pen.beginPath();
  pen.moveTo(start, y);
  pen.lineTo(end - 3 * heading, y);
  pen.stroke();
  pen.setLineDash([]);
  if (link) {
    pen.fillRect(client - 3, y - 3, 6, 6);
    pen.fillRect(server - 3, y - 3, 6, 6);
  } else {
    pen.beginPath();
    pen.moveTo(end, y);
    pen.lineTo(end - 7 * heading, y - 3.5);
    pen.lineTo(end - 7 * heading, y + 3.5);
    pen.fill();
  }
}

ladder.addEventListener("scroll", () => later(drawLadder), { passive: true });
ladder.addEventListener("click", (event) => {
  const row = event.target.closest(".row");
  if (!row) return;
  const number = Number(row.dataset.row);
  if (event.target.matches(".tag") && (folding.runs.has(number) || folding.unfolded.has(number))) unfold(number);
  else choose(number, true);
});
