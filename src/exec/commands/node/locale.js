// Numbers and dates in the words of en-US, in UTC: what most programs print with
// toLocaleString and Intl. Other languages and zones are refused, not made up.

function check(locales, options = {}) {
  for (const locale of [locales ?? []].flat()) {
    if (!/^en(-US)?$/i.test(String(locale))) throw new RangeError(`Incorrect locale information provided: this sandbox has en-US, not ${locale}`);
  }
  const zone = options.timeZone;
  if (zone !== undefined && !/^(UTC|GMT|Etc\/UTC|Etc\/GMT)$/i.test(zone)) throw new RangeError(`Invalid time zone specified: this sandbox has UTC, not ${zone}`);
  return options;
}

const CURRENCIES = { USD: ['$', 2], EUR: ['€', 2], GBP: ['£', 2], JPY: ['¥', 0], INR: ['₹', 2], CNY: ['CN¥', 2], KRW: ['₩', 0], CAD: ['CA$', 2], AUD: ['A$', 2], BRL: ['R$', 2], MXN: ['MX$', 2] };

// Half away from zero on the decimal digits, as ICU rounds.
function fixed(value, digits) {
  if (value >= 1e21) return BigInt(value).toString();
  const [whole, part = ''] = plain(value).split('.');
  if (part.length <= digits) return digits > 0 ? `${whole}.${part.padEnd(digits, '0')}` : whole;
  let all = BigInt(whole + part.slice(0, digits));
  if (part[digits] >= '5') all += 1n;
  const text = all.toString().padStart(digits + 1, '0');
  return digits > 0 ? `${text.slice(0, -digits)}.${text.slice(-digits)}` : text;
}

function plain(value) {
  const text = String(value);
  const found = /^(\d+)(?:\.(\d+))?e([+-]\d+)$/.exec(text);
  if (!found) return text;
  const [, whole, part = '', exponent] = found, shift = Number(exponent);
  if (shift < 0) return '0.' + '0'.repeat(-shift - 1) + whole + part;
  return (whole + part).padEnd(whole.length + shift, '0');
}

