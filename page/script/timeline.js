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

function timelineFigure(run) {
  const t = run.timeline;
  const end = Math.max(run.run_time, 1);
  const lanes = t.lanes.map(l => ({name: l.name, first: l.first, cells: words(l.cells).map(partsOf), longest: words(l.longest)}));
  const total = t.activities.map(() => 0);
  for (const l of lanes) for (const c of l.cells) for (const [k, part] of c) total[k] += part;
  const onPath = lanes.map(() => 0);
  for (const [lane, from, to] of t.path) if (lane >= 0) onPath[lane] += to - from;
  let cursor = null; // lane and column

  const canvas = element('canvas', {});
  const more = t.others > 0 ? ` ${count(t.others)} more ${t.others === 1 ? 'thread has' : 'threads have'} no row: ${t.path.length > 0 ? 'less of the critical path was on them, and ' : ''}they were less busy.` : '';
  const parts = newFigure({
    title: 'Timeline',
    note: 'What each thread did, in columns of ' + seconds(t.column_nanos / 1e9) + (t.path.length > 0 ? '. The line is the critical path: it goes to another thread where one was woken or made.' : '.') + more,
    summary: `${lanes.length} ${lanes.length === 1 ? 'thread' : 'threads'}. Use the arrow keys to read the columns.`,
    details: t.path.length > 0 ? 'The longest parts of the critical path as a table' : 'The threads as a table', table,
  });
  parts.box.classList.add('heat');
  parts.box.append(canvas);
  const swatches = total.map((sum, k) => sum > 0 ? [k, element('span', {class: 'swatch'})] : null).filter(s => s);
  const line = element('span', {class: 'mark'});
  parts.legend.append(...swatches.map(([k, box]) => element('span', {class: 'scale'}, box, t.activities[k])),
    t.path.length > 0 ? element('span', {class: 'scale'}, line, '\u2002critical path') : '');

  function table() {
    if (t.path.length === 0) return [['thread', ...swatches.map(([k]) => t.activities[k])], lanes.map(l => [l.name, ...swatches.map(([k]) => seconds(spent(l, k)))])];
    const longest = t.path.map((s, i) => [s[2] - s[1], i]).sort((a, b) => b[0] - a[0]).slice(0, 25).sort((a, b) => a[1] - b[1]);
    return [['from', 'time', 'thread', 'most of it'], longest.map(([nanos, i]) =>
      [seconds(t.path[i][1] / 1e9), seconds(nanos / 1e9), t.path[i][0] < 0 ? unknown : lanes[t.path[i][0]].name, t.calls[t.path[i][3] - 1] ?? unknown])];
  }

  function spent(lane, activity) {
    return sum(lane.cells, c => c.find(p => p[0] === activity)?.[1] ?? 0) * t.column_nanos / 1e9;
  }

  // frame holds where the rows lie in the canvas, in CSS pixels.
  const frame = {left: 0, top: 6, width: 0, row: 0, bar: 0};
  const x = nanos => frame.left + nanos / end * frame.width;
  const y = lane => frame.top + lane * frame.row;

  function draw() {
    const width = parts.box.clientWidth;
    if (width === 0) return;
    frame.row = lanes.length > 16 ? 20 : 26;
    frame.bar = frame.row - 8;
    const height = frame.top + lanes.length * frame.row + 30;
    const ratio = devicePixelRatio || 1;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.width = width + 'px';
    canvas.style.height = height + 'px';
    const c = canvas.getContext('2d');
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.font = '12px ' + color('font');
    const most = width < 480 ? 90 : 170;
    frame.left = Math.ceil(Math.min(Math.max(...lanes.map(l => c.measureText(l.name).width)), most)) + 10;
    frame.width = width - frame.left - 12;
    for (const [k, box] of swatches) box.style.backgroundColor = color(activityColors[k]);
    line.style.borderTop = '3px solid ' + color('ink');

    c.textBaseline = 'middle';
    c.textAlign = 'right';
    lanes.forEach((l, i) => {
      c.fillStyle = color('muted');
      c.fillText(fitted(c, l.name, frame.left - 10), frame.left - 8, y(i) + frame.bar / 2);
      drawLane(c, l, i);
    });
    drawPath(c);
    c.fillStyle = color('muted');
    c.textBaseline = 'top';
    c.textAlign = 'center';
    const times = niceSteps(end / 1e9, Math.max(Math.floor(frame.width / 70), 2), false);
    ticks(timeUnits)(times).forEach((text, i) => c.fillText(text, Math.min(x(times[i] * 1e9), width - 22), y(lanes.length) + 8));
    if (cursor) {
      c.strokeStyle = color('focus');
      c.lineWidth = 2;
      const left = x(cursor.column * t.column_nanos);
      c.strokeRect(left - 1, y(cursor.lane) - 1, Math.max(x((cursor.column + 1) * t.column_nanos) - left, 1) + 2, frame.bar + 2);
    }
  }

  // fitted cuts a text to a width.
  function fitted(c, text, width) {
    if (c.measureText(text).width <= width) return text;
    let n = text.length;
    while (n > 1 && c.measureText('…' + text.slice(-n)).width > width) n--;
    return '…' + text.slice(-n);
  }

  // drawLane draws what a thread did: in each column the activities lie above one
  // another, waits at the bottom, so high as their parts are.
  function drawLane(c, lane, i) {
    lane.cells.forEach((cell, k) => {
      const from = (lane.first + k) * t.column_nanos;
      const left = Math.floor(x(from));
      const right = Math.max(Math.ceil(x(Math.min(from + t.column_nanos, end))), left + 1);
      let top = y(i);
      // A thread that was not there for the whole column takes all of it, too.
      const all = cell.reduce((a, p) => a + p[1], 0);
      for (const [activity, part] of cell) {
        const height = part / all * frame.bar;
        c.fillStyle = color(activityColors[activity]);
        c.fillRect(left, top, right - left, height);
        top += height;
      }
    });
  }

  // drawPath draws a line below the row of the thread that the path is on. Where it
  // changes faster than the eye can follow, the line is as strong as its part of
  // the pixel, and there are no lines between rows.
  function drawPath(c) {
    const shares = lanes.map(() => new Float64Array(Math.ceil(frame.width) + 1));
    const changes = new Float64Array(Math.ceil(frame.width) + 1);
    const perPixel = end / frame.width;
    t.path.forEach(([lane, from, to], n) => {
      const first = from / perPixel;
      const last = to / perPixel;
      if (n > 0) changes[Math.floor(first)]++;
      if (lane < 0) return;
      for (let px = Math.floor(first); px < last; px++) shares[lane][px] += Math.min(last, px + 1) - Math.max(first, px);
    });
    c.fillStyle = color('ink');
    shares.forEach((list, lane) => list.forEach((share, px) => {
      if (share <= 0) return;
      c.globalAlpha = Math.min(0.25 + share, 1);
      c.fillRect(frame.left + px, y(lane) + frame.bar + 1, 1, 3);
    }));
    c.globalAlpha = 1;
    let before = -1;
    for (const [lane, from] of t.path) {
      const px = Math.floor(from / perPixel);
      const near = changes.subarray(Math.max(px - 6, 0), px + 7).reduce((a, b) => a + b, 0);
      if (before >= 0 && lane >= 0 && lane !== before && near <= 5) {
        const top = y(Math.min(before, lane)) + frame.bar + 1;
        c.fillRect(frame.left + px, top, 1, y(Math.max(before, lane)) + frame.bar + 4 - top);
      }
      before = lane;
    }
  }

  function tell() {
    if (!cursor) {
      parts.reading.textContent = '\u00a0';
      return;
    }
    const l = lanes[cursor.lane];
    const from = cursor.column * t.column_nanos;
    const to = Math.min(from + t.column_nanos, end);
    const cell = l.cells[cursor.column - l.first];
    const said = [`${l.name}, ${seconds(from / 1e9)} to ${seconds(to / 1e9)}: `];
    if (!cell || cell.length === 0) {
      said.push('no event of the thread');
    } else {
      const all = cell.reduce((a, p) => a + p[1], 0);
      said.push([...cell].sort((a, b) => b[1] - a[1]).map(([k, part]) => `${t.activities[k]} ${percent(part / all)}`).join(', '));
      const [place, micros] = l.longest[cursor.column - l.first].split('.').map(n => parseInt(n, 36));
      if (place > 0) said.push(`; longest call ${t.calls[place - 1]}, ${seconds(micros / 1e6)}`);
    }
    const here = t.path.filter(s => s[0] === cursor.lane && s[1] < to && s[2] > from);
    if (here.length > 0) {
      const part = here.reduce((a, s) => a + Math.min(s[2], to) - Math.max(s[1], from), 0);
      const most = here.reduce((a, s) => s[2] - s[1] > a[2] - a[1] ? s : a);
      said.push(`; critical path for ${percent(part / (to - from))} of it: ${t.calls[most[3] - 1] ?? unknown}`);
    }
    parts.reading.textContent = said.join('');
  }

  const columns = Math.ceil(end / t.column_nanos);

  function move(lane, column) {
    cursor = {lane: Math.min(Math.max(lane, 0), lanes.length - 1), column: Math.min(Math.max(column, 0), columns - 1)};
    draw();
    tell();
  }

  canvas.addEventListener('pointermove', event => {
    const column = Math.floor((event.offsetX - frame.left) / frame.width * end / t.column_nanos);
    const lane = Math.floor((event.offsetY - frame.top) / frame.row);
    if (column < 0 || column >= columns || lane < 0 || lane >= lanes.length) return;
    move(lane, column);
  });
  canvas.addEventListener('pointerleave', () => { cursor = null; draw(); tell(); });
  parts.box.addEventListener('keydown', event => {
    const step = {ArrowLeft: [0, -1], ArrowRight: [0, 1], PageUp: [0, -20], PageDown: [0, 20], ArrowUp: [-1, 0], ArrowDown: [1, 0]}[event.key];
    if (!step) return;
    event.preventDefault();
    const from = cursor || {lane: 0, column: step[1] > 0 ? -1 : 0};
    move(from.lane + step[0], from.column + step[1]);
  });
  observe(parts.box, draw);
  return parts.figure;
}
