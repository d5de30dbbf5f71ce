// Canonical text in two profiles: `ski-3.0` is RFC 8785 over NFC strings, `kaori-2.1` is Kaori 3.2.

import { JsonNumber } from "./json.js";
import { Refusal } from "./refusal.js";

const MAX_DEPTH = 128;
export const PROFILES = ["ski-3.0", "kaori-2.1"];
// What the specification's own language calls white space.
const SPACES = /[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/g;
const ESCAPES = { '"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r" };

export const canonical = (value, profile = "ski-3.0", depth = 0) => {
  if (value === null || typeof value === "boolean") return String(value);
  if (typeof value === "string") return quoted(normalised(value, profile));
  if (value instanceof JsonNumber || typeof value === "number") return numberText(value, profile);
  if (depth >= MAX_DEPTH) throw new Refusal("canonical.depth", `expected at most ${MAX_DEPTH} nested containers`);
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item, profile, depth + 1)).join(",")}]`;
  return objectText(value, profile, depth);
};

const objectText = (value, profile, depth) => {
  const members = new Map();
  for (const [key, item] of value instanceof Map ? value : Object.entries(value)) {
    const name = normalised(key, profile);
    if (members.has(name)) throw new Refusal("canonical.key_collision", `expected distinct keys, got \`${name}\` twice`);
    members.set(name, canonical(item, profile, depth + 1));
  }
  const names = [...members.keys()].sort(profile === "kaori-2.1" ? byCodePoint : undefined);
  return `{${names.map((name) => `${quoted(name)}:${members.get(name)}`).join(",")}}`;
};

const byCodePoint = (left, right) => {
  const a = Array.from(left, (one) => one.codePointAt(0));
  const b = Array.from(right, (one) => one.codePointAt(0));
  const at = a.findIndex((point, index) => point !== b[index]);
  return at === -1 ? a.length - b.length : a[at] - (b[at] ?? -1);
};

const normalised = (text, profile) => {
  const whole = text.normalize("NFC");
  return profile === "kaori-2.1" ? whole.replace(SPACES, " ").replace(/^ | $/g, "") : whole;
};

const quoted = (text) =>
  `"${text.replace(/["\\\u0000-\u001f]/g, (one) => ESCAPES[one] ?? `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`)}"`;

const numberText = (given, profile) => {
  const value = typeof given === "number" ? given : given.value;
  const isSafe = Math.abs(value) <= Number.MAX_SAFE_INTEGER;
  if (profile === "ski-3.0" || (isSafe && Number.isInteger(value))) return String(value === 0 ? 0 : value);
  if (!isSafe) throw new Refusal("canonical.integer_range", "expected a number within 2^53 - 1 of zero");
  return sixPlaces(String(value));
};

// Half away from zero at six places, decided on the shortest text of the number.
const sixPlaces = (text) => {
  const [, sign, whole, fraction = "", exponent = "0"] = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(text);
  const shift = 7 - fraction.length + Number(exponent);
  const digits = BigInt(whole + fraction);
  const sevenths = shift >= 0 ? digits * 10n ** BigInt(shift) : digits / 10n ** BigInt(-shift);
  const millionths = ((sevenths + 5n) / 10n).toString().padStart(7, "0");
  const rounded = `${millionths.slice(0, -6)}.${millionths.slice(-6)}`.replace(/0+$/, "").replace(/\.$/, "");
  return rounded === "0" ? "0" : sign + rounded;
};
