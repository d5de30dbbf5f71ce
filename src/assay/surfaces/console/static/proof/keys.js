// Whom a verifier believes: anchors, and whatever they vouch for; the keys in a bundle never vouch for themselves.

import { canonical } from "./canonical.js";
import { concat, digestOf, fromBase64, fromHex, toHex, utf8 } from "./bytes.js";
import { requireKey, verifySignature } from "./ed25519.js";
import { ALWAYS, renderInstant, requireAware } from "./instant.js";
import { parseVerifierKey } from "./note.js";
import { Refusal, shown } from "./refusal.js";

export const PURPOSES = ["anchor", "graph", "ledger", "review", "reviewer", "transcript", "truth", "witness"];
export const METHODS = ["ed25519", "local_hmac"];
const KEY_ID = /^sha256:[0-9a-f]{64}$/;
const SPKI = "302a300506032b6570032100";

export const requireKeyId = (text) => {
  if (!KEY_ID.test(text)) throw new Refusal("form.id", `expected a key id, got \`${shown(text)}\``);
};

const recordFault = (message) => new Refusal("key.record", message);

// A record as it was read, with everything that it says about itself found true.
export const checkRecord = async (record) => {
  requireKeyId(record.key_id);
  if (record.replaces !== null) requireKeyId(record.replaces);
  await requireKeyForm(record);
  const until = record.valid_until === null ? null : requireAware(record.valid_until);
  const from = requireAware(record.valid_from);
  if (until !== null && until < from) throw recordFault("expected `valid_until` at or after `valid_from`");
  return { ...record, valid_from: from, valid_until: until };
};

const requireKeyForm = async (record) => {
  if (record.method === "local_hmac") {
    if (record.public_key !== null) throw recordFault("expected no public key in a `local_hmac` record, got one");
    return;
  }
  if (!/^[0-9a-f]{64}$/.test(record.public_key ?? "")) throw recordFault("expected a public key of 64 lower-case hex digits");
  const raw = fromHex(record.public_key);
  requireKey(raw);
  const named = await digestOf(raw);
  if (named !== record.key_id) throw recordFault(`expected key id \`${named}\` of its public key, got \`${record.key_id}\``);
};

const recordValue = (record) => ({
  key_id: record.key_id,
  method: record.method,
  purpose: record.purpose,
  public_key: record.public_key,
  valid_from: renderInstant(record.valid_from),
  valid_until: record.valid_until === null ? null : renderInstant(record.valid_until),
  replaces: record.replaces,
});

const holds = async (raw, kind, value, signature) => {
  if (!/^([0-9a-f]{2})+$/.test(signature)) return false;
  try {
    await verifySignature(raw, concat(utf8(`assay/${kind}/v1\n`), utf8(canonical(value))), fromHex(signature));
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return false;
  }
  return true;
};

const isSigned = async (endorsement, raw) =>
  endorsement.record.purpose !== "anchor" && (await holds(raw, "key", recordValue(endorsement.record), endorsement.signature));

const isRetirementSigned = (one, raw) =>
  holds(raw, "retirement", { key_id: one.key_id, reason: one.reason, valid_until: renderInstant(one.valid_until) }, one.signature);

const isValidAt = (record, at) => record.valid_from <= at && (record.valid_until === null || at < record.valid_until);
const rawOf = (record) => (record.public_key === null ? null : fromHex(record.public_key));
const mayEndorse = (endorser, record) => ["anchor", "ledger"].includes(endorser.purpose) || endorser.purpose === record.purpose;

// Follow endorsements from the anchors and from nowhere else: records by key id, retirements applied.
export const trustedKeys = async (anchors, endorsements, retirements) => {
  const widest = await follow(anchors, endorsements, new Map());
  const ends = new Map();
  for (const one of retirements) {
    if (await isRetiredBy(one, widest)) {
      const known = ends.get(one.key_id) ?? one.valid_until;
      ends.set(one.key_id, one.valid_until < known ? one.valid_until : known);
    }
  }
  return ends.size ? follow(anchors, endorsements, ends) : widest;
};

const follow = async (anchors, endorsements, ends) => {
  const found = new Map();
  const waiting = (await anchorRecords(anchors, endorsements)).map((record) => ended(record, ends));
  while (waiting.length) {
    const endorser = waiting.pop();
    const name = JSON.stringify(recordValue(endorser));
    if (found.has(name)) continue;
    found.set(name, endorser);
    for (const one of endorsements) {
      if (one.endorsed_by === endorser.key_id && (await counts(one, endorser))) waiting.push(ended(one.record, ends));
    }
  }
  return byKeyId([...found.values()]);
};

