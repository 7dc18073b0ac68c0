// Filters, choices and keys; everything is drawn once a screen's frame, whatever happened before it.

const KEYS = [
  ["j ↓, k ↑", "next, previous row"], ["PgDn, PgUp", "a screen on, back"], ["Home g, End G", "first, last row"],
  ["Enter", "open the row"], ["]  [", "next, previous finding"], ["p", "the request of this row's pull"],
  ["/", "search; :123 goes to line 123"], ["x", "unfold the row, or fold it again"], ["u", "fold runs and answers, or nothing"], ["f", "only rows with findings, or all"], ["+  -  0", "the time axis nearer, further, whole"],
  ["Esc", "close, then show all again"], ["?", "these keys"],
];

const asked = new Set();
function later(draw) {
  if (!asked.size) {
    requestAnimationFrame(() => {
      const draws = [...asked];
      asked.clear();
      draws.forEach((each) => each());
    });
  }
  asked.add(draw);
}

// Chooses a row; one that the filters hide is shown by taking them away.
function choose(row, open = shown.open) {
  if (row < 0 || row >= total) return;
  let place = placeOf(shown.order, row);
  if (shown.order[place] !== row) {
    if (headOf(row) === row) clearFilters();
    for (let head = headOf(row); head !== row; head = headOf(row)) unfold(head);
    place = placeOf(shown.order, row);
  }
  shown.chosen = row;
  shown.open = open;
  reveal(place);
  follow(secondsOf(row));
  if (open) showFrame(row);
  else showTrace();
  later(drawLadder);
  later(drawTimeline);
}

const place = () => (shown.chosen < 0 ? -1 : placeOf(shown.order, shown.chosen));

function step(by) {
  if (!shown.order.length) return;
  const next = shown.chosen < 0 ? (by > 0 ? 0 : shown.order.length - 1) : place() + by;
  choose(shown.order[Math.max(0, Math.min(shown.order.length - 1, next))]);
}

const first = () => choose(shown.order[0] ?? -1);
const last = () => choose(shown.order.at(-1) ?? -1);

function nextFinding(by) {
  const here = shown.chosen;
  const found = by > 0 ? rowsWithFindings.find((row) => row > here) : rowsWithFindings.findLast((row) => row < here);
  if (found !== undefined) choose(found, true);
}

function goToTime(seconds, pull) {
  if (pull && pull.row >= 0) choose(pull.row, true);
  else if (total) choose(headOf(Math.min(total - 1, placeOf(rows.at, seconds * 1e6))));
}

// ---------------------------------------------------------------------------------------------- filters

let lowered;

function filter() {
  const words = state.text.toLowerCase();
  lowered ??= words ? rows.words.map((each) => each.toLowerCase()) : undefined;
  const kept = [];
  for (let row = 0; row < total; row++) {
    if (state.conn && connOf(row) !== state.conn) continue;
    if (state.finding) {
      const found = findingsAt.get(row);
      if (!found || (state.finding !== "*" && !found.some((each) => each.rule === state.finding))) continue;
    }
    if (words && !lowered[row].includes(words)) continue;
    kept.push(row);
  }
  shown.order = Int32Array.from(fold(kept));
  byId("space").style.height = `${wholeHeight() + HEADS}px`;
  const all = kept.length === total;
  byId("count").textContent = all ? many(total, "row") : `${number(kept.length)} of ${many(total, "row")}`;
  layLanes();
  layTimeline();
  later(drawLadder);
  later(drawTimeline);
}

function setFilters(wished) {
  Object.assign(state, wished);
  byId("search").value = state.text;
  byId("by-finding").value = state.finding;
  byId("by-conn").value = state.conn;
  filter();
  byId("space").style.height = `${wholeHeight() + HEADS}px`;
  const here = place();
  if (here >= 0 && shown.order[here] === shown.chosen) reveal(here);
  else ladder.scrollTop = 0;
}

const clearFilters = () => setFilters({ text: "", finding: "", conn: "" });

function option(value, text) {
  return element("option", { value, textContent: text });
}

byId("by-finding").append(option("", "All rows"), option("*", "Rows with findings"),
  ...Object.entries(data.rules).map(([rule, { counted }]) => option(rule, `${rule} (${number(counted)})`)));
