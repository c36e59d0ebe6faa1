// Values as a person writes them. What is unknown is a dash; numbers that are none come as texts: "NaN", "inf".

const UNKNOWN = "–";
// Formats are kept: to make one takes longer than to draw a row.
const formats = new Map();
function english(number, options = {}) {
  const {minimumSignificantDigits: least, maximumSignificantDigits: most, minimumFractionDigits: from, maximumFractionDigits: to} = options;
  const key = `${least} ${most} ${from} ${to}`;
  if (!formats.has(key)) formats.set(key, new Intl.NumberFormat("en-US", options));
  return formats.get(key).format(number);
}
const by_name = new Intl.Collator("en", {numeric: true}).compare;
const is_number = (value) => typeof value === "number" && Number.isFinite(value);

// `steady`: with as many digits while it changes.
function figure(value, digits = 3, steady = false) {
  if (!is_there(value)) return UNKNOWN;
  if (!is_number(value)) return String(value);
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e9 || size < 1e-3)) return value.toExponential(digits - 1).replace("e+", "e");
  return english(value, size >= 10 ** (digits - 1) ? {maximumFractionDigits: 0}
    : {minimumSignificantDigits: steady && !Number.isInteger(value) ? digits : 1, maximumSignificantDigits: digits});
}

const whole_number = (value) => (is_number(value) ? english(value, {maximumFractionDigits: 0}) : figure(value));
const percent = (ratio) => (is_number(ratio) ? `${english(100 * ratio, {maximumFractionDigits: ratio > 0.995 && ratio < 1 ? 1 : 0})} %` : UNKNOWN);
const plural = (number, one, many) => `${whole_number(number)} ${number === 1 ? one : many}`;

// 513 ms, 1.24 s, 4 min 12 s, 3 h 20 min, 2 days 4 h
function duration(seconds) {
  if (!is_number(seconds)) return figure(seconds);
  if (seconds < 0) return "-" + duration(-seconds);
  if (seconds === 0) return "0 s";
  if (seconds < 0.9995e-3) return `${figure(seconds * 1e6)} µs`;
  if (seconds < 0.9995) return `${figure(seconds * 1e3)} ms`;
  if (seconds < 59.95) return `${figure(seconds)} s`;
  const s = Math.round(seconds), m = Math.floor(s / 60), hours = Math.floor(s / 3600), days = Math.floor(s / 86400);
  const pair = (large, unit, small, unit2) => `${large} ${unit}` + (small ? ` ${small} ${unit2}` : "");
  if (s < 3600) return pair(m, "min", s % 60, "s");
  if (s < 86400) return pair(hours, "h", m % 60, "min");
  return pair(english(days), days === 1 ? "day" : "days", hours % 24, "h");
}

const gpu_hours = (gpu_seconds) => {
  if (!is_number(gpu_seconds)) return UNKNOWN;
  const hours = gpu_seconds / 3600;
  return hours < 0.05 && hours > 0 ? "< 0.1" : english(hours, {maximumFractionDigits: hours < 100 ? 1 : 0});
};

// How long ago, in one unit: it stands beside the time itself.
function ago(then, now) {
  const s = Math.floor((now - then) / 1000);
  if (s < 1) return "just now";
  if (s < 60) return `${s} s ago`;
  if (s < 3600) return `${Math.floor(s / 60)} min ago`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ago`;
  const days = Math.floor(s / 86400);
  return days === 1 ? "1 day ago" : `${english(days)} days ago`;
}

// Milliseconds since 1970; as alerts have it: 2026-11-22 03:12:05 UTC
const time_text = (ms) => new Date(ms).toISOString().slice(0, 19).replace("T", " ") + " UTC";
const milliseconds = (nanoseconds) => nanoseconds / 1e6;

const is_time = (ms) => is_number(ms) && Math.abs(ms) <= 8.64e15;   // what a Date can be
const time = (ms, now) => (is_time(ms)
  ? [h("time", {datetime: new Date(ms).toISOString()}, time_text(ms)), " ", h("span", {class: "age"}, `(${ago(ms, now)})`)] : UNKNOWN);
const age = (ms, now) => (is_time(ms) ? h("time", {datetime: new Date(ms).toISOString(), title: time_text(ms)}, ago(ms, now)) : UNKNOWN);

// Names as they are, but for characters that would change how what stands around them reads: these are shown by their numbers.
const DECEIVING = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;
const plain = (name) => String(name).replace(DECEIVING, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
const named = (name, properties) => h("bdi", {...properties, class: "name " + (properties?.class ?? "")}, plain(name));
