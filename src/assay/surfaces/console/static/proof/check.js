// Check a proof bundle against the keys a verifier trusts: the same checks, order and codes as `assay verify`.
//
// A check that cannot be tried because an earlier one failed says so; it never counts as passed.

import { parseBundle, parseEntry } from "./bundle.js";
import { digestOf, fromHex, utf8 } from "./bytes.js";
import { canVerify } from "./ed25519.js";
import { verifyDisclosure } from "./disclosure.js";
import { renderInstant } from "./instant.js";
import { parseAnchors, requireLedgerKey, trustedKeys } from "./keys.js";
import { leafHash, verifyInclusion } from "./merkle.js";
import { BY_WITNESS, findSigner, parseCheckpoint, parseVerifierKey, verifyCosignature } from "./note.js";
import { Refusal, shown } from "./refusal.js";

class NotChecked extends Error {}

const need = (value, message) => {
  if (value === undefined || value === null) throw new NotChecked(message);
  return value;
};

const entryHash = async (run) => {
  const found = await digestOf(utf8(run.bundle.entry));
  if (found !== run.bundle.entry_hash) throw new Refusal("proof.entry_hash", `expected ${shown(run.bundle.entry_hash)}, got ${found}`);
  return `the entry's text has hash ${found}`;
};

const entryForm = async (run) => {
  run.head = parseEntry(run.bundle.entry);
  return `entry ${run.head.sequence_number} of \`${run.head.tenant_id}\`, ${run.head.kind}, ${run.head.timestamp}`;
};

const checkpointForm = async (run) => {
  run.signed = parseCheckpoint(run.bundle.checkpoint);
  return `checkpoint of \`${run.signed.origin}\` at size ${run.signed.size}`;
};

const head = (run) => need(run.head, "the entry could not be read");
const signed = (run) => need(run.signed, "the checkpoint could not be read");

const leaf = async (run) => {
  const { sequence_number: number } = head(run);
  const { size } = signed(run);
  const { leaf_index: index, tree_size: claimed } = run.bundle;
  if (index !== number - 1n) throw new Refusal("proof.leaf", `expected leaf ${number - 1n} by the entry, got ${index}`);
  if (claimed !== size) throw new Refusal("proof.leaf", `expected size ${size} by the checkpoint, got ${claimed}`);
  return `leaf ${index} of ${size}`;
};

const inclusion = async (run) => {
  const { size, root } = signed(run);
  const path = run.bundle.inclusion_path;
  await verifyInclusion(await leafHash(utf8(run.bundle.entry)), run.bundle.leaf_index, size, path, root);
  return `${path.length} hashes lead from the entry to the checkpoint's root`;
};

const checkpointSignature = async (run) => {
  const checkpoint = signed(run);
  const signer = await findSigner(checkpoint, run.origin ?? checkpoint.origin, candidates(run));
  run.signer = await digestOf(need(signer, "expected a signature of a known key, got only those of others"));
  return `signed by ${run.signer}`;
};

// Trusted keys first, so that among several signatures a trusted one is found.
const candidates = (run) => {
  const records = [...run.ring.values()].flat().concat(run.bundle.keys.map((one) => one.record));
  const keys = records.map((record) => record.public_key).filter((key) => key !== null);
  return [...new Set(keys)].map(fromHex);
};

const signer = async (run) => {
  signed(run);
  if (run.signer === undefined) throw new Refusal("proof.untrusted_signer", "expected a signature of a trusted key, got none");
  if (!run.ring.has(run.signer)) throw new Refusal("proof.untrusted_signer", `expected a key that an anchor leads to, got ${run.signer}`);
  return run.anchorIds.has(run.signer) ? "an anchor" : "an anchor leads to it by the keys in the bundle";
};

const keyValidity = async (run) => {
  if (run.signer === undefined || !run.ring.has(run.signer)) throw new NotChecked("the signer is not trusted");
  const { signedAt } = signed(run);
  if (signedAt === null) throw new Refusal("proof.signing_time", "expected a `signed_at` line in the checkpoint, got none");
  requireLedgerKey(run.ring, run.signer, signedAt);
  return `valid for ledgers at ${renderInstant(signedAt)}`;
};

