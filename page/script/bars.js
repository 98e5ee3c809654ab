// Charts whose x is a number of classes.

// barChart: {title, note, summary, classes: [text], series, data, show, y}.
function barChart(what) {
  const n = what.classes.length;
  const x = what.classes.map((_, i) => i);
  const data = [x, ...what.data];
  const xText = (_, i) => what.classes[i];
  return chart({
    ...what, data, xText, fixed: true, height: 240,
    series: what.series.map((s, i) => ({...s, bars: {at: i, of: what.series.length}})),
    x: {
      classes: true,
      range: () => [-0.6, n - 0.4],
      splits: u => {
        const each = Math.max(Math.ceil(n / Math.max(Math.floor(u.width / 64), 1)), 1);
        return x.filter(i => i % each === 0);
      },
      ticks: values => values.map(i => what.classes[i] ?? ''),
    },
    table: () => [[what.className, ...what.series.map(s => s.label)], rowsOf(data, xText, what.show, n)],
  });
}
