// Charts are drawn again when the theme changes; redraws holds how. A function
// that returns false is of a chart that is gone.
let redraws = [];
const systemDark = matchMedia('(prefers-color-scheme: dark)');
let chosen = null; // 'light' or 'dark' once a reader has chosen

function isDark() {
  return document.documentElement.dataset.theme === 'dark';
}

function setTheme(theme) {
  if (theme === document.documentElement.dataset.theme) return;
  document.documentElement.dataset.theme = theme;
  document.getElementById('theme').textContent = theme === 'dark' ? 'Use light colours' : 'Use dark colours';
  redrawAll();
}

function redrawAll() {
  redraws = redraws.filter(redraw => redraw());
}

// isPrinting says whether the page has the width of paper: charts are drawn lower
// then, and tables show more rows.
function isPrinting() {
  return document.documentElement.classList.contains('printing');
}

function setPrinting(printing) {
  document.documentElement.classList.toggle('printing', printing);
  setTheme(printing ? 'light' : ownTheme());
  redrawAll();
}

function ownTheme() {
  return chosen || (systemDark.matches ? 'dark' : 'light');
}

function initTheme() {
  document.getElementById('theme').addEventListener('click', () => {
    chosen = isDark() ? 'light' : 'dark';
    setTheme(chosen);
  });
  systemDark.addEventListener('change', () => setTheme(ownTheme()));
  addEventListener('beforeprint', () => setPrinting(true));
  addEventListener('afterprint', () => setPrinting(false));
  setTheme(ownTheme());
}

// color returns the value of a custom property of the style.
function color(name) {
  return getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();
}
