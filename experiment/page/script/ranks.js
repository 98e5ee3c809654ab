// The map of the ranks of a parallel program over time.

// mixed returns a colour between two, each #rrggbb or the name of one of the style.
function mixed(a, b, part) {
  const [from, to] = [a, b].map(c => c.startsWith('#') ? c : color(c)).map(c => [1, 3, 5].map(i => parseInt(c.slice(i, i + 2), 16)));
  return '#' + from.map((n, i) => Math.round(n + (to[i] - n) * part).toString(16).padStart(2, '0')).join('');
}

function rankFigure(run) {
  const map = run.rank_map;
  const times = {io: map.io_seconds, mpi: map.mpi_seconds}; // by column, then row
  const sides = [...(times.mpi.length > 0 ? [['both', 'I/O and waiting in MPI']] : []), ['io', 'I/O'], ...(times.mpi.length > 0 ? [['mpi', 'waiting in MPI']] : [])];
  let what = sides[0][0];
  const both = times.mpi.length > 0 ? times.io.map((n, i) => n + times.mpi[i]) : [];
  // In the map of both the colour says which of them it was, and is the paler the less time it was.
  const colors = {
    of: (i, part) => mixed('card', mixed('read', 'collective', times.mpi[i] / both[i]), 0.2 + 0.8 * Math.sqrt(part)),
    scale: part => mixed('read', 'collective', part), ends: ['I/O', 'waiting in MPI'],
  };
  const share = n => Math.round(1000 * n / map.column_seconds) / 10 + ' % of a column';
  const grid = gridFigure({
    title: 'Ranks over time', end: run.run_time_seconds,
    note: 'Time of each rank in a column of time. The time of the threads of a rank is added up.' + (times.mpi.length > 0 ? ' In the map of both, a paler cell is less time.' : ''),
    controls: element('div', {class: 'controls'}, select('Time in', sides, side => { what = side; grid.show(); })),
    amount: share, head: ['rank', 'time'], row: (row, n) => [map.ranks[row], seconds(n)],
    get() {
      const rows = map.ranks.length;
      const step = Math.ceil(rows / 16);
      const levels = map.ranks.map((rank, i) => [i + 0.5, 'rank ' + rank]).filter((l, i) => i % step === 0);
      return {
        columns: map.columns, rows, column_seconds: map.column_seconds, cells: what === 'both' ? both : times[what], colors: what === 'both' ? colors : null, levels, note: map.notes.map(capitalized).join('. ') + '.',
        words: `${rows} ranks, ${sides.find(s => s[0] === what)[1]}, each cell ${seconds(map.column_seconds)}`,
      };
    },
    tell(column, row) {
      const i = column * map.ranks.length + row;
      const mpi = times.mpi.length > 0 ? `, in MPI ${seconds(times.mpi[i])}` : '';
      return `rank ${map.ranks[row]} on ${map.nodes[row]}: in I/O ${seconds(times.io[i])}${mpi}`;
    },
  });
  return grid.figure;
}
