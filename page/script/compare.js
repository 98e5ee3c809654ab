// What a comparison says: the verdict, and the table behind it.

const comparedRows = [['read', 'read'], ['write', 'write'], ['sync', 'sync'], ['metadata', 'metadata'], ['mapped_read', 'mapped read'], ['mapped_write', 'mapped write'], ['elapsed', 'run time']];

// verdictSections returns the verdict, and the table of the original paper.
function verdictSections(c) {
  const f = c.figures;
  const several = f.confidence !== undefined;
  const head = ['', 'application', 'replay', 'ratio', ...(several ? [`interval (${percent(f.confidence)})`, 'finding'] : []), 'distance'];
  const rows = comparedRows.filter(([key]) => !key.startsWith('mapped') || f.application[key + '_seconds'] !== undefined).map(([key, label]) => {
    const d = (f.profile_distance || {})[key];
    const ratio = f.ratio[key];
    const low = (f.interval_low || {})[key];
    const high = (f.interval_high || {})[key];
    return [label, seconds(f.application[key + '_seconds']), seconds(f.replay[key + '_seconds']), ratioCell(ratio, f.tolerance, f.below_noise_floor.includes(key)),
      ...(several ? [low === undefined ? unknown : `${low.toFixed(3)} to ${high.toFixed(3)}`, (f.finding[key] || unknown).replaceAll('_', ' ')] : []),
      d ? d.max.toFixed(3) : unknown];
  });
  const conclusion = capitalized(c.conclusion);
  const note = several ? `Medians of ${f.application.runs} runs of the application and ${f.replay.runs} of the replay. ` : '';
  return [
    element('p', {class: 'verdict ' + f.verdict},
      element('strong', {}, {within: '✓ ', outside: '✗ ', inconclusive: '? '}[f.verdict] + c.verdict), conclusion ? element('span', {}, conclusion) : null),
    section('compared', 'Application and replay',
      note + 'Time in calls. The distance is the largest vertical one between the two cumulative profiles, both scaled to 1.',
      plainTable('Application and replay', head, rows)),
  ];
}

// differSections list the operations that are I/O, and the files, by how much
// their times differ.
function differSections(f) {
  const operations = f.operations.filter(o => o.category);
  const files = f.files.map(row => ({...row, name: row.original ?? row.name}));
  return [
    differTable({id: 'differ', title: 'Operations that differ most'}, 'operation', operations),
    files.length > 0 ? differTable({id: 'differ-files', title: 'Files that differ most'}, 'file', files) : null,
  ].filter(s => s);
}

function differTable(what, label, list) {
  const rows = list.map(o => ({
    name: o.name, application: o.application.seconds, replay: o.replay.seconds, ratio: o.ratio,
    difference: o.application.seconds === undefined || o.replay.seconds === undefined ? undefined : o.replay.seconds - o.application.seconds,
    size: Math.abs((o.replay.seconds ?? 0) - (o.application.seconds ?? 0)), calls: o.application.calls, replays: o.replay.calls,
  }));
  return newTable({...what, all: rows.length, by: 'size'}, [
    {key: 'name', label, kind: 'words'},
    {key: 'application', label: 'application', kind: 'seconds'},
    {key: 'replay', label: 'replay', kind: 'seconds'},
    {key: 'difference', label: 'difference', kind: 'signed'},
    {key: 'ratio', label: 'ratio', kind: 'ratio'},
    {key: 'calls', label: 'calls', kind: 'number'},
    {key: 'replays', label: 'replay calls', kind: 'number'},
    {key: 'size', label: 'size of difference', kind: 'seconds', extra: true},
  ], rows);
}

// ratioCell says a ratio, and by a mark whether it is inside the tolerance.
function ratioCell(ratio, tolerance, noise) {
  if (ratio === undefined) return unknown;
  const inside = Math.abs(ratio - 1) <= tolerance * (1 + 1e-9);
  const [name, mark, words] = noise ? ['small', '', 'too short to be judged'] : inside ? ['within', ' ✓', 'inside the tolerance'] : ['outside', ' ✗', 'outside the tolerance'];
  return element('span', {class: name, title: words}, ratio.toFixed(3), element('span', {'aria-hidden': 'true'}, mark), element('span', {class: 'hidden'}, ', ' + words));
}
