// Signed notes and checkpoints (C2SP): read strictly, verified against the exact text that was signed.

import { concat, fromBase64, isSame, sha256, toHex, utf8 } from "./bytes.js";
import { requireKey, verifySignature } from "./ed25519.js";
import { parseInstant, renderInstant } from "./instant.js";
import { Refusal, shown } from "./refusal.js";

const MAX_BYTES = 1 << 20;
const MAX_SIGNATURES = 128;
const MAX_SIZE = 2n ** 63n - 1n;
const LINE = "\u2014 ";
const SIGNED_AT = "signed_at ";
export const BY_LOG = 1;
export const BY_WITNESS = 4;
const NAME_FAULT = /[+\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/;

const noteFault = (message) => new Refusal("checkpoint.note_form", message);
const formFault = (message) => new Refusal("checkpoint.form", message);

const requireName = (name) => {
  if (!name || NAME_FAULT.test(name)) {
    throw new Refusal("checkpoint.key_name", `expected a name without spaces and \`+\`, got \`${shown(name)}\``);
  }
};

export const parseNote = (text) => {
  if (utf8(text).length > MAX_BYTES) throw noteFault(`expected a note of at most ${MAX_BYTES} bytes`);
  if (/[\u0000-\u0009\u000b-\u001f]/.test(text)) throw noteFault("expected no control character but line feed, got one");
  const blank = text.lastIndexOf("\n\n");
  if (blank === -1) throw noteFault("expected a blank line between the text and its signatures, got none");
  const lines = text.slice(blank + 2);
  if (!lines.endsWith("\n")) throw noteFault("expected the last signature line to end in a line feed");
  const rows = lines.slice(0, -1).split("\n");
  if (rows.length > MAX_SIGNATURES) throw noteFault(`expected at most ${MAX_SIGNATURES} signatures, got ${rows.length}`);
  return { text: `${text.slice(0, blank)}\n`, signatures: rows.map(parseLine) };
};

const parseLine = (row) => {
  const rest = row.startsWith(LINE) ? row.slice(LINE.length) : "";
  const space = rest.indexOf(" ");
  if (space === -1) throw noteFault(`expected \`\u2014 name base64\`, got \`${shown(row)}\``);
  const name = rest.slice(0, space);
  requireName(name);
  const raw = fromBase64(rest.slice(space + 1));
  if (raw === null || raw.length <= 4) throw noteFault(`expected a key hash and a signature of \`${shown(name)}\``);
  return { name, keyHash: raw.slice(0, 4), signature: raw.slice(4) };
};

export const parseCheckpoint = (text) => {
  const note = parseNote(text);
  const lines = note.text.slice(0, -1).split("\n");
  if (lines.length < 3 || lines.includes("")) throw formFault("expected at least origin, size and root, and no empty line");
  const [origin, size, root, ...rest] = lines;
  if (!/^(0|[1-9][0-9]{0,18})$/.test(size) || BigInt(size) > MAX_SIZE) throw formFault(`expected a size, got \`${shown(size)}\``);
  const rootHash = fromBase64(root);
  if (rootHash === null) throw formFault(`expected base64, got \`${shown(root)}\``);
  const signedAt = parseSignedAt(rest);
  if (rootHash.length !== 32) throw formFault(`expected a root of 32 bytes, got ${rootHash.length}`);
  return { note, origin, size: BigInt(size), root: rootHash, signedAt };
};

const parseSignedAt = (lines) => {
  const found = lines.filter((line) => line.startsWith(SIGNED_AT)).map((line) => line.slice(SIGNED_AT.length));
  if (found.length === 0) return null;
  if (found.length > 1) throw formFault(`expected one \`signed_at\` line, got ${found.length}`);
  let at;
  try {
    at = parseInstant(found[0]);
  } catch (error) {
    throw formFault(`expected \`signed_at\` and an instant: ${error.message}`);
  }
  if (renderInstant(at) !== found[0]) throw formFault(`expected \`signed_at ${renderInstant(at)}\`, got \`${found[0]}\``);
  return at;
};

const keyHash = async (name, type, raw) =>
  (await sha256(concat(utf8(`${name}\n`), Uint8Array.of(type), raw))).slice(0, 4);

// The one line of this key; two cannot both be meant.
export const findSignature = async (note, name, type, raw) => {
  requireName(name);
  requireKey(raw);
  const wanted = await keyHash(name, type, raw);
  const found = note.signatures.filter((line) => line.name === name && isSame(line.keyHash, wanted));
  if (found.length > 1) {
    throw new Refusal("checkpoint.repeated_signature", `expected one signature of \`${shown(name)}\`, got ${found.length}`);
  }
  return found[0] ?? null;
};

export const verifyLine = async (name, raw, message, signature) => {
  try {
    await verifySignature(raw, message, signature);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    throw new Refusal("checkpoint.signature", `\`${shown(name)}\` did not make its signature: ${error.message}`);
  }
};

// The first of these keys that signed as the log; null where none of them did.
export const findSigner = async (checkpoint, origin, keys) => {
  if (checkpoint.origin !== origin) {
    throw new Refusal("checkpoint.origin", `expected a checkpoint of \`${origin}\`, got one of \`${shown(checkpoint.origin)}\``);
  }
  let signer = null;
  for (const raw of keys) {
    const line = await findSignature(checkpoint.note, origin, BY_LOG, raw);
    if (line === null) continue;
    await verifyLine(origin, raw, utf8(checkpoint.note.text), line.signature);
    signer ??= raw;
  }
  return signer;
};

export const verifyCosignature = async (checkpoint, witness) => {
  const line = await findSignature(checkpoint.note, witness.name, BY_WITNESS, witness.raw);
  if (line === null) return false;
  if (line.signature.length !== 72) {
    throw new Refusal("checkpoint.signature", `expected a time and a signature of \`${shown(witness.name)}\``);
  }
  const seconds = BigInt(`0x${toHex(line.signature.slice(0, 8))}`);
  if (seconds >= 253_402_300_800n) throw new Refusal("checkpoint.cosignature_time", "expected a time before the year 10000");
  const message = utf8(`cosignature/v1\ntime ${seconds}\n${checkpoint.note.text}`);
  await verifyLine(witness.name, witness.raw, message, line.signature.slice(8));
  return true;
};

// `name+hash+base64(type || key)`, of a log or of a witness.
export const parseVerifierKey = async (text) => {
  const [name, hash, ...rest] = text.trim().split("+");
  const raw = fromBase64(rest.join("+"));
  const isForm = /^[0-9a-f]{8}$/.test(hash ?? "") && raw !== null && raw.length === 33 && [BY_LOG, BY_WITNESS].includes(raw[0]);
  if (!isForm) throw new Refusal("checkpoint.verifier_key", `expected \`name+8 hex digits+base64\`, got \`${shown(text)}\``);
  requireName(name);
  requireKey(raw.slice(1));
  const expected = toHex(await keyHash(name, raw[0], raw.slice(1)));
  if (expected !== hash) throw new Refusal("checkpoint.verifier_key", `expected key hash ${expected}, got ${hash}`);
  return { name, type: raw[0], raw: raw.slice(1) };
};
