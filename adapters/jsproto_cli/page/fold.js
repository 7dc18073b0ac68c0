// Which rows stand for others: a request for its answer, and the first of a run of rows that are alike for all of them.

// A run is folded if it has this many rows, with at most this many seconds from one to the next.
const LEAST_RUN = 3;
const LONGEST_PAUSE = 1;

// heads: for each row the row that is shown for it. runs: folded runs by their first row. merged: answers by the row of their request.
// unfolded and apart: runs and requests that the user has unfolded.
const folding = { on: true, heads: new Int32Array(total), runs: new Map(), merged: new Map(), unfolded: new Set(), apart: new Set() };

// What rows of one run have in common; numbers may differ.
const shapes = new Map();
function shapeOf(row) {
  if (!shapes.has(row)) shapes.set(row, [rows.kind[row], rows.conn[row], rows.way[row], rows.pull[row], rows.words[row].replace(/\d+/g, "0")].join(" "));
  return shapes.get(row) + answers.has(row);
}

// The rows that are left of these when answers stand beside what they answer, and runs are one row each.
function fold(kept) {
  folding.heads.forEach((_, row) => (folding.heads[row] = row));
  folding.runs.clear();
  folding.merged.clear();
  if (!folding.on || state.text || state.finding) return kept;
  const paired = kept.filter((row) => {
    const asked = rows.pair[row];
    if (asked < 0 || answers.get(asked) !== row || findingsAt.has(row) || folding.apart.has(asked)) return true;
    folding.merged.set(asked, row);
    folding.heads[row] = asked;
    return false;
  });
  // A run belongs to one link; rows of other links between its rows do not end it.
  const going = new Map();
  for (const row of paired) {
    if (folding.apart.has(rows.pair[row])) continue;
    const conn = rows.conn[row];
    const run = going.get(conn);
    const folds = "<>".includes(rows.way[row]) && !findingsAt.has(row) && !troublesAt.has(row);
    if (run?.folds && folds && shapeOf(row) === shapeOf(run.rows[0]) && secondsOf(row) - secondsOf(run.rows.at(-1)) <= LONGEST_PAUSE) run.rows.push(row);
    else {
      if (run) close(run.rows);
      going.set(conn, { folds, rows: [row] });
    }
  }
  going.forEach((run) => close(run.rows));
  return paired.filter((row) => folding.heads[row] === row);
}

function close(run) {
  if (run.length < LEAST_RUN || folding.unfolded.has(run[0])) return;
  folding.runs.set(run[0], { count: run.length, last: run.at(-1) });
  run.forEach((row) => (folding.heads[row] = run[0]));
}

// The row that is shown for a row.
const headOf = (row) => folding.heads[folding.heads[row]];
const canFold = (row) => [folding.runs, folding.merged, folding.unfolded, folding.apart].some((each) => each.has(row));

// What a row says: how many it stands for, what answered it, and how its pull ended.
function wordsOf(row) {
  const run = folding.runs.get(row);
  const answer = folding.merged.get(row);
  const pull = kindOf(row) === "pull" ? pulls.get(rows.pull[row]) : undefined;
  const words = [rows.words[row]];
  const span = run ? secondsOf(run.last) - secondsOf(row) : 0;
  if (run) words.unshift(`${number(run.count)} times ${span ? `in ${brief(span)}` : "at once"}`);
  else if (pull) words.unshift(`${number(pull.got)} of ${number(pull.batch)}, ${fateWords(pull)}`);
  if (answer !== undefined) words.push(`${run ? "each with" : `after ${brief(secondsOf(answer) - secondsOf(row))}`} ${rows.words[answer]}`);
  return words.join("  ·  ");
}

// A time in few digits.
const brief = (seconds) => (seconds < 1 ? `${Number((seconds * 1000).toPrecision(3))} ms` : `${Number(seconds.toPrecision(3))} s`);

// Shows all rows that a row stands for, or folds them again.
function unfold(row) {
  const unfolded = folding.runs.has(row) || folding.unfolded.has(row) ? folding.unfolded : folding.apart;
  if (!unfolded.delete(row)) unfolded.add(row);
  filter();
}
