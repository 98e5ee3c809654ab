// The calls of libraries on the timeline: a row for each depth above the thread's system
// calls, outer calls on top.

// spanColors are the colours of what a call is for.
const spanColors = {
  open: 'submit', close: 'submit', read: 'read', write: 'write', sync: 'sync', metadata: 'metadata', query: 'metadata',
  send: 'communication', receive: 'communication', collective: 'collective', wait: 'waiting', setup: 'other',
};

// spanColor returns the name of the colour of a kind; layers of users can have others.
const spanColor = kind => spanColors[kind] || 'compute';

// maxLevels is how many rows the calls of a thread have, and fewLevels where there are many
// threads. Deeper calls are in the last row.
const maxLevels = 8;
const fewLevels = 3;

// decodeSpans returns the calls of libraries by thread, each list in the order of their
// starts: {start, seconds, own, name, kind, failed, file (null for none), bytes (-1 for
// unknown), depth (0 for an outermost call)}. Times are seconds.
async function decodeSpans(from) {
  const [starts, nanos, inner, threads, functions, files, bytes] = await unpacked(from.data, 7, from.count);
  const byThread = new Map(from.threads.map(thread => [thread, []]));
  const open = new Map(from.threads.map(thread => [thread, []])); // calls around the next one
  let start = 0;
  for (let i = 0; i < from.count; i++) {
    start += starts[i];
    const thread = from.threads[threads[i] - 1];
    const around = open.get(thread);
    while (around.length > 0 && (around.at(-1) <= start || around.at(-1) < start + nanos[i])) around.pop();
    const f = from.functions[Math.abs(functions[i]) - 1];
    byThread.get(thread).push({
      start: start / 1e9, seconds: nanos[i] / 1e9, own: (nanos[i] - inner[i]) / 1e9, name: f.name, kind: f.kind, failed: functions[i] < 0,
      file: files[i] > 0 ? from.files[files[i] - 1] : null, bytes: bytes[i], depth: around.length,
    });
    around.push(start + nanos[i]);
  }
  return byThread;
}

// spanText says what a call of a library did.
function spanText(span) {
  const what = [span.name + (span.file === null ? '' : ' ' + span.file), 'took ' + seconds(span.seconds)];
  if (span.own < span.seconds) what.push('own ' + seconds(span.own));
  if (span.bytes >= 0) what.push('asked for ' + bytes(span.bytes));
  if (span.failed) what.push('failed');
  return `${seconds(span.start)}: ${what.join(', ')}`;
}

// readable returns the colour of text on a colour #rrggbb.
function readable(background) {
  const [r, g, b] = [1, 3, 5].map(i => parseInt(background.slice(i, i + 2), 16) / 255);
  return 0.3 * r + 0.59 * g + 0.11 * b > 0.55 ? '#1b1f24' : '#ffffff';
}

