// Instants as whole microseconds since 1970, so that they compare exactly.

import { Refusal } from "./refusal.js";

const FORM = /^(\d{4})-(\d\d)-(\d\d)([Tt ])(\d\d):(\d\d):(\d\d)(?:\.(\d+))?([Zz]|[+-]\d\d:?\d\d)?$/;
const DAY_US = 86_400_000_000n;

const epochDays = (year, month, day) => {
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  const isReal = date.getUTCFullYear() === year && date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
  return isReal && year >= 1 ? BigInt(date.getTime() / 86_400_000) : null;
};

export const ALWAYS = epochDays(1, 1, 1) * DAY_US;
const END = (epochDays(9999, 12, 31) + 1n) * DAY_US;

// Null where it is no date-time; `isNaive` where it names no offset.
const readDateTime = (text) => {
  const match = FORM.exec(text);
  if (match === null) return null;
  const [, year, month, day, separator, hour, minute, second, fraction = "", offset] = match;
  const days = epochDays(Number(year), Number(month), Number(day));
  if (days === null || hour > "23" || minute > "59" || second > "59") return null;
  const seconds = BigInt(hour) * 3600n + BigInt(minute) * 60n + BigInt(second) - offsetSeconds(offset);
  return { us: days * DAY_US + seconds * 1_000_000n, separator, fraction, offset };
};

const offsetSeconds = (offset) => {
  if (offset === undefined || /^[Zz]$/.test(offset)) return 0n;
  const [, sign, hours, minutes] = /^([+-])(\d\d):?(\d\d)$/.exec(offset);
  return (sign === "-" ? -1n : 1n) * (BigInt(hours) * 3600n + BigInt(minutes) * 60n);
};

const inRange = (us, text) => {
  if (us < ALWAYS || us >= END) throw new Refusal("form.instant", `\`${text}\` leaves the years 1 to 9999 in UTC`);
  return us;
};

// As records are read: further digits are rounded. Null where it is no date-time; naive is found when it is used.
export const looseInstant = (text) => {
  const read = readDateTime(text);
  if (read === null) return null;
  const digits = read.fraction.padEnd(7, "0");
  const rounded = (BigInt(digits.slice(0, 7)) + 5n) / 10n;
  return { us: read.us + rounded, isNaive: read.offset === undefined };
};

export const requireAware = (instant) => {
  if (instant.isNaive) throw new Refusal("form.naive_datetime", "expected an aware datetime, got a naive one");
  return inRange(instant.us, renderInstant(instant.us));
};

// As entries and checkpoints write it: an offset, and nothing past the microsecond.
export const parseInstant = (text) => {
  const read = readDateTime(text);
  if (read === null || read.separator === " " || /^[+-]\d{4}$/.test(read.offset ?? "") || read.fraction.length > 9) {
    throw new Refusal("form.instant", `expected an RFC 3339 date-time with an offset, got \`${text.slice(0, 80)}\``);
  }
  if (read.offset === undefined) throw new Refusal("form.naive_datetime", `expected an offset or \`Z\`, got \`${text}\``);
  if (/[1-9]/.test(read.fraction.slice(6))) throw new Refusal("form.instant", `expected at most microseconds, got \`${text}\``);
  return inRange(read.us + BigInt(read.fraction.slice(0, 6).padEnd(6, "0")), text);
};

export const renderInstant = (us) => {
  const part = ((us % 1_000_000n) + 1_000_000n) % 1_000_000n;
  const date = new Date(Number((us - part) / 1000n));
  const year = String(date.getUTCFullYear()).padStart(4, "0");
  const rest = date.toISOString().replace(/^[+-]?\d+-/, "").slice(0, 14);
  const fraction = part === 0n ? "" : `.${part.toString().padStart(6, "0").replace(/0+$/, "")}`;
  return `${year}-${rest}${fraction}Z`;
};
