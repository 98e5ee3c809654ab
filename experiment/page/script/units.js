const thin = '\u202f'; // a narrow space that doesn't break
const unknown = '–';
const plainNumber = new Intl.NumberFormat('en', {maximumFractionDigits: 0});

function digits(value, n) {
  if (value === 0) return '0';
  const size = Math.floor(Math.log10(Math.abs(value)));
  return value.toFixed(Math.min(Math.max(n - 1 - size, 0), 9));
}

function count(n) {
  return plainNumber.format(n).replaceAll(',', thin);
}

const timeUnits = [[1, 's'], [1e-3, 'ms'], [1e-6, 'µs'], [1e-9, 'ns']];

function scaled(value, units, n) {
  if (value === null || value === undefined) return unknown;
  // What would be rounded up to 1000 of a unit is 1 of the next.
  const [scale, name] = units.find(u => Math.abs(value) >= u[0] * 0.9995) || units.at(-1);
  return digits(value / (scale || 1), n) + thin + name;
}

// brief leaves out zeros at the end.
function brief(text) {
  return text.includes('.') ? text.replace(/\.?0+(?=[^\d.]|$)/, '') : text;
}

// capitalized returns a sentence with a capital at its beginning.
function capitalized(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

// seconds formats a time with four digits.
function seconds(value) {
  return value === 0 ? '0' + thin + 's' : scaled(value, timeUnits, 4);
}

// Amounts of bytes are counted in thousands, as in the text of pianola profile;
// sizes and offsets, which are mostly powers of two, in 1024s.
const byteUnits = [[1e18, 'EB'], [1e15, 'PB'], [1e12, 'TB'], [1e9, 'GB'], [1e6, 'MB'], [1e3, 'kB'], [0, 'B']];
const sizeUnits = [[2 ** 60, 'EiB'], [2 ** 50, 'PiB'], [2 ** 40, 'TiB'], [2 ** 30, 'GiB'], [2 ** 20, 'MiB'], [2 ** 10, 'KiB'], [0, 'B']];

function bytes(value) {
  return value < 1000 ? plainBytes(value) : scaled(value, byteUnits, 3);
}

function size(value) {
  if (value < 1024) return plainBytes(value);
  return brief(scaled(value, sizeUnits, 4));
}

function plainBytes(value) {
  return value === null || value === undefined ? unknown : brief(digits(value, 3)) + thin + 'B';
}

function rate(value) {
  return value === null || value === undefined ? unknown : bytes(value) + '/s';
}

const countUnits = [[1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'k'], [0, '']];

// amount formats a number that need not be exact.
function amount(value) {
  if (value === null || value === undefined) return unknown;
  return Math.abs(value) < 1000 ? brief(digits(value, 3)) : brief(scaled(value, countUnits, 3));
}

function percent(part) {
  if (part === null || part === undefined) return unknown;
  const text = part > 0 && part < 0.0005 ? '<0.1' : (part * 100).toFixed(1).replace('.0', '');
  return text + thin + '%';
}

// ticks formats the numbers of an axis in one unit.
function ticks(units) {
  return values => {
    const largest = Math.max(...values.map(Math.abs));
    const [scale, name] = units.find(u => largest >= u[0]) || units.at(-1);
    return values.map(v => v === 0 ? '0' : +(v / (scale || 1)).toPrecision(6) + (name ? thin + name : ''));
  };
}

// sum adds up a list.
function sum(list, of) {
  return list.reduce((a, b, i) => a + of(b, i), 0);
}
