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
  document.getElementById('theme').setAttribute('aria-pressed', String(theme === 'dark'));
  redraws = redraws.filter(redraw => redraw());
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
  addEventListener('beforeprint', () => setTheme('light'));
  addEventListener('afterprint', () => setTheme(ownTheme()));
  setTheme(ownTheme());
}

// color returns the value of a custom property of the style.
function color(name) {
  return getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();
}