class NumberFormat {
  constructor(locales, options) {
    this.options = check(locales, options);
    Object.defineProperty(this, 'format', { value: (value) => this.#format(value) });
    const { style } = this.options;
    if (style === 'currency' && !this.options.currency) throw new TypeError('Currency code is required with currency style.');
    if (style === 'unit' || ['scientific', 'engineering'].includes(this.options.notation)) throw new RangeError(`this sandbox has no ${style === 'unit' ? 'units' : this.options.notation} in Intl.NumberFormat`);
  }
  #format(value) {
    const o = this.options;
    if (typeof value === 'bigint') value = o.style === undefined ? value : Number(value);
    else value = Number(value);
    if (Number.isNaN(value)) return 'NaN';
    const negative = value < 0 || Object.is(value, -0);
    let size = typeof value === 'bigint' ? (negative ? -value : value) : Math.abs(value), suffix = '';
    const money = o.style === 'currency' ? CURRENCIES[o.currency.toUpperCase()] ?? [`${o.currency.toUpperCase()}\u00a0`, 2] : null;
    if (o.style === 'percent') { size = size * 100; if (size < 1e15) size = Number(size.toPrecision(15)); suffix = '%'; }
    let text;
    if (size === Infinity) text = '∞';
    else {
      let compact = false;
      if (o.notation === 'compact') {
        for (const [limit, mark] of [[1e12, 'T'], [1e9, 'B'], [1e6, 'M'], [1e3, 'K']]) if (size >= limit) { size /= limit; suffix = mark + suffix; break; }
        compact = o.maximumFractionDigits === undefined && o.minimumFractionDigits === undefined;
      }
      if (compact) text = size < 100 ? fixed(size, size < 10 ? 1 : size < 100 && size % 1 ? 0 : 0).replace(/\.0$/, '') : fixed(size, 0);
      else if (o.maximumSignificantDigits !== undefined || o.minimumSignificantDigits !== undefined) {
        text = plain(Number(Number(size).toPrecision(o.maximumSignificantDigits ?? 21)));
      } else {
        const least = o.minimumFractionDigits ?? (money ? Math.min(money[1], o.maximumFractionDigits ?? money[1]) : 0);
        const most = o.maximumFractionDigits ?? Math.max(least, money ? money[1] : o.style === 'percent' ? 0 : 3);
        if (least > most) throw new RangeError('maximumFractionDigits value is out of range.');
        text = fixed(size, most);
        if (text.includes('.')) {
          while (text.endsWith('0') && text.length - text.indexOf('.') - 1 > least) text = text.slice(0, -1);
          text = text.replace(/\.$/, '');
        }
      }
      if (o.minimumIntegerDigits) { const [w, p] = text.split('.'); text = w.padStart(o.minimumIntegerDigits, '0') + (p ? `.${p}` : ''); }
      if (o.useGrouping !== false) text = text.replace(/^\d+/, (whole) => whole.replace(/\B(?=(\d{3})+(?!\d))/g, ','));
    }
    let sign = negative && (/[1-9∞]/.test(text) || Object.is(value, -0) || true) ? '-' : '';
    if (o.signDisplay === 'always' || (o.signDisplay === 'exceptZero' && /[1-9]/.test(text))) sign = negative ? '-' : '+';
    if (o.signDisplay === 'never') sign = '';
    if (money && o.currencyDisplay === 'code') return `${sign}${o.currency.toUpperCase()}\u00a0${text}${suffix}`;
    return `${sign}${money ? money[0] : ''}${text}${suffix}`;
  }
  formatToParts(value) { return [{ type: 'literal', value: this.format(value) }]; }
  resolvedOptions() { return { locale: 'en-US', numberingSystem: 'latn', style: 'decimal', ...this.options }; }
}

const MONTHS = ['January', 'February', 'March', 'April', 'May', 'June', 'July', 'August', 'September', 'October', 'November', 'December'];
const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const two = (number) => String(number).padStart(2, '0');

function dateText(date, o) {
  const year = o.year === '2-digit' ? two(date.getUTCFullYear() % 100) : String(date.getUTCFullYear());
  const day = o.day === '2-digit' ? two(date.getUTCDate()) : String(date.getUTCDate());
  const weekday = o.weekday && (o.weekday === 'long' ? DAYS[date.getUTCDay()] : DAYS[date.getUTCDay()].slice(0, o.weekday === 'short' ? 3 : 1));
  if (o.month === 'long' || o.month === 'short' || o.month === 'narrow') {
    const month = o.month === 'long' ? MONTHS[date.getUTCMonth()] : MONTHS[date.getUTCMonth()].slice(0, o.month === 'short' ? 3 : 1);
    const first = month + (o.day ? ` ${day}` : '');
    return (weekday ? `${weekday}, ` : '') + first + (o.year ? (o.day ? `, ${year}` : ` ${year}`) : '');
  }
  const month = o.month === '2-digit' ? two(date.getUTCMonth() + 1) : String(date.getUTCMonth() + 1);
  const numbers = [o.month && month, o.day && day, o.year && year].filter(Boolean).join('/');
  return weekday ? (numbers ? `${weekday}, ${numbers}` : weekday) : numbers;
}

function timeText(date, o) {
  const day = o.hour12 === false || o.hourCycle === 'h23';
  const hours = date.getUTCHours(), shown = day ? hours : hours % 12 || 12;
  const parts = [];
  if (o.hour) parts.push(o.hour === '2-digit' || (day && o.minute) ? two(shown) : String(shown));
  if (o.minute) parts.push(o.hour || o.second || o.minute === '2-digit' ? two(date.getUTCMinutes()) : String(date.getUTCMinutes()));
  if (o.second) parts.push(o.minute || o.second === '2-digit' ? two(date.getUTCSeconds()) : String(date.getUTCSeconds()));
  let text = parts.join(':');
  if (o.fractionalSecondDigits) text += '.' + String(date.getUTCMilliseconds()).padStart(3, '0').slice(0, o.fractionalSecondDigits);
  if (o.hour && !day) text += ` ${hours < 12 ? 'AM' : 'PM'}`;
  return o.timeZoneName ? `${text} UTC` : text;
}

const STYLES = {
  date: { full: { weekday: 'long', year: 'numeric', month: 'long', day: 'numeric' }, long: { year: 'numeric', month: 'long', day: 'numeric' }, medium: { year: 'numeric', month: 'short', day: 'numeric' }, short: { year: '2-digit', month: 'numeric', day: 'numeric' } },
  time: { full: { hour: 'numeric', minute: '2-digit', second: '2-digit', timeZoneName: 'short' }, long: { hour: 'numeric', minute: '2-digit', second: '2-digit', timeZoneName: 'short' }, medium: { hour: 'numeric', minute: '2-digit', second: '2-digit' }, short: { hour: 'numeric', minute: '2-digit' } },
};

class DateTimeFormat {
  constructor(locales, options, needs = 'date', falls = 'date') {
    const o = { ...check(locales, options) };
    Object.assign(o, STYLES.date[o.dateStyle], STYLES.time[o.timeStyle]);
    const given = (names) => names.some((name) => o[name] !== undefined);
    const dates = ['weekday', 'year', 'month', 'day'], times = ['hour', 'minute', 'second', 'fractionalSecondDigits'];
    const wanted = needs === 'date' ? given(dates) : needs === 'time' ? given(times) : given([...dates, ...times]);
    if (!wanted && !(needs === 'date' && falls === 'date' && given(times))) {
      if (falls !== 'time') Object.assign(o, { year: 'numeric', month: 'numeric', day: 'numeric' });
      if (falls !== 'date') Object.assign(o, { hour: 'numeric', minute: '2-digit', second: '2-digit' });
    }
    this.options = o;
    Object.defineProperty(this, 'format', { value: (date) => this.#format(date) });
  }
  #format(value) {
    const date = value === undefined ? new Date() : new Date(value);
    if (Number.isNaN(date.getTime())) throw new RangeError('Invalid time value');
    const o = this.options, day = dateText(date, o);
    const time = o.hour || o.minute || o.second || o.fractionalSecondDigits ? timeText(date, o) : '';
    const join = o.dateStyle === 'full' || o.dateStyle === 'long' ? ' at ' : ', ';
    return day && time ? day + join + time : day || time;
  }
  resolvedOptions() { return { locale: 'en-US', calendar: 'gregory', numberingSystem: 'latn', timeZone: 'UTC' }; }
}

const bases = (text) => text.normalize('NFD').replace(/\p{M}/gu, '');
function compare(a, b, options = {}) {
  const numeric = options.numeric, sensitivity = options.sensitivity ?? 'variant';
  const fold = (text) => bases(text).toLowerCase();
  const [x, y] = [fold(a), fold(b)];
  const pieces = (text) => numeric ? text.match(/\d+|\D+/g) ?? [] : [text];
  const [p, q] = [pieces(x), pieces(y)];
  for (let i = 0; i < Math.min(p.length, q.length); i++) {
    if (numeric && /^\d/.test(p[i]) && /^\d/.test(q[i])) { const by = Number(p[i]) - Number(q[i]); if (by !== 0) return Math.sign(by); continue; }
    const by = letters(p[i], q[i]);
    if (by !== 0) return by;
  }
  if (p.length !== q.length) return p.length < q.length ? -1 : 1;
  if (sensitivity === 'base') return 0;
  if (sensitivity !== 'case') { const [m, n] = [a.normalize('NFD').toLowerCase(), b.normalize('NFD').toLowerCase()]; if (m !== n) return m < n ? -1 : 1; }
  if (sensitivity === 'accent') return 0;
  for (let i = 0; i < Math.min(a.length, b.length); i++) if (a[i] !== b[i]) return a[i] === a[i].toLowerCase() ? -1 : 1;
  return 0;
}
// White space, then marks, then digits, then letters.
const rank = (char) => /\s/.test(char) ? 0 : /\d/.test(char) ? 2 : /\p{L}/u.test(char) ? 3 : 1;
const MARKS = '_-,;:!?.\'"()[]{}@*/\\&#%`^+<=>|~$';
function letters(a, b) {
  const [x, y] = [[...a], [...b]];
  for (let i = 0; i < Math.min(x.length, y.length); i++) {
    if (x[i] === y[i]) continue;
    const [r, s] = [rank(x[i]), rank(y[i])];
    if (r !== s) return r < s ? -1 : 1;
    if (r === 1) { const [m, n] = [MARKS.indexOf(x[i]), MARKS.indexOf(y[i])]; if (m !== n && m >= 0 && n >= 0) return m < n ? -1 : 1; }
    return x[i] < y[i] ? -1 : 1;
  }
  return Math.sign(x.length - y.length);
}

class Collator {
  constructor(locales, options) { check(locales); this.options = options ?? {}; Object.defineProperty(this, 'compare', { value: (a, b) => compare(String(a), String(b), this.options) }); }
  resolvedOptions() { return { locale: 'en-US', usage: 'sort', sensitivity: 'variant', ...this.options }; }
}
class PluralRules {
  constructor(locales, options) { check(locales); this.options = options ?? {}; }
  select(value) {
    if (this.options.type !== 'ordinal') return value === 1 ? 'one' : 'other';
    const [ten, hundred] = [value % 10, value % 100];
    return ten === 1 && hundred !== 11 ? 'one' : ten === 2 && hundred !== 12 ? 'two' : ten === 3 && hundred !== 13 ? 'few' : 'other';
  }
}
class ListFormat {
  constructor(locales, options) { check(locales); this.word = options?.type === 'disjunction' ? 'or' : 'and'; }
  format(list) {
    const items = [...list];
    if (items.length < 3) return items.join(` ${this.word} `);
    return `${items.slice(0, -1).join(', ')}, ${this.word} ${items[items.length - 1]}`;
  }
}

function install(global) {
  const set = (proto, name, value) => Object.defineProperty(proto, name, { value, writable: true, configurable: true });
  const callable = (Class) => new Proxy(Class, { apply: (_target, _self, args) => new Class(...args) });
  set(Number.prototype, 'toLocaleString', function toLocaleString(locales, options) { return new NumberFormat(locales, options).format(this.valueOf()); });
  set(BigInt.prototype, 'toLocaleString', function toLocaleString(locales, options) { return new NumberFormat(locales, options).format(this.valueOf()); });
  for (const [name, needs, falls] of [['toLocaleString', 'any', 'all'], ['toLocaleDateString', 'date', 'date'], ['toLocaleTimeString', 'time', 'time']]) {
    set(Date.prototype, name, { [name](locales, options) { return Number.isNaN(this.getTime()) ? 'Invalid Date' : new DateTimeFormat(locales, options, needs, falls).format(this); } }[name]);
  }
  set(String.prototype, 'localeCompare', function localeCompare(other, locales, options) { check(locales); return compare(String(this), String(other), options); });
  set(Array.prototype, 'toLocaleString', function toLocaleString(locales, options) { return this.map((item) => item == null ? '' : item.toLocaleString(locales, options)).join(','); });
  global.Intl = Object.defineProperty({}, Symbol.toStringTag, { value: 'Intl', configurable: true });
  for (const [name, Class] of Object.entries({ NumberFormat, DateTimeFormat, Collator, PluralRules, ListFormat })) {
    Class.supportedLocalesOf = (locales) => [locales].flat().filter((it) => /^en(-US)?$/i.test(it));
    set(global.Intl, name, callable(Class));
  }
}
module.exports = { install };
