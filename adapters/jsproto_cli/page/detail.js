// What stands beside the ladder: one frame with all that is known of it, or the findings of the whole trace.

const detail = byId("detail");
const STANDING = {
  up: "link is up", subscriptions: "subscriptions", requests: "requests waiting", pulls: "pulls open", messages: "messages pending",
  bytes: "bytes pending", unsettled: "deliveries unsettled", questions: "flow control unanswered", pings: "PINGs unanswered",
};
const WAYS = { ">": "client to server", "<": "server to client", "!": "application", "=": "event", ".": "time" };
let asHex = false;

const FATES = { DISCONNECTED: "its link ended", OPEN: "still open at the end", DEADLINE: "its time was up", UNSUBSCRIBED: "no longer listened to", UNHEARD: "nobody listened" };
const fateWords = (pull) => FATES[pull.fate] ?? pull.fate.toLowerCase().replaceAll("_", " ");

const lasting = (seconds) => (seconds < 1 ? `${clock(seconds * 1000, 3)} ms` : `${clock(seconds, 3)} s`);

function jump(text, row) {
  return element("button", { type: "button", textContent: text, onclick: () => choose(row, true) });
}

const rowOfLine = (line) => placeOf(rows.line, line);

// Text in which every line of the trace that it names can be jumped to.
function withLines(text) {
  return text.split(/(line \d+)/).map((part) => {
    const line = /^line (\d+)$/.exec(part);
    const row = line ? rowOfLine(Number(line[1])) : total;
    return line && rows.line[row] === Number(line[1]) ? jump(part, row) : part;
  });
}

async function showFrame(row) {
  const { fields, text } = await details(row);
  if (row !== shown.chosen) return;
  const pull = pulls.get(rows.pull[row]);
  const size = rows.size[row] ? `, ${many(rows.size[row], "byte")}` : "";
  detail.replaceChildren(
    element("h2", { textContent: kindOf(row) }),
    element("p", { className: "where", textContent: `line ${number(rows.line[row])} at ${clock(secondsOf(row))} s, ${WAYS[rows.way[row]]}${connOf(row) ? ` on ${connOf(row)}` : ""}${size}` }),
    element("p", { className: "said", textContent: rows.words[row] }),
    ...(findingsAt.get(row) ?? []).map(oneFinding),
    ...meaningOf(fields),
    ...pairOf(row),
    ...(pull ? pullCard(pull) : []),
    ...standings(row),
    ...bytesOf(text),
  );
  detail.scrollTop = 0;
}

function oneFinding(each) {
  return element("div", { className: `finding ${each.severity}` },
    element("p", {}, element("strong", { textContent: each.rule }), " ", each.severity),
    element("p", {}, ...withLines(each.words)),
    element("p", { className: "clause", textContent: each.clause }),
    element("p", { textContent: each.right }),
  );
}

function meaningOf(fields) {
  const named = Object.entries(fields);
  if (!named.length) return [];
  const lines = named.map(([name, value]) => {
    const row = / line$/.test(name) || name.endsWith("of line") ? rowOfLine(value) : total;
    const told = typeof value === "number" ? number(value) : value === true ? "yes" : String(value);
    const cell = rows.line[row] === value ? jump(told, row) : told;
    return element("tr", {}, element("th", { scope: "row", textContent: name }), element("td", {}, cell));
  });
  return [heading("Meaning"), element("table", {}, element("tbody", {}, ...lines))];
}

// What answers a row, and how long it took.
function pairOf(row) {
  const answer = answers.get(row);
  if (answer === undefined) return [];
  return [heading("Answer"), element("p", {}, jump(`line ${number(rows.line[answer])}`, answer), ` after ${lasting(secondsOf(answer) - secondsOf(row))}: ${rows.words[answer]}`)];
}

const heading = (text, ...more) => element("h3", {}, text, ...more);

function pullCard(pull) {
  const part = Math.min(1, pull.got / pull.batch);
  const bar = element("i");
  bar.style.width = `${100 * part}%`;
  const size = pull.max_bytes ? ` and ${number(pull.max_bytes)} bytes` : "";
  const first = pull.row >= 0 ? jump(`line ${number(pull.line)}`, pull.row) : `line ${number(pull.line)}`;
  const last = Math.min(pull.end, total - 1);
  return [
    heading("Pull"),
    element("p", {}, `${number(pull.got)} of ${number(pull.batch)}${size} from ${pull.consumer}`),
    element("div", { className: "bar" }, bar),
    element("p", { className: "where" }, "asked in ", first, ", ", jump(fateWords(pull), last),
      `${pull.status ? ` (${pull.status})` : ""} after ${lasting(pull.until - pull.at)}`),
  ];
}

function standings(row) {
  const after = standingOf(row);
  if (!after) return [];
  const before = standingBefore(row);
  const lines = data.standing.map((name, place) => {
    const changed = before && before[place] !== after[place];
    return element("tr", { className: changed ? "changed" : "same" },
      element("th", { scope: "row", textContent: STANDING[name] ?? name }),
      element("td", { textContent: before ? number(before[place]) : "" }),
      element("td", { textContent: number(after[place]) }),
    );
  });
  const head = element("tr", {}, ...[`of ${connOf(row)}`, "before", "after"].map((text) => element("th", { scope: "col", textContent: text })));
  return [heading("State"), element("table", { className: "numbers" }, element("thead", {}, head), element("tbody", {}, ...lines))];
}

