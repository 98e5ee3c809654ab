// The threads over time, and the critical path on them.

// activityColors are those of the activities, in the order of the data.
const activityColors = ['read', 'write', 'sync', 'metadata', 'mapped-read', 'mapped-write', 'communication', 'submit', 'other', 'compute', 'ready', 'waiting', 'timer', 'storage'];

// words returns the cells of a lane, of which those that repeat are empty.
function words(text) {
  let before = '';
  return text.split(',').map(word => { before = word || before; return before; });
}

// partsOf returns the parts of a column by activity, [activity, part] each.
function partsOf(cell) {
  const out = [];
  for (let i = 0; cell !== '-' && i < cell.length; i += 2) out.push([cell.charCodeAt(i) - 97, parseInt(cell[i + 1], 36) / 35]);
  return out;
}

// gapParts are what a thread did between two calls: the keys of a call, and the
// activity of each. What remains is compute.
const gapParts = [['ready', 'ready'], ['wait', 'waiting'], ['timer', 'timer'], ['storage', 'storage']];

// callWidth is how wide a column is, in CSS pixels, where single calls are drawn.
const callWidth = 6;

function timelineFigure(run) {
  const t = run.timeline;
  const {column_seconds: step, activities, seconds: together} = run.thread_time_over_time;
  const end = Math.max(run.run_time_seconds, 1e-9);
  const threads = t.lanes.map(l => ({name: l.name, thread: l.thread, first: l.first, cells: words(l.cells).map(partsOf), longest: words(l.longest), short: l.short ? words(l.short).map(partsOf) : []}));
  // The path is on lanes, -1 for none. Numbers of threads can be used again, later.
  const laneOf = s => t.lanes.findLastIndex(l => l.thread === s.thread && l.first <= s.from_seconds / step + 1e-9);
  const path = run.critical_path_segments.map(s => ({lane: laneOf(s), from: s.from_seconds, to: s.to_seconds, text: s.name + (s.file ? ' ' + s.file : '')}));
  const spans = spanRows(run, step);
  // A row of all threads together comes first, where there are several.
  const all = [...(threads.length > 1 ? [{name: 'all threads', first: 0, cells: together.map(list => list.map((n, k) => [k, n]).filter(p => p[1] > 0))}] : []), ...threads];
  let lanes = all; // those that have something in what is shown
  const total = activities.map(() => 0);
  for (const l of threads) for (const c of l.cells) for (const [k, part] of c) total[k] += part;
  const compute = activities.indexOf('compute');
  let cursor = null; // row, column, and a call or a row of calls of libraries with one of these
  let calls = null; // by thread, once they are decoded

  const canvas = element('canvas', {});
  const more = t.others > 0 ? ` ${count(t.others)} more ${t.others === 1 ? 'thread has' : 'threads have'} no row: ${path.length > 0 ? 'less of the critical path was on them, and ' : ''}they were less busy.` : '';
  const remark = element('p', {class: 'note'});
  const zoom = (text, change) => element('button', {type: 'button', onclick: () => show(change(...view()))}, text);
  const parts = newFigure({
    title: 'Timeline',
    note: 'What each thread did, in columns of ' + seconds(step) + (path.length > 0 ? '. The line is the critical path: it goes to another thread where one was woken or made.' : '.') + more +
      (spans.any ? ' Above the system calls of a thread are its calls of libraries, outer ones on top. Click on one to see its time.' : '') +
      ' Drag over it to see a part of the time, down to single calls; double-click to go back.',
    controls: element('div', {class: 'controls'},
      zoom('Zoom in', (from, to) => [from + (to - from) / 4, to - (to - from) / 4]), zoom('Zoom out', (from, to) => [from - (to - from) / 2, to + (to - from) / 2]),
      zoom('Earlier', (from, to) => shifted(from, to, -1)), zoom('Later', (from, to) => shifted(from, to, 1)), zoom('Whole run', () => [0, end]),
      spans.any ? element('button', {type: 'button', class: 'spans', 'aria-pressed': 'true', onclick: event => {
        cursor = null;
        event.target.setAttribute('aria-pressed', spans.toggle());
        tell();
        draw();
      }}, 'Calls of libraries') : null),
    summary: `${threads.length} ${threads.length === 1 ? 'thread' : 'threads'}. Use the arrow keys to read the columns or calls, plus and minus to zoom, and Enter to select the thread.`,
    details: 'What is shown as a table', table,
  });
  parts.box.classList.add('heat');
  parts.box.append(canvas);
  parts.box.after(remark);
  const swatches = total.map((sum, k) => sum > 0 || run.classes[k]?.calls > 0 ? [k, element('span', {class: 'swatch'})] : null).filter(s => s);
  const line = element('span', {class: 'mark'});
  const kinds = []; // the colours of calls of libraries, with their swatches
  parts.legend.append(...swatches.map(([k, box]) => element('span', {class: 'scale'}, box, activities[k])),
    path.length > 0 ? element('span', {class: 'scale'}, line, '\u2002critical path') : '');

  // view returns the part of the run that is shown, in seconds.
  function view() {
    const {from, to} = selection.now;
    return from === undefined || from >= end ? [0, end] : [from, Math.min(to, end)];
  }

  function shifted(from, to, direction) {
    const by = Math.min(Math.max(direction * (to - from) / 2, -from), end - to);
    return [from + by, to + by];
  }

  // show zooms to a part of the run, of at least a microsecond.
  function show([from, to]) {
    const middle = (from + to) / 2;
    const half = Math.max((to - from) / 2, Math.min(5e-7, end / 2));
    [from, to] = [Math.max(middle - half, 0), Math.min(middle + half, end)];
    selection.change(from <= 0 && to >= end ? {from: null, to: null} : {from, to});
  }

  // single says whether single calls are drawn.
  function single() {
    const [from, to] = view();
    return calls !== null && step / (to - from) * frame.width >= callWidth && from < run.calls.to_seconds && to > run.calls.from_seconds;
  }

  // rowsShown returns the lanes that have something in what is shown. The requests of a
  // thread have a row of their own where single calls are drawn.
  function rowsShown() {
    const [begin, stop] = view();
    const some = all.filter(l => l.cells.some((cell, k) => cell.length > 0 && inView(l, k, begin, stop)) || Array.from({length: spans.levels(l)}).some((_, level) => spans.at(l, level, begin, stop).length > 0));
    const out = some.length > 0 ? some : all.slice(0, 1);
    if (!single()) return out;
    return out.flatMap(l => {
      const requests = {name: l.name + ' requests', thread: l.thread, first: 0, cells: [], requests: true};
      return l.thread !== undefined && shownCalls(requests).length > 0 ? [l, requests] : [l];
    });
  }

  // rowOf returns the row of a thread's lane, -1 if it has none.
  function rowOf(lane) {
    return lanes.indexOf(threads[lane]);
  }

  // shownCalls returns the calls, or the requests, of a row that are shown.
  function shownCalls(lane) {
    const list = calls.get(lane.thread) || [];
    const {file, operation} = selection.now;
    return callsIn(list, ...view()).filter(call => call.request === Boolean(lane.requests)).filter(call => (file === undefined || (call.file ?? noFile) === file) && (operation === undefined || call.operation === operation));
  }

  function table() {
    if (single()) {
      const list = lanes.flatMap(l => l.thread === undefined ? [] : shownCalls(l).map(call => [l.name, call])).sort((a, b) => b[1].seconds - a[1].seconds).slice(0, 50);
      return [['began', 'thread', 'operation', 'file', 'offset', 'result', 'time'], list.map(([name, call]) =>
        [seconds(call.start), name, call.operation, call.file ?? unknown, call.offset === null ? unknown : count(call.offset), resultText(run, call), call.seconds === null ? unknown : seconds(call.seconds)])];
    }
    const [begin, stop] = view();
    const seen = path.filter(s => s.to > begin && s.from < stop);
    if (seen.length === 0) return [['thread', ...swatches.map(([k]) => activities[k])], threads.map(l => [l.name, ...swatches.map(([k]) => seconds(spent(l, k)))])];
    const longest = [...seen].sort((a, b) => (b.to - b.from) - (a.to - a.from)).slice(0, 25).sort((a, b) => a.from - b.from);
    return [['from', 'critical path', 'thread', 'most of it'], longest.map(s =>
      [seconds(s.from), seconds(s.to - s.from), s.lane < 0 ? unknown : threads[s.lane].name, s.text])];
  }

  function spent(lane, activity) {
    const [begin, stop] = view();
    return sum(lane.cells, (c, k) => inView(lane, k, begin, stop) ? c.find(p => p[0] === activity)?.[1] ?? 0 : 0) * step;
  }

  function inView(lane, k, begin, stop) {
    const from = (lane.first + k) * step;
    return from < stop && from + step > begin;
  }

  // frame holds where the rows lie in the canvas, in CSS pixels.
  const frame = {left: 0, top: 6, width: 0, row: 0, bar: 0, tops: []};
  const x = at => {
    const [from, to] = view();
    return frame.left + (at - from) / (to - from) * frame.width;
  };
  const spansHeight = row => row < lanes.length ? spans.levels(lanes[row]) * spans.height() : 0;
  // y returns where the system calls of a row are, below its calls of libraries.
  const y = row => frame.tops[row] + spansHeight(row);

  function draw() {
    const width = parts.box.clientWidth;
    if (width === 0) return;
    lanes = rowsShown();
    frame.row = lanes.length > 16 ? (isPrinting() ? 14 : 20) : 26;
    frame.bar = frame.row - (isPrinting() ? 6 : 8);
    spans.fit(lanes.length);
    frame.tops = [frame.top];
    lanes.forEach((l, i) => frame.tops.push(frame.tops[i] + spansHeight(i) + frame.row));
    const height = frame.tops.at(-1) + 30;
    const c = sized(canvas, width, height);
    c.font = '12px ' + color('font');
    const most = width < 480 ? 90 : 170;
    frame.left = Math.ceil(Math.min(Math.max(...lanes.map(l => c.measureText(l.name).width)), most)) + 10;
    frame.width = width - frame.left - 12;
    for (const [k, box] of swatches) box.style.backgroundColor = color(activityColors[k]);
    line.style.borderTop = '3px solid ' + color('ink');

    c.textBaseline = 'middle';
    c.textAlign = 'right';
    const alone = single();
    lanes.forEach((l, i) => {
      c.fillStyle = color('muted');
      c.fillText(fitted(c, l.name, frame.left - 10), frame.left - 8, y(i) + frame.bar / 2);
    });
    c.save();
    c.beginPath();
    c.rect(frame.left, 0, frame.width, height);
    c.clip();
    lanes.forEach((l, i) => {
      // What single calls do not tell is drawn pale.
      c.globalAlpha = alone && l.thread !== undefined ? 0.3 : 1;
      drawLane(c, l, i);
      c.globalAlpha = 1;
      if (alone && l.thread !== undefined) drawCalls(c, l, i);
      if (spans.levels(l) > 0) spans.draw(c, l, frame.tops[i], x, ...view());
    });
    drawPath(c);
    drawSelection(c);
    c.restore();
    c.fillStyle = color('muted');
    c.font = '12px ' + color('font');
    const [from, to] = view();
    drawTimes(c, from, to, x, y(lanes.length) + 8, width);
    if (cursor) {
      const one = cursor.call || cursor.span;
      const [begin, stop] = one ? [one.start, one.start + one.seconds] : [cursor.column * step, (cursor.column + 1) * step];
      const [top, high] = cursor.level >= 0 ? [frame.tops[cursor.row] + cursor.level * spans.height(), spans.height() - 1] : [y(cursor.row), frame.bar];
      c.strokeStyle = color('focus');
      c.lineWidth = 2;
      c.strokeRect(x(begin) - 1, top - 1, Math.max(x(stop) - x(begin), 1) + 2, high + 2);
    }
    if (dragged) {
      c.fillStyle = color('muted');
      c.globalAlpha = 0.25;
      c.fillRect(Math.min(dragged.from, dragged.to), 0, Math.abs(dragged.to - dragged.from), y(lanes.length));
      c.globalAlpha = 1;
    }
    remark.textContent = ((alone ? completeness() : '') + spans.note()).trim();
    for (const [name, box] of kinds) box.style.backgroundColor = color(name);
  }

  // completeness says which calls the page holds.
  function completeness() {
    const {least_seconds: least, from_seconds: from, to_seconds: to} = run.calls;
    const part = from > 0 || to < run.run_time_seconds ? ` from ${seconds(from)} to ${seconds(to)}` : '';
    if (least === 0) return `Each call${part} is drawn.`;
    const [begin, stop] = view();
    return `Calls${part} of at least ${seconds(least)} are drawn one by one; what is pale is a sum. pianola profile --calls ${plain(begin)}-${plain(stop)} --html FILE TRACE makes a page with each call of this part.`;
  }

  function plain(value) {
    return brief(value.toFixed(6)) + 's';
  }

  // drawSelection covers what is not selected.
  function drawSelection(c) {
    const {thread, file, operation} = selection.now;
    c.fillStyle = color('card');
    c.globalAlpha = 0.65;
    lanes.forEach((l, i) => {
      if (thread !== undefined && l.thread !== thread) c.fillRect(0, frame.tops[i] - 1, frame.left + frame.width, spansHeight(i) + frame.row);
    });
    if ((file !== undefined || operation !== undefined) && !single()) {
      lanes.forEach((l, i) => {
        const pieces = new Set(selected(run, {...(l.thread === undefined ? {} : {thread: l.thread}), ...(file === undefined ? {} : {file}), ...(operation === undefined ? {} : {operation})}).map(p => p.piece));
        const piece = run.parts.piece_seconds;
        for (let k = 0; k * piece < end; k++) {
          if (!pieces.has(k)) c.fillRect(x(k * piece), y(i) - 1, x((k + 1) * piece) - x(k * piece), frame.row);
        }
      });
    }
    c.globalAlpha = 1;
  }

  // fitted cuts a text to a width.
  function fitted(c, text, width) {
    if (c.measureText(text).width <= width) return text;
    let n = text.length;
    while (n > 1 && c.measureText('…' + text.slice(-n)).width > width) n--;
    return '…' + text.slice(-n);
  }

  // drawParts fills a box with parts above one another, [activity, part] each.
  function drawParts(c, list, left, right, top) {
    const all = sum(list, p => p[1]);
    for (const [activity, part] of list) {
      const height = part / all * frame.bar;
      c.fillStyle = color(activityColors[activity]);
      c.fillRect(left, top, right - left, height);
      top += height;
    }
  }

  // drawLane draws what a thread did: in each column the activities lie above one
  // another, waits at the bottom, so high as their parts are. A thread that was not
  // there for the whole column takes all of it, too.
  function drawLane(c, lane, i) {
    const [begin, stop] = view();
    lane.cells.forEach((cell, k) => {
      if (!inView(lane, k, begin, stop)) return;
      const from = (lane.first + k) * step;
      const left = Math.floor(x(from));
      drawParts(c, cell, left, Math.max(Math.ceil(x(Math.min(from + step, end))), left + 1), y(i));
    });
  }

  // drawGap draws what a thread did before a call, if there is one.
  function drawGap(c, call, i) {
    if (!call) return;
    const [before, left] = [call.start - call.gap, call.start].map(at => Math.min(Math.max(x(at), frame.left), frame.left + frame.width));
    if (left - before < 1) return;
    const off = gapParts.map(([key, name]) => [activities.indexOf(name), call[key]]);
    drawParts(c, [[compute, call.gap - sum(off, p => p[1])], ...off].filter(p => p[1] > 0), before, left, y(i));
  }

  // drawCalls draws the single calls of a thread, and what it did before each of
  // them. Requests are thin lines, one below the other where they overlap.
  function drawCalls(c, lane, i) {
    const levels = []; // where the requests of each end
    if (!lane.requests) drawGap(c, calls.get(lane.thread)?.find(call => !call.request && call.start >= view()[1]), i);
    for (const call of shownCalls(lane)) {
      const left = x(call.start);
      const right = Math.max(x(call.start + call.seconds), left + 1);
      if (call.request) {
        const free = levels.findIndex(until => until <= call.start);
        const level = free >= 0 ? free : levels.length;
        levels[level] = call.start + call.seconds;
        c.fillStyle = color(activityColors[call.activity]);
        c.fillRect(left, y(i) + level * 3 % frame.bar, right - left, 2);
        continue;
      }
      drawGap(c, call, i);
      c.fillStyle = color(activityColors[call.activity]);
      c.fillRect(left, y(i), right - left, frame.bar);
    }
  }

  // drawPath draws a line below the row of the thread that the path is on. Where it
  // changes faster than the eye can follow, the line is as strong as its part of
  // the pixel, and there are no lines between rows.
  function drawPath(c) {
    const shares = threads.map(() => new Float64Array(Math.ceil(frame.width) + 1));
    const changes = new Float64Array(Math.ceil(frame.width) + 1);
    const [begin, stop] = view();
    const perPixel = (stop - begin) / frame.width;
    path.forEach(({lane, from, to}, n) => {
      if (to <= begin || from >= stop) return;
      const first = (Math.max(from, begin) - begin) / perPixel;
      const last = (Math.min(to, stop) - begin) / perPixel;
      if (n > 0 && from > begin) changes[Math.floor(first)]++;
      if (rowOf(lane) < 0) return;
      for (let px = Math.floor(first); px < last; px++) shares[lane][px] += Math.min(last, px + 1) - Math.max(first, px);
    });
    c.fillStyle = color('ink');
    shares.forEach((list, lane) => list.forEach((share, px) => {
      if (share <= 0) return;
      c.globalAlpha = Math.min(0.25 + share, 1);
      c.fillRect(frame.left + px, y(rowOf(lane)) + frame.bar + 1, 1, 3);
    }));
    c.globalAlpha = 1;
    let before = -1;
    for (const {lane, from} of path) {
      const px = Math.floor((from - begin) / perPixel);
      if (px < 0 || px > frame.width) {
        before = lane;
        continue;
      }
      const near = changes.subarray(Math.max(px - 6, 0), px + 7).reduce((a, b) => a + b, 0);
      if (rowOf(before) >= 0 && rowOf(lane) >= 0 && lane !== before && near <= 5) {
        const top = y(rowOf(Math.min(before, lane))) + frame.bar + 1;
        c.fillRect(frame.left + px, top, 1, y(rowOf(Math.max(before, lane))) + frame.bar + 4 - top);
      }
      before = lane;
    }
  }

  function tell() {
    parts.reading.textContent = cursor ? (cursor.level >= 0 ? `${lanes[cursor.row].name}, ${spans.tell(lanes[cursor.row], cursor.level, cursor.span, cursor.column)}` : cursor.call ? `${lanes[cursor.row].name}, ${callText(run, cursor.call)}` : columnText(cursor.row, cursor.column)) : '\u00a0';
  }

  function columnText(row, column) {
    const l = lanes[row];
    const from = column * step;
    const to = Math.min(from + step, end);
    const cell = l.cells[column - l.first];
    if (l.requests) return `${l.name}: the arrow keys go from one to the next`;
    const said = [`${l.name}, ${seconds(from)} to ${seconds(to)}: `];
    if (!cell || cell.length === 0) {
      said.push(l.thread === undefined ? 'no event' : 'no event of the thread');
    } else {
      const all = sum(cell, p => p[1]);
      said.push([...cell].sort((a, b) => b[1] - a[1]).map(([k, part]) => `${activities[k]} ${percent(part / all)}`).join(', '));
      const [name, micros] = l.longest ? l.longest[column - l.first].split('.').map(n => parseInt(n, 36)) : [0];
      if (name > 0) said.push(`; longest call ${t.calls[name - 1]}, ${seconds(micros / 1e6)}`);
    }
    const here = path.filter(s => threads[s.lane] === l && s.from < to && s.to > from);
    if (here.length > 0) {
      const part = here.reduce((a, s) => a + Math.min(s.to, to) - Math.max(s.from, from), 0);
      const most = here.reduce((a, s) => s.to - s.from > a.to - a.from ? s : a);
      said.push(`; critical path for ${percent(part / (to - from))} of it: ${most.text}`);
    }
    return said.join('');
  }

  // point puts the cursor on what is at a time in a row: a call, or else a column. level is
  // the row of the calls of libraries, -1 for system calls.
  function point(row, at, level) {
    row = Math.min(Math.max(row, 0), lanes.length - 1);
    const [from, to] = view();
    at = Math.min(Math.max(at, from), to - 1e-9);
    cursor = {row, level, column: Math.floor(at / step + 1e-9)};
    const slack = (to - from) / frame.width; // a pixel
    if (level >= 0) {
      cursor.span = spans.at(lanes[row], level, at - slack, at + slack).at(-1);
    } else if (single() && lanes[row].thread !== undefined) {
      cursor.call = shownCalls(lanes[row]).findLast(call => call.start - slack <= at && call.start + call.seconds + slack >= at);
    }
    draw();
    tell();
  }

  // stops returns the rows that the cursor can be in, [row, level] each, from the top.
  function stops() {
    return lanes.flatMap((l, row) => [...Array.from({length: spans.levels(l)}, (_, level) => [row, level]), [row, -1]]);
  }

  // listAt returns the single calls of a row, empty where columns are read.
  function listAt(row, level) {
    if (level >= 0) return spans.at(lanes[row], level, ...view());
    return single() && lanes[row].thread !== undefined ? shownCalls(lanes[row]) : [];
  }

  // next moves the cursor by columns, or to the next call.
  function next(rows, columns) {
    const [from] = view();
    const at = cursor || {row: Math.max(lanes.findIndex(l => l.thread !== undefined), 0), level: -1, column: Math.floor(from / step + 1e-9) - Math.sign(columns)};
    const all = stops();
    const now = all.findIndex(([row, level]) => row === at.row && level === at.level);
    const [row, level] = all[Math.min(Math.max(now + rows, 0), all.length - 1)];
    const one = at.span || at.call;
    const list = columns === 0 ? [] : listAt(row, level);
    if (list.length > 0) {
      const i = one ? list.indexOf(one) + columns : columns > 0 ? 0 : list.length - 1;
      const to = list[Math.min(Math.max(i, 0), list.length - 1)];
      cursor = {row, level, [level >= 0 ? 'span' : 'call']: to, column: Math.floor(to.start / step + 1e-9)};
      draw();
      tell();
      return;
    }
    point(row, one && columns === 0 ? one.start : (at.column + columns) * step + step / 2, level);
  }

  // choose selects the thread of a row, or the call that the cursor is on. Of a call of a
  // library it selects the time.
  function choose() {
    if (!cursor) return;
    const {thread} = lanes[cursor.row];
    if (cursor.span) {
      show([cursor.span.start, cursor.span.start + cursor.span.seconds]);
      return;
    }
    if (cursor.call) selection.toggle({thread, operation: cursor.call.operation, ...(cursor.call.file === null ? {} : {file: cursor.call.file})});
    else if (thread !== undefined) selection.toggle({thread});
  }

  const timeAt = offset => {
    const [from, to] = view();
    return from + (offset - frame.left) / frame.width * (to - from);
  };
  // placeAt puts the cursor on what is at a place in the canvas, if there is something.
  function placeAt(event) {
    const row = frame.tops.findLastIndex(top => top <= event.offsetY);
    if (row < 0 || row >= lanes.length) return false;
    point(row, timeAt(event.offsetX), event.offsetY < y(row) ? Math.floor((event.offsetY - frame.tops[row]) / spans.height()) : -1);
    return true;
  }

  let dragged = null; // from one place to another, in CSS pixels

  canvas.addEventListener('pointerdown', event => {
    if (event.button !== 0 || event.offsetX < frame.left) return;
    dragged = {from: event.offsetX, to: event.offsetX};
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener('pointermove', event => {
    if (dragged) {
      dragged.to = event.offsetX;
      draw();
      return;
    }
    if (event.offsetX >= frame.left) placeAt(event);
  });
  canvas.addEventListener('pointerup', event => {
    const moved = dragged && Math.abs(dragged.to - dragged.from) > 4 ? dragged : null;
    dragged = null;
    if (moved) {
      show([moved.from, moved.to].sort((a, b) => a - b).map(timeAt));
      return;
    }
    if (placeAt(event)) choose();
  });
  canvas.addEventListener('pointercancel', () => { dragged = null; draw(); });
  canvas.addEventListener('dblclick', () => selection.change({from: null, to: null}));
  canvas.addEventListener('wheel', event => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const [from, to] = view();
    const at = timeAt(event.offsetX);
    const by = event.deltaY > 0 ? 1.5 : 1 / 1.5;
    show([at - (at - from) * by, at + (to - at) * by]);
  }, {passive: false});
  canvas.addEventListener('pointerleave', () => { cursor = null; draw(); tell(); });
  parts.box.addEventListener('keydown', event => {
    const [from, to] = view();
    const act = {
      ArrowLeft: () => next(0, -1), ArrowRight: () => next(0, 1), PageUp: () => next(0, -20), PageDown: () => next(0, 20), ArrowUp: () => next(-1, 0), ArrowDown: () => next(1, 0),
      Enter: choose, '+': () => show([from + (to - from) / 4, to - (to - from) / 4]), '-': () => show([from - (to - from) / 2, to + (to - from) / 2]),
    }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
  observe(parts.box, draw);
  selection.follow(parts.box, () => {
    cursor = null;
    tell();
    if (parts.details.open) parts.details.dispatchEvent(new Event('toggle'));
    draw();
  });
  if (run.calls) {
    decodeCalls(run.calls).then(byThread => {
      calls = byThread;
      parts.figure.dataset.calls = 'ready';
      draw();
    });
  }
  if (spans.any) {
    spans.load(threads).then(() => {
      parts.legend.append(element('span', {class: 'break'}), element('span', {class: 'scale'}, 'Calls of libraries:'), ...spans.kinds(threads).map(([name, list]) => {
        const box = element('span', {class: 'swatch'});
        kinds.push([name, box]);
        return element('span', {class: 'scale'}, box, list.join(', '));
      }));
      parts.figure.dataset.spans = 'ready';
      draw();
    });
  }
  return parts.figure;
}
