// A grid over time: columns of time, rows of something else, and a colour for how much
// is in a cell.

// The colours are those of viridis, whose lightness rises for every reader.
const gridColors = [[68, 1, 84], [68, 58, 131], [49, 104, 142], [33, 145, 140], [53, 183, 121], [144, 215, 67], [253, 231, 37]];

// gridDecades is how far the colours reach below the most. What is less has the
// last of them.
const gridDecades = 3;

// gridColor returns the colour for a part of the most; what is most stands out
// from the page.
function gridColor(part) {
  const at = (isDark() ? part : 1 - part) * (gridColors.length - 1);
  const i = Math.min(Math.floor(at), gridColors.length - 2);
  const mixed = gridColors[i].map((c, k) => Math.round(c + (gridColors[i + 1][k] - c) * (at - i)));
  return `rgb(${mixed.join(' ')})`;
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

// gridFigure makes a figure of a grid. Besides what newFigure takes: end, in seconds;
// get: () => {columns, rows, column_seconds, cells (by column, then row), words (of what is
// shown), note, levels: [row, text] of the axis, where rows count from 0 at the bottom, and for
// other colours than those of gridColor colors: {of: (cell, part of the most) => colour, ends: two
// texts, scale: (0 to 1) => colour}};
// amount: the text of a cell's value; tell: (column, row, value) => text of the row and the
// value; cells: [head, row of a cell] of the table; follow: called when the selection
// changes, before the grid is got again.
function gridFigure(what) {
  let grid = null;
  let most = 0;
  let cursor = null; // column and row

  const canvas = element('canvas', {});
  const scale = element('span', {class: 'scale'});
  const remark = element('p', {class: 'note'});
  const parts = newFigure({...what, summary: 'Use the arrow keys to read the cells.', details: 'The fullest cells as a table', table: fullest});
  parts.box.classList.add('heat');
  parts.box.append(canvas);
  parts.legend.append(scale, remark);

  function fullest() {
    const first = grid.cells.map((n, i) => [n, i]).filter(c => c[0] > 0).sort((a, b) => b[0] - a[0]).slice(0, 25);
    return [['from time', ...what.head], first.map(([n, i]) => [seconds(timeOf(Math.floor(i / grid.rows))), ...what.row(i % grid.rows, n)])];
  }

  function timeOf(column) {
    return column * grid.column_seconds;
  }

  function show() {
    grid = what.get();
    const full = grid.cells.filter(n => n > 0);
    most = full.reduce((a, b) => Math.max(a, b), 0);
    cursor = null;
    parts.box.setAttribute('aria-label', `${what.title}: ${grid.words} in ${full.length} cells; use the arrow keys to read them. ${grid.note}`);
    remark.textContent = grid.note;
    if (parts.details.open) parts.details.dispatchEvent(new Event('toggle'));
    draw();
  }

  // frame holds where the cells lie in the canvas, in CSS pixels.
  let frame = {left: 0, top: 8, width: 0, height: 0};
  // view returns the times at both ends of the axis, in seconds.
  const view = () => selection.now.from === undefined ? [0, Math.max(what.end, 1e-9)] : [selection.now.from, selection.now.to];

  function draw() {
    const width = parts.box.clientWidth;
    if (width === 0 || !grid) return;
    const height = Math.min(360, Math.max(260, width * 0.4));
    const c = sized(canvas, width, height);
    frame = {left: width < 480 ? 64 : 76, top: 8, width: 0, height: height - 40};
    frame.width = width - frame.left - 12;

    const {of, ends, scale: shade} = grid.colors || {
      of: (_, part) => gridColor(Math.max(1 + Math.log10(part) / gridDecades, 0)), scale: gridColor,
      ends: [what.amount(Math.ceil(most / 10 ** gridDecades)) + ' or less', what.amount(most)],
    };
    scale.replaceChildren(ends[0], ...Array.from({length: 7}, (_, i) => {
      const box = element('span', {class: 'swatch'});
      box.style.backgroundColor = shade(i / 6);
      return box;
    }), ends[1]);
    c.fillStyle = color('void');
    c.fillRect(frame.left, frame.top, frame.width, frame.height);
    const [from, to] = view();
    const x = t => frame.left + (t - from) / (to - from) * frame.width;
    const y = row => frame.top + frame.height - row / grid.rows * frame.height;
    const right = frame.left + frame.width;
    for (let i = 0; i < grid.cells.length; i++) {
      if (grid.cells[i] === 0) continue;
      const column = Math.floor(i / grid.rows);
      const row = i % grid.rows;
      const begin = Math.max(x(timeOf(column)), frame.left);
      const end = Math.min(x(timeOf(column + 1)), right);
      if (begin >= right || end <= frame.left) continue;
      c.fillStyle = of(i, grid.cells[i] / most);
      const low = y(row);
      const high = y(row + 1);
      // Whole pixels leave no seams.
      c.fillRect(Math.floor(begin), Math.floor(high), Math.max(Math.ceil(end) - Math.floor(begin), 1), Math.max(Math.ceil(low) - Math.floor(high), 1));
    }
    c.fillStyle = color('muted');
    c.font = '12px ' + color('font');
    drawTimes(c, from, to, x, frame.top + frame.height + 10, width);
    c.textBaseline = 'middle';
    c.textAlign = 'right';
    for (const [row, text] of grid.levels) c.fillText(text, frame.left - 8, Math.max(y(row), frame.top + 6));
    if (cursor) {
      c.strokeStyle = color('focus');
      c.lineWidth = 2;
      const left = x(timeOf(cursor.column));
      const high = y(cursor.row + 1);
      c.strokeRect(left, high, x(timeOf(cursor.column + 1)) - left, y(cursor.row) - high);
    }
  }

  function tell() {
    if (!cursor) {
      parts.reading.textContent = '\u00a0';
      return;
    }
    parts.reading.textContent = `${seconds(timeOf(cursor.column))} to ${seconds(timeOf(cursor.column + 1))}, ` +
      what.tell(cursor.column, cursor.row, grid.cells[cursor.column * grid.rows + cursor.row]);
  }

  function move(column, row) {
    cursor = {column: Math.min(Math.max(column, 0), grid.columns - 1), row: Math.min(Math.max(row, 0), grid.rows - 1)};
    draw();
    tell();
  }

  canvas.addEventListener('pointermove', event => {
    const [from, to] = view();
    const column = Math.floor((from + (event.offsetX - frame.left) / frame.width * (to - from)) / grid.column_seconds);
    const row = Math.floor((frame.top + frame.height - event.offsetY) / frame.height * grid.rows);
    if (column < 0 || column >= grid.columns || row < 0 || row >= grid.rows) return;
    move(column, row);
  });
  canvas.addEventListener('pointerleave', () => { cursor = null; draw(); tell(); });
  parts.box.addEventListener('keydown', event => {
    const step = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1]}[event.key];
    if (!step) return;
    event.preventDefault();
    const first = {column: Math.floor(view()[0] / grid.column_seconds) - (step[0] > 0 ? 1 : 0), row: -step[1]};
    const from = cursor || first;
    move(from.column + step[0], from.row + step[1]);
  });
  observe(parts.box, draw);
  selection.follow(parts.box, now => {
    what.follow?.(now);
    show();
  });
  return {figure: parts.figure, show};
}

// sized gives a canvas a size, in CSS pixels, and returns what draws on it.
function sized(canvas, width, height) {
  const ratio = devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = width + 'px';
  canvas.style.height = height + 'px';
  const c = canvas.getContext('2d');
  c.setTransform(ratio, 0, 0, ratio, 0, 0);
  return c;
}

// drawTimes draws the numbers of an axis of time, from and to in seconds.
function drawTimes(c, from, to, x, top, width) {
  c.textBaseline = 'top';
  c.textAlign = 'center';
  const step = niceSteps(to - from, Math.max(Math.floor((x(to) - x(from)) / 90), 2), false)[1];
  const times = [];
  for (let i = Math.ceil(from / step); i * step <= to * (1 + 1e-12); i++) times.push(i * step);
  ticks(timeUnits)(times).forEach((text, i) => c.fillText(text, Math.min(Math.max(x(times[i]), 30), width - 30), top));
}