// ---------------------------------------------------------------------------------------------- bytes

// The escapes of the trace format, back into bytes; a stretch that was not kept counts as none.
function bytesFrom(text) {
  const bytes = [];
  for (const [part] of text.matchAll(/\\x[0-9a-f]{2}|\\\{[^}]*\}|\\.|[^\\]/gs)) {
    if (part.startsWith("\\x")) bytes.push(parseInt(part.slice(2), 16));
    else if (part.startsWith("\\{")) continue;
    else bytes.push({ "\\r": 13, "\\n": 10, "\\t": 9, "\\\\": 92 }[part] ?? part.charCodeAt(0));
  }
  return new Uint8Array(bytes);
}

function hexOf(bytes) {
  const lines = [];
  for (let at = 0; at < bytes.length; at += 16) {
    const part = [...bytes.subarray(at, at + 16)];
    const hex = part.map((byte) => byte.toString(16).padStart(2, "0")).join(" ").padEnd(47);
    const plain = part.map((byte) => (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : "·")).join("");
    lines.push(`${at.toString(16).padStart(4, "0")}  ${hex}  ${plain}`);
  }
  return lines.join("\n");
}

// JSON in the last line of a frame, set so that it can be read; undefined if there is none.
function jsonIn(text) {
  const plain = new TextDecoder().decode(bytesFrom(text)).trimEnd();
  const start = plain.search(/[[{][^\r\n]*$/);
  try {
    return start < 0 ? undefined : JSON.stringify(JSON.parse(plain.slice(start)), null, 2);
  } catch {
    return undefined;
  }
}

function bytesOf(text) {
  if (!text) return [];
  const shownAs = element("pre", { className: asHex ? "hex" : "" });
  if (asHex) shownAs.textContent = hexOf(bytesFrom(text));
  else {
    const lines = text.split(/(\\r\\n|\\n)/);
    lines.forEach((part) => shownAs.append(/^(\\r)?\\n$/.test(part) ? element("span", { className: "end", textContent: `${part}\n` }) : part));
  }
  const flip = element("button", { type: "button", textContent: asHex ? "as text" : "as hex", onclick: () => { asHex = !asHex; showFrame(shown.chosen); } });
  const json = jsonIn(text);
  return [heading("Bytes", flip), shownAs, ...(json ? [heading("JSON"), element("pre", { textContent: json })] : [])];
}

// ---------------------------------------------------------------------------------------------- the whole trace

function showTrace() {
  const rules = Object.entries(data.rules);
  const told = new Map(rules.map(([rule]) => [rule, []]));
  data.findings.forEach(([row, rule, words]) => told.get(rule).push([row, words]));
  const counted = rules.reduce((sum, [, rule]) => sum + rule.counted, 0);
  detail.replaceChildren(
    element("h2", { textContent: counted ? `${many(counted, "finding")} of ${many(rules.length, "rule")}` : "Nothing found" }),
    element("p", { className: "where", textContent: counted ? "What a client of JetStream does otherwise." : "No rule of the lint is broken in this trace." }),
    ...rules.map(([name, rule]) => ruleCard(name, rule, told.get(name))),
    ...troubleList(),
    ...fates(),
    ...aboutTable(),
  );
  detail.scrollTop = 0;
}

function ruleCard(name, rule, told) {
  const places = told.map(([row, words]) => element("li", {}, jump(`line ${number(rows.line[row])}`, row), ` ${words}`));
  const more = rule.counted - told.length;
  return element("div", { className: `finding ${rule.severity}` },
    element("p", {}, element("strong", { textContent: name }), ` ${rule.severity}, ${number(rule.counted)} times`.replace(", 1 times", "")),
    element("p", { textContent: rule.right }),
    element("p", { className: "clause", textContent: rule.clause }),
    element("ul", {}, ...places, ...(more > 0 ? [element("li", { className: "clause", textContent: `and ${number(more)} that are not listed` })] : [])),
  );
}

function troubleList() {
  if (!allTroubles.length) return [];
  const lines = allTroubles.slice(0, 50).map((each) => element("li", {}, jump(clock(each.from, 3), each.row), ` ${troubleWords(each)}`));
  const more = allTroubles.length - lines.length;
  return [heading("Silence and lost links"), element("ul", { className: "troubles" }, ...lines, ...(more ? [element("li", { textContent: `and ${number(more)} more` })] : []))];
}

function fates() {
  const counts = new Map();
  data.pulls.forEach((pull) => counts.set(fateWords(pull), (counts.get(fateWords(pull)) ?? 0) + 1));
  if (!counts.size) return [];
  const lines = [...counts].sort((a, b) => b[1] - a[1]).map(([fate, count]) =>
    element("tr", {}, element("th", { scope: "row", textContent: fate }), element("td", { textContent: number(count) })));
  return [heading(`${many(data.pulls.length, "pull")}`), element("table", { className: "numbers" }, element("tbody", {}, ...lines))];
}

function aboutTable() {
  const links = data.links.map((link) => [`link ${link.conn}`, `${link.client || "client"} to server ${link.server || "unknown"}, from ${clock(link.at, 3)} s`]);
  const lines = [...Object.entries(data.about), ...links].map(([name, value]) =>
    element("tr", {}, element("th", { scope: "row", textContent: name }), element("td", { textContent: value })));
  return [heading("Trace"), element("table", {}, element("tbody", {}, ...lines))];
}
