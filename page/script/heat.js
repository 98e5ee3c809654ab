// The map of a file's offsets over time.

// The colours of the map are those of viridis, whose lightness rises for every
// reader.
const heatColors = [[68, 1, 84], [68, 58, 131], [49, 104, 142], [33, 145, 140], [53, 183, 121], [144, 215, 67], [253, 231, 37]];

// heatDecades is how far the colours reach below the most. What is less has the
// last of them.
const heatDecades = 3;

// heatColor returns the colour for a part of the most; what is most stands out
// from the page.
function heatColor(part) {
  const at = (isDark() ? part : 1 - part) * (heatColors.length - 1);
  const i = Math.min(Math.floor(at), heatColors.length - 2);
  const mixed = heatColors[i].map((c, k) => Math.round(c + (heatColors[i + 1][k] - c) * (at - i)));
  return `rgb(${mixed.join(' ')})`;
}

// cellsOf returns the bytes of each cell, in one direction or in both.
function cellsOf(map, direction) {
  const out = new Array(map.columns * map.rows).fill(0);
  for (const side of direction === 'both' ? ['read', 'written'] : [direction]) {
    map[side].forEach((n, i) => { out[i] += n; });
  }
  return out;
}

// niceSteps returns a handful of round numbers from 0 to the end.
function niceSteps(end, steps, binary) {
  const least = end / steps;
  let step = 2 ** Math.ceil(Math.log2(least));
  if (!binary) {
    const ten = 10 ** Math.floor(Math.log10(least));
    step = ten * [1, 2, 5, 10].find(m => m * ten >= least);
  }
  const out = [];
  for (let v = 0; v <= end; v += step) out.push(v);
  return out;
}