const cosignatures = async (run) => {
  if (!run.witnesses.length) throw new NotChecked("no witness was asked for");
  const checkpoint = signed(run);
  const found = new Set();
  for (const witness of run.witnesses) {
    if (await verifyCosignature(checkpoint, witness)) found.add(await digestOf(witness.raw));
  }
  const wanted = run.witnesses.length;
  if (found.size < wanted) throw new Refusal("checkpoint.cosignatures", `expected cosignatures of ${wanted} witnesses, got ${found.size}`);
  return `${found.size} witnesses cosigned, ${wanted} were asked for`;
};

const disclosures = async (run) => {
  if (!run.bundle.disclosures.length) throw new NotChecked("nothing is disclosed");
  const { body } = head(run);
  for (const one of run.bundle.disclosures) await verifyDisclosure(body, one);
  return `${run.bundle.disclosures.length} values are those the entry commits to`;
};

// The output of an answer is the one whose hash its entry names; what a state was compiled from is for `assay verify`.
const namedOutput = ({ kind, body }) => (kind === "answer.delivered" && body instanceof Map ? body.get("output_hash") : undefined);

const attachments = async (run) => {
  if (!run.bundle.attachments.length) throw new NotChecked("nothing is attached");
  for (const one of run.bundle.attachments) {
    const found = await digestOf(one.content_base64);
    if (found !== one.sha256) throw new Refusal("proof.attachment", `expected ${shown(one.sha256)} for \`${shown(one.name)}\`, got ${found}`);
    if (one.kind === "assay-answer-output" && found !== namedOutput(head(run))) {
      throw new Refusal("proof.attachment", `expected the output that the entry names in \`${shown(one.name)}\`, got ${found}`);
    }
  }
  return `${run.bundle.attachments.length} attachments have their hashes`;
};

const STEPS = {
  entry_hash: entryHash,
  entry_form: entryForm,
  checkpoint_form: checkpointForm,
  leaf,
  inclusion,
  checkpoint_signature: checkpointSignature,
  signer,
  key_validity: keyValidity,
  cosignatures,
  disclosures,
  attachments,
};
const OPTIONAL = ["cosignatures", "disclosures", "attachments"];

const attempt = async (name, step, run) => {
  try {
    return { name, outcome: "ok", message: await step(run), code: null };
  } catch (error) {
    if (error instanceof NotChecked) return { name, outcome: "not_checked", message: error.message, code: null };
    if (error instanceof Refusal) return { name, outcome: "failed", message: error.message, code: error.code };
    throw error;
  }
};

// `received` are the bytes of the file; `trust`, `witnesses` and `origin` are texts as a person gives them.
export const checkBundle = async (received, { trust = "", witnesses = "", origin = null } = {}) => {
  if (!(await canVerify())) throw new Refusal("browser.ed25519", "this browser cannot check Ed25519: use `assay verify`");
  const bundle = await parseBundle(received);
  const anchors = await parseAnchors(trust);
  const ids = await Promise.all(anchors.publicKeys.map(digestOf));
  const lines = witnesses.split("\n").map((line) => line.trim()).filter(Boolean);
  const run = {
    bundle,
    origin,
    anchorIds: new Set([...anchors.keyIds, ...ids]),
    ring: await trustedKeys(anchors, bundle.keys, bundle.retirements),
    witnesses: await Promise.all(lines.map(parseWitness)),
  };
  const checks = [];
  for (const [name, step] of Object.entries(STEPS)) checks.push(await attempt(name, step, run));
  const failure = checks.find((check) => check.outcome === "failed");
  const missing = checks.some((check) => check.outcome === "not_checked" && !OPTIONAL.includes(check.name));
  const entry = run.head === undefined ? null : bundle.entry;
  return { holds: failure === undefined && !missing, code: failure?.code ?? null, checks, signer: run.signer ?? null, entry };
};

const parseWitness = async (line) => {
  const key = await parseVerifierKey(line);
  if (key.type !== BY_WITNESS) throw new Refusal("checkpoint.verifier_key", "expected the key of a witness, got that of a log");
  return key;
};
