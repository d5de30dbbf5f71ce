// The proof bundle, read strictly: unknown or repeated keys, another format or loose base64 are refused.

import { canonical, PROFILES } from "./canonical.js";
import { fromBase64, utf8 } from "./bytes.js";
import { looseInstant, parseInstant, requireAware } from "./instant.js";
import { decodeText, JsonNumber, parseJson } from "./json.js";
import { checkRecord, METHODS, PURPOSES, requireKeyId } from "./keys.js";
import { Refusal, shown } from "./refusal.js";

export const FORMAT = "assay-proof-bundle/1";
const BUNDLE_BYTES = 64 * 1024 * 1024;
const BUNDLE_DEPTH = 136;
const ENTRY_BYTES = 16 * 1024 * 1024;
export const ENTRY_DEPTH = 128;
const ZERO = `sha256:${"0".repeat(64)}`;

const fault = (message) => new Refusal("proof.form", `expected a bundle of \`${FORMAT}\`: ${message}`);

// Readers of one field: each gives the value, or refuses.
const text = (value) => (typeof value === "string" ? value : refuse("a string"));
const textOrNull = (value) => (value === null ? null : text(value));
const oneOf = (names) => (value) => (names.includes(value) ? value : refuse(`one of ${names.join(", ")}`));
const integer = (value) => (value instanceof JsonNumber && value.isInteger ? BigInt(value.text) : refuse("a whole number"));
const bytes = (value) => fromBase64(text(value)) ?? refuse("canonical base64");
const instant = (value) => looseInstant(text(value)) ?? refuse("a date-time");
const instantOrNull = (value) => (value === null ? null : instant(value));
const listOf = (read) => async (value) => {
  if (!Array.isArray(value)) refuse("an array");
  const items = [];
  for (const item of value) items.push(await read(item));
  return items;
};

const refuse = (expected) => {
  throw fault(`expected ${expected}`);
};

// An object with exactly these fields; those with a default may be absent.
const object = (fields, defaults = {}, finish = (found) => found) => async (value) => {
  if (!(value instanceof Map)) refuse("an object");
  const found = {};
  for (const [name, item] of value) {
    if (!Object.hasOwn(fields, name)) throw fault(`unknown field \`${shown(name)}\``);
    found[name] = await fields[name](item);
  }
  for (const name of Object.keys(fields)) {
    if (Object.hasOwn(found, name)) continue;
    if (!Object.hasOwn(defaults, name)) throw fault(`missing field \`${name}\``);
    found[name] = defaults[name];
  }
  return finish(found);
};

const record = object(
  {
    key_id: text,
    method: oneOf(METHODS),
    purpose: oneOf(PURPOSES),
    public_key: textOrNull,
    valid_from: instant,
    valid_until: instantOrNull,
    replaces: textOrNull,
  },
  { valid_until: null, replaces: null },
  checkRecord,
);
const endorsement = object({ record, endorsed_by: text, signature: text });
const retirement = object(
  { key_id: text, valid_until: instant, reason: text, endorsed_by: text, signature: text },
  {},
  (found) => {
    requireKeyId(found.key_id);
    return { ...found, valid_until: requireAware(found.valid_until) };
  },
);
const disclosure = object({ pointer: text, salt: text, value: (value) => value });
const attachment = object({ kind: text, name: text, sha256: text, content_base64: bytes });
const bundle = object(
  {
    entry: text,
    entry_hash: text,
    leaf_index: integer,
    tree_size: integer,
    inclusion_path: listOf(bytes),
    checkpoint: text,
    keys: listOf(endorsement),
    retirements: listOf(retirement),
    disclosures: listOf(disclosure),
    attachments: listOf(attachment),
    format: oneOf([FORMAT]),
  },
  { keys: [], retirements: [], disclosures: [], attachments: [] },
);

export const parseBundle = (received) => bundle(parseJson(decodeText(received, BUNDLE_BYTES), BUNDLE_DEPTH));

const formFault = (message) => new Refusal("proof.entry_form", `expected a ledger entry: ${message}`);

// The fields that every entry has; the text must be exactly its own canonical form.
export const parseEntry = (given) => {
  try {
    return readEntry(given);
  } catch (error) {
    if (!(error instanceof Refusal) || error.code === "proof.entry_form") throw error;
    throw formFault(error.message);
  }
};

const readEntry = (given) => {
  const document = parseJson(decodeText(utf8(given), ENTRY_BYTES), ENTRY_DEPTH);
  if (!(document instanceof Map)) throw formFault("expected an object");
  const names = ["tenant_id", "previous_hash", "timestamp", "kind", "schema_version", "profile"];
  const head = Object.fromEntries(names.map((name) => [name, document.get(name)]));
  const sequence = document.get("sequence_number");
  const isSafe = sequence instanceof JsonNumber && sequence.isInteger && Number.isSafeInteger(sequence.value);
  if (!names.every((name) => typeof head[name] === "string") || !isSafe) throw formFault("a field is missing or of another type");
  if (!(document.get("body") instanceof Map)) throw formFault("expected an object as `body`");
  if (!PROFILES.includes(head.profile)) throw formFault(`unknown profile \`${shown(head.profile)}\``);
  if (!/^[a-z0-9][a-z0-9._-]{0,62}$/.test(head.tenant_id)) throw formFault("expected a tenant");
  if (!/^sha256:[0-9a-f]{64}$/.test(head.previous_hash)) throw formFault("expected a digest as `previous_hash`");
  parseInstant(head.timestamp);
  if (canonical(document, head.profile) !== given) throw formFault("got another text of the same value");
  const number = BigInt(sequence.value);
  if (number < 1n) throw formFault(`expected a sequence number of 1 or more, got ${number}`);
  if ((head.previous_hash === ZERO) !== (number === 1n)) throw formFault("expected the zero hash before entry 1 and only there");
  return { ...head, sequence_number: number, body: document.get("body") };
};
