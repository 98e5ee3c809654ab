// The map of a file's offsets over time.

// cellsOf returns the bytes of each cell, in one direction or in both.
function cellsOf(map, direction) {
  const out = new Array(map.columns * map.rows).fill(0);
  for (const side of direction === 'both' ? ['read', 'written'] : [direction]) {
    map[side].forEach((n, i) => { out[i] += n; });
  }
  return out;
}

function heatFigure(run) {
  let map = run.heat[0];
  let direction = 'both';
  const choice = select('File', run.heat.map((m, i) => [i, m.name]), i => { map = run.heat[i]; grid.show(); });
  const grid = gridFigure({
    title: 'Offsets over time', end: run.run_time_seconds,
    note: 'Bytes moved by calls that began in a column of time, by offset in the file. Cells in which nothing was moved are empty.',
    controls: element('div', {class: 'controls'}, choice,
      select('Bytes', [['both', 'read and written'], ['read', 'read'], ['written', 'written']], d => { direction = d; grid.show(); })),
    amount: bytes, head: ['from offset', 'bytes'], row: (row, n) => [size(row * map.row_bytes), bytes(n)],
    get() {
      const cells = cellsOf(map, direction);
      const other = selection.now.file !== undefined && selection.now.file !== map.name ? ` The page has no map of ${selection.now.file}.` : '';
      const late = map.missed_seconds > 0 ? ` The map lacks what the first ${seconds(map.missed_seconds)} in calls moved.` : '';
      const top = map.rows * map.row_bytes;
      const offsets = niceSteps(top, 8, true);
      const texts = ticks(sizeUnits)(offsets);
      return {
        columns: map.columns, rows: map.rows, column_seconds: map.column_seconds, cells, note: late + other,
        words: `${map.name}. ${bytes(cells.reduce((a, b) => a + b, 0))}, each cell ${seconds(map.column_seconds)} by ${size(map.row_bytes)},`,
        levels: offsets.map((offset, i) => [offset / map.row_bytes, texts[i]]),
      };
    },
    tell(column, row) {
      const i = column * map.rows + row;
      const from = row * map.row_bytes;
      return `offset ${size(from)} to ${size(from + map.row_bytes)}: read ${bytes(map.read[i] || 0)}, written ${bytes(map.written[i] || 0)}`;
    },
    follow(now) {
      const at = run.heat.findIndex(m => m.name === now.file);
      if (at < 0) return;
      map = run.heat[at];
      choice.querySelector('select').value = at;
    },
  });
  return grid.figure;
}