// spanRows are the rows of calls of libraries of a timeline. They belong to lanes: objects
// with thread, first and short, the cells of short calls.
function spanRows(run, columnSeconds) {
  const from = run.library_calls;
  let calls = new Map(); // by thread, once they are decoded
  let height = 0; // of a row, in CSS pixels
  let most = 0; // rows of calls
  let hidden = false;

  const decodedOf = lane => calls.get(lane.thread) || [];
  const hasShort = lane => lane.short.length > 0;
  const depthOf = lane => decodedOf(lane).reduce((a, span) => Math.max(a, span.depth + 1), 0);
  const deepest = new Map(); // by thread

  // levels returns how many rows a lane has: those of its calls, and one for short calls.
  function levels(lane) {
    if (!from || hidden || lane.thread === undefined || lane.requests) return 0;
    return levelsOfCalls(lane) + (hasShort(lane) ? 1 : 0);
  }

  function levelsOfCalls(lane) {
    return Math.min(deepest.get(lane.thread) || 0, most);
  }

  function at(lane, level, begin, stop) {
    const last = levelsOfCalls(lane) - 1;
    return callsIn(decodedOf(lane), begin, stop).filter(span => Math.min(span.depth, last) === level);
  }

  // shortAt returns the short calls of a column, [kind, part of the column] each.
  function shortAt(lane, column) {
    return (lane.short[column - lane.first] || []).map(([k, part]) => [from.kinds[k], part]);
  }

  // draw draws the rows of a lane from top on. x returns the place of a time.
  function draw(c, lane, top, x, begin, stop) {
    const count = levelsOfCalls(lane);
    const paints = {};
    const paint = kind => paints[kind] ||= color(spanColor(kind));
    const pixels = []; // by level: calls that are narrower than a pixel
    const flush = level => {
      const p = pixels[level];
      if (!p) return;
      const [kind] = [...p.kinds].reduce((a, b) => b[1] > a[1] ? b : a);
      c.globalAlpha = Math.min(0.35 + p.width, 1);
      c.fillStyle = paint(kind);
      c.fillRect(p.left, top + level * height, 1, height - 1);
      c.globalAlpha = 1;
      pixels[level] = null;
    };
    c.textAlign = 'left';
    c.textBaseline = 'middle';
    c.font = '11px ' + color('font');
    for (const span of callsIn(decodedOf(lane), begin, stop)) {
      const level = Math.min(span.depth, count - 1);
      const left = x(Math.max(span.start, begin));
      const right = x(Math.min(span.start + span.seconds, stop));
      if (right - left < 1) {
        const pixel = Math.floor(left);
        if (pixels[level]?.left !== pixel) flush(level);
        const p = pixels[level] ||= {left: pixel, width: 0, kinds: new Map()};
        p.width += right - left;
        p.kinds.set(span.kind, (p.kinds.get(span.kind) || 0) + span.seconds);
        continue;
      }
      c.fillStyle = paint(span.kind);
      c.fillRect(left, top + level * height, Math.max(right - left - (right - left > 3 ? 0.75 : 0), 1), height - 1);
      if (height < 11 || right - left < 24) continue;
      const name = span.name.slice(span.name.indexOf(':') + 1);
      if (c.measureText(name).width > right - left - 6) continue;
      c.fillStyle = readable(paint(span.kind));
      c.fillText(name, left + 3, top + level * height + height / 2);
    }
    for (let level = 0; level < count; level++) flush(level);
    lane.short.forEach((cell, k) => {
      const [left, right] = [0, 1].map(i => (lane.first + k + i) * columnSeconds);
      if (left >= stop || right <= begin) return;
      let low = top + (count + 1) * height - 1;
      for (const [kind, part] of shortAt(lane, lane.first + k)) {
        const high = Math.max(part * (height - 1), 1);
        c.fillStyle = paint(kind);
        c.fillRect(Math.floor(x(left)), low -= high, Math.max(Math.ceil(x(right)) - Math.floor(x(left)), 1), high);
      }
    });
  }

  // tell says what is at a place: a call, or the short calls of a column.
  function tell(lane, level, span, column) {
    if (span) return spanText(span);
    if (level < levelsOfCalls(lane)) return 'no call of a library';
    const parts = shortAt(lane, column);
    if (parts.length === 0) return 'no short call of a library';
    return `calls of libraries shorter than ${seconds(from.least_seconds)}: ${parts.map(([kind, part]) => `${kind} ${percent(part)} of the time`).join(', ')}`;
  }

  return {
    levels, at, draw, tell,
    any: Boolean(from),
    height: () => height,
    fit(lanes) { // sets the heights for so many lanes
      const many = lanes > 16 || isPrinting();
      height = many ? 8 : 14;
      most = many ? fewLevels : maxLevels;
    },
    toggle() { hidden = !hidden; return !hidden; },
    kinds: lanes => { // [colour, kinds] each
      const some = new Set([...calls.values()].flatMap(list => list.map(span => span.kind)));
      for (const lane of lanes) for (const cell of lane.short) for (const [k] of cell) some.add(from.kinds[k]);
      const known = [...new Set([...Object.keys(spanColors), ...some])].filter(kind => some.has(kind));
      return [...Map.groupBy(known, spanColor)];
    },
    note: () => from && !hidden && from.least_seconds > 0 ? ` Calls of libraries shorter than ${seconds(from.least_seconds)} are sums, in the lowest of these rows.` : '',
    async load(lanes) {
      calls = await decodeSpans(from);
      for (const lane of lanes) deepest.set(lane.thread, depthOf(lane));
    },
  };
}