byId("by-conn").append(option("", "All links"), ...data.conns.filter(Boolean).map((conn) => option(conn, `Link ${conn}`)));
byId("by-finding").disabled = !data.findings.length;
byId("by-conn").hidden = data.conns.filter(Boolean).length < 2;
byId("by-finding").addEventListener("change", (event) => setFilters({ finding: event.target.value }));
byId("by-conn").addEventListener("change", (event) => setFilters({ conn: event.target.value }));
byId("search").addEventListener("input", (event) => {
  const line = /^:(\d+)$/.exec(event.target.value.trim());
  if (line) choose(Math.min(total - 1, rowOfLine(Number(line[1]))));
  else if (!event.target.value.startsWith(":")) setFilters({ text: event.target.value });
});
byId("filters").addEventListener("submit", (event) => event.preventDefault());

// ---------------------------------------------------------------------------------------------- keys

const onScreen = () => Math.max(1, Math.floor(viewHeight() / ROW) - 2);
const middle = () => (shown.chosen < 0 ? (zoom.from + zoom.to) / 2 : secondsOf(shown.chosen));
const half = () => (zoom.to - zoom.from) / 2;

function escape() {
  if (shown.open) {
    shown.open = false;
    showTrace();
  } else if (state.text || state.finding || state.conn) clearFilters();
  else if (shown.chosen >= 0) {
    shown.chosen = -1;
    later(drawLadder);
    later(drawTimeline);
  }
  ladder.focus({ preventScroll: true });
}

const PRESSED = {
  j: () => step(1), ArrowDown: () => step(1), k: () => step(-1), ArrowUp: () => step(-1),
  PageDown: () => step(onScreen()), PageUp: () => step(-onScreen()),
  Home: first, g: first, End: last, G: last,
  Enter: () => choose(shown.chosen < 0 ? shown.order[0] ?? -1 : shown.chosen, true),
  "]": () => nextFinding(1), "[": () => nextFinding(-1),
  p: () => choose(pulls.get(rows.pull[shown.chosen])?.row ?? -1, true),
  "/": () => byId("search").select(),
  x: () => canFold(shown.chosen) && unfold(shown.chosen),
  u: () => { folding.on = !folding.on; folding.unfolded.clear(); folding.apart.clear(); filter(); if (shown.chosen >= 0) choose(headOf(shown.chosen)); },
  f: () => setFilters({ finding: state.finding ? "" : "*" }),
  "+": () => zoomTo(middle() - half() / 2, middle() + half() / 2), "-": () => zoomTo(middle() - half() * 2, middle() + half() * 2),
  0: () => zoomTo(0, END), Escape: escape, "?": () => byId("keys").showModal(),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || byId("keys").open) return;
  const typing = /^(INPUT|SELECT)$/.test(event.target.tagName);
  if (event.target === byId("search") && ["Enter", "ArrowDown"].includes(event.key)) {
    ladder.focus({ preventScroll: true });
    if (shown.chosen < 0 || shown.order[place()] !== shown.chosen) first();
  } else if (typing && event.key !== "Escape") return;
  else if (event.target.tagName === "BUTTON" && event.key === "Enter") return;
  else if (Object.hasOwn(PRESSED, event.key)) {
    if (event.key === "Escape" && event.target === byId("search")) shown.open = shown.open && !state.text;
    PRESSED[event.key]();
  } else return;
  event.preventDefault();
});

byId("help").addEventListener("click", () => byId("keys").showModal());
byId("keys").append(element("h2", { textContent: "Keys" }), element("table", {}, element("tbody", {}, ...KEYS.map(([key, does]) =>
  element("tr", {}, element("th", {}, element("kbd", { textContent: key })), element("td", { textContent: does }))))));
byId("keys").addEventListener("click", () => byId("keys").close());

// ---------------------------------------------------------------------------------------------- the beginning

const servers = [...new Set(data.links.map((link) => link.server).filter(Boolean))];
const clients = [...new Set(data.links.map((link) => link.client).filter(Boolean))];
document.querySelector("#about p").textContent = [
  data.about.scenario, data.about.description, clients.join(", "), servers.length ? `server ${servers.join(", ")}` : "",
  many(data.links.length, "link"), `${clock(END, 3)} s`, data.left_out ? `${number(data.left_out)} more rows are not shown` : "",
].filter(Boolean).join("  ·  ");

new ResizeObserver(() => { later(drawLadder); later(drawTimeline); }).observe(ladder);
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { later(drawLadder); later(drawTimeline); });
// The page opens where something is wrong: at the first finding, or where a link was first silent or lost.
const opening = rowsWithFindings[0] ?? allTroubles[0]?.row;
filter();
showTrace();
byId("space").style.height = `${wholeHeight() + HEADS}px`;
if (opening !== undefined) reveal(placeOf(shown.order, headOf(opening)));
drawLadder();
drawTimeline();
ladder.focus({ preventScroll: true });
document.documentElement.dataset.ready = Math.round(performance.now());