function heatFigure(run) {
  let map = run.heat[0];
  let direction = 'both';
  let cells = [];
  let most = 0;
  let cursor = null; // column and row

  const canvas = element('canvas', {});
  const scale = element('span', {class: 'scale'});
  const lateness = element('p', {class: 'note'});
  const controls = element('div', {class: 'controls'},
    select('File', run.heat.map((m, i) => [i, m.name]), i => { map = run.heat[i]; show(); }),
    select('Bytes', [['both', 'read and written'], ['read', 'read'], ['written', 'written']], d => { direction = d; show(); }));
  const title = 'Offsets over time';
  const parts = newFigure({
    title, controls, summary: 'Choose a file, then use the arrow keys to read the cells.',
    note: 'Bytes moved by calls that began in a column of time, by offset in the file. Cells in which nothing was moved are empty.',
    details: 'The busiest cells as a table', table: busiest,
  });
  parts.box.classList.add('heat');
  parts.box.append(canvas);
  parts.legend.append(scale, lateness);

  function busiest() {
    const first = cells.map((n, i) => [n, i]).filter(c => c[0] > 0).sort((a, b) => b[0] - a[0]).slice(0, 25);
    return [['from time', 'from offset', 'bytes'],
      first.map(([n, i]) => [seconds(timeOf(Math.floor(i / map.rows))), size(i % map.rows * map.row_bytes), bytes(n)])];
  }

  function timeOf(column) {
    return column * map.column_nanos / 1e9;
  }

  function show() {
    cells = cellsOf(map, direction);
    const full = cells.filter(n => n > 0);
    most = Math.max(0, ...full);
    cursor = null;
    const moved = full.reduce((a, b) => a + b, 0);
    const late = map.missed > 0 ? ` The map lacks what the first ${seconds(map.missed / 1e9)} in calls moved.` : '';
    parts.box.setAttribute('aria-label', `${title}: ${map.name}. ${bytes(moved)} in ${full.length} cells, ` +
      `each ${seconds(map.column_nanos / 1e9)} by ${size(map.row_bytes)}; use the arrow keys to read them.${late}`);
    lateness.textContent = late;
    if (parts.details.open) parts.details.dispatchEvent(new Event('toggle'));
    draw();
  }

  // frame holds where the cells lie in the canvas, in CSS pixels.
  let frame = {left: 0, top: 8, width: 0, height: 0};

  function draw() {
    const width = parts.box.clientWidth;
    if (width === 0 || !map) return;
    const height = Math.min(360, Math.max(260, width * 0.4));
    const ratio = devicePixelRatio || 1;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.width = width + 'px';
    canvas.style.height = height + 'px';
    const c = canvas.getContext('2d');
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    frame = {left: width < 480 ? 64 : 76, top: 8, width: 0, height: height - 40};
    frame.width = width - frame.left - 12;

    scale.replaceChildren(bytes(Math.ceil(most / 10 ** heatDecades)) + ' or less', ...Array.from({length: 7}, (_, i) => {
      const box = element('span', {class: 'swatch'});
      box.style.backgroundColor = heatColor(i / 6);
      return box;
    }), bytes(most));
    c.fillStyle = color('void');
    c.fillRect(frame.left, frame.top, frame.width, frame.height);
    const {end, top} = reach();
    const x = t => frame.left + t / end * frame.width;
    const y = offset => frame.top + frame.height - offset / top * frame.height;
    for (let i = 0; i < cells.length; i++) {
      if (cells[i] === 0) continue;
      const column = Math.floor(i / map.rows);
      const row = i % map.rows;
      c.fillStyle = heatColor(Math.max(1 + Math.log10(cells[i] / most) / heatDecades, 0));
      const left = x(timeOf(column));
      const right = Math.min(x(timeOf(column + 1)), frame.left + frame.width);
      const low = y(row * map.row_bytes);
      const high = y((row + 1) * map.row_bytes);
      // Whole pixels leave no seams.
      c.fillRect(Math.floor(left), Math.floor(high), Math.max(Math.ceil(right) - Math.floor(left), 1), Math.max(Math.ceil(low) - Math.floor(high), 1));
    }
    c.fillStyle = color('muted');
    c.font = '12px ' + color('font');
    c.textBaseline = 'top';
    c.textAlign = 'center';
    const times = niceSteps(end, Math.max(Math.floor(frame.width / 70), 2), false);
    ticks(timeUnits)(times).forEach((text, i) => c.fillText(text, Math.min(x(times[i]), width - 22), frame.top + frame.height + 10));
    c.textBaseline = 'middle';
    c.textAlign = 'right';
    const offsets = niceSteps(top, 8, true);
    ticks(sizeUnits)(offsets).forEach((text, i) => c.fillText(text, frame.left - 8, Math.max(y(offsets[i]), frame.top + 6)));
    if (cursor) {
      c.strokeStyle = color('focus');
      c.lineWidth = 2;
      const left = x(timeOf(cursor.column));
      const high = y((cursor.row + 1) * map.row_bytes);
      c.strokeRect(left, high, x(timeOf(cursor.column + 1)) - left, y(cursor.row * map.row_bytes) - high);
    }
  }

  // reach returns the end of both axes, in seconds and bytes.
  function reach() {
    return {end: Math.max(run.run_time / 1e9, 1e-9), top: map.rows * map.row_bytes};
  }

  function tell() {
    if (!cursor) {
      parts.reading.textContent = '\u00a0';
      return;
    }
    const i = cursor.column * map.rows + cursor.row;
    const from = cursor.row * map.row_bytes;
    parts.reading.textContent = `${seconds(timeOf(cursor.column))} to ${seconds(timeOf(cursor.column + 1))}, ` +
      `offset ${size(from)} to ${size(from + map.row_bytes)}: read ${bytes(map.read[i] || 0)}, written ${bytes(map.written[i] || 0)}`;
  }

  function move(column, row) {
    cursor = {column: Math.min(Math.max(column, 0), map.columns - 1), row: Math.min(Math.max(row, 0), map.rows - 1)};
    draw();
    tell();
  }

  canvas.addEventListener('pointermove', event => {
    const {end, top} = reach();
    const column = Math.floor((event.offsetX - frame.left) / frame.width * end * 1e9 / map.column_nanos);
    const row = Math.floor((frame.top + frame.height - event.offsetY) / frame.height * top / map.row_bytes);
    if (column < 0 || column >= map.columns || row < 0 || row >= map.rows) return;
    move(column, row);
  });
  canvas.addEventListener('pointerleave', () => { cursor = null; draw(); tell(); });
  parts.box.addEventListener('keydown', event => {
    const step = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1]}[event.key];
    if (!step) return;
    event.preventDefault();
    const from = cursor || {column: -step[0], row: -step[1]};
    move(from.column + step[0], from.row + step[1]);
  });
  observe(parts.box, draw);
  show();
  return parts.figure;
}
