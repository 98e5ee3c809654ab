// The map of the ranks of a parallel program over time.

function rankFigure(run) {
  const map = run.rank_map;
  let what = 'io';
  const sides = [['io', 'I/O'], ...(map.mpi.length > 0 ? [['mpi', 'waiting in MPI']] : [])];
  const share = n => Math.round(1000 * n / map.column_nanos) / 10 + ' % of a column';
  const grid = gridFigure({
    title: 'Ranks over time', end: run.run_time / 1e9,
    note: 'Time of each rank in a column of time. The time of the threads of a rank is added up.',
    controls: element('div', {class: 'controls'}, select('Time in', sides, side => { what = side; grid.show(); })),
    amount: share, head: ['rank', 'time'], row: (row, n) => [map.ranks[row], seconds(n / 1e9)],
    get() {
      const rows = map.ranks.length;
      const step = Math.ceil(rows / 16);
      const levels = map.ranks.map((rank, i) => [i + 0.5, 'rank ' + rank]).filter((l, i) => i % step === 0);
      return {
        columns: map.columns, rows, column_nanos: map.column_nanos, cells: map[what], levels, note: map.notes.map(capitalized).join('. ') + '.',
        words: `${rows} ranks, ${sides.find(s => s[0] === what)[1]}, each cell ${seconds(map.column_nanos / 1e9)}`,
      };
    },
    tell(column, row) {
      const i = column * map.ranks.length + row;
      const mpi = map.mpi.length > 0 ? `, in MPI ${seconds(map.mpi[i] / 1e9)}` : '';
      return `rank ${map.ranks[row]} on ${map.nodes[row]}: in I/O ${seconds(map.io[i] / 1e9)}${mpi}`;
    },
  });
  return grid.figure;
}