const anchorRecords = async (anchors, endorsements) => {
  const raws = new Map();
  for (const raw of anchors.publicKeys) raws.set(await digestOf(raw), raw);
  // A key id fixes the key's bytes, so an anchor known by its id alone may take them from any record.
  for (const { record } of endorsements) {
    if (anchors.keyIds.has(record.key_id) && record.public_key !== null) raws.set(record.key_id, fromHex(record.public_key));
  }
  const records = [];
  for (const [keyId, raw] of raws) {
    const own = [];
    for (const one of endorsements) {
      const isOwn = one.endorsed_by === keyId && one.record.key_id === keyId;
      if (isOwn && (await isSigned(one, raw))) own.push(one.record);
    }
    records.push(...(own.length ? own : [unlimited(keyId, raw)]));
  }
  return records;
};

const unlimited = (keyId, raw) => ({
  key_id: keyId,
  method: "ed25519",
  purpose: "anchor",
  public_key: toHex(raw),
  valid_from: ALWAYS,
  valid_until: null,
  replaces: null,
});

const counts = async (endorsement, endorser) => {
  const { record } = endorsement;
  const raw = rawOf(endorser);
  const mayCount = record.key_id !== endorser.key_id && raw !== null && isValidAt(endorser, record.valid_from);
  return mayCount && mayEndorse(endorser, record) && (await isSigned(endorsement, raw));
};

const isRetiredBy = async (retirement, widest) => {
  const signers = widest.get(retirement.endorsed_by) ?? [];
  const targets = widest.get(retirement.key_id) ?? [];
  const isItself = retirement.endorsed_by === retirement.key_id;
  const isAllowed = signers.some((signer) => targets.some((target) => isItself || mayEndorse(signer, target)));
  const raw = isAllowed ? rawOf(signers[0]) : null;
  return raw !== null && (await isRetirementSigned(retirement, raw));
};

const ended = (record, ends) => {
  const end = ends.get(record.key_id);
  if (end === undefined || (record.valid_until !== null && record.valid_until <= end)) return record;
  return { ...record, valid_until: end > record.valid_from ? end : record.valid_from };
};

const rank = (record) => [
  record.valid_from,
  record.purpose,
  record.valid_until === null,
  record.valid_until ?? 0n,
  record.replaces ?? "",
];

const compare = (left, right) => {
  const [a, b] = [rank(left), rank(right)];
  const at = a.findIndex((part, index) => part !== b[index]);
  return at === -1 ? 0 : a[at] < b[at] ? -1 : 1;
};

const byKeyId = (records) => {
  const groups = new Map();
  for (const record of records.sort(compare)) groups.set(record.key_id, [...(groups.get(record.key_id) ?? []), record]);
  return groups;
};

// Raise unless the key may sign ledgers at that instant.
export const requireLedgerKey = (ring, keyId, at) => {
  const records = ring.get(keyId) ?? [];
  const serving = records.filter((record) => ["ledger", "anchor"].includes(record.purpose));
  if (serving.some((record) => isValidAt(record, at))) return;
  if (!records.length) throw new Refusal("key.unknown", `expected a key an anchor leads to, got \`${keyId}\``);
  if (!serving.length) throw new Refusal("key.purpose", `expected a key for \`ledger\`, got one for \`${records[0].purpose}\``);
  if (serving.every((record) => at < record.valid_from)) throw new Refusal("key.not_yet_valid", `\`${keyId}\` is not valid yet`);
  throw new Refusal("key.expired", `\`${keyId}\` is not valid any more at ${renderInstant(at)}`);
};

// What a person may paste: key ids, or public keys as hex, base64, PEM or verifier keys; several, one to a line.
export const parseAnchors = async (text) => {
  const anchors = { publicKeys: [], keyIds: new Set() };
  const pem = /-----BEGIN PUBLIC KEY-----([^-]*)-----END PUBLIC KEY-----/g;
  const pems = [...text.matchAll(pem)].map((match) => match[1].replace(/\s/g, ""));
  const lines = text.replace(pem, "").split("\n").map((line) => line.trim()).filter(Boolean);
  for (const line of lines) {
    if (line.startsWith("sha256:")) {
      requireKeyId(line);
      anchors.keyIds.add(line);
    } else anchors.publicKeys.push(await parseKey(line));
  }
  for (const one of pems) anchors.publicKeys.push(fromPem(one));
  anchors.publicKeys.forEach(requireKey);
  return anchors;
};

const parseKey = async (line) => {
  if (/^[0-9a-fA-F]{64}$/.test(line)) return fromHex(line);
  if (/^[A-Za-z0-9+/]{43}=$/.test(line)) {
    const raw = fromBase64(line);
    if (raw !== null) return raw;
  } else if (line.split("+").length >= 3) return (await parseVerifierKey(line)).raw;
  throw new Refusal("key.malformed", "expected a key id, or a public key as PEM, hex, base64 or `name+hash+key`");
};

const fromPem = (body) => {
  const hex = toHex(fromBase64(body) ?? []);
  if (!hex.startsWith(SPKI) || hex.length !== SPKI.length + 64) throw new Refusal("key.malformed", "expected an Ed25519 public key as PEM");
  return fromHex(hex.slice(SPKI.length));
};
