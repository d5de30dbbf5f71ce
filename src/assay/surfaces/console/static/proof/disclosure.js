// A disclosed value is the one that the entry commits to: the digest of its salt and its canonical text.

import { canonical } from "./canonical.js";
import { digestOf, utf8 } from "./bytes.js";
import { ENTRY_DEPTH } from "./bundle.js";
import { JsonNumber, parseJson } from "./json.js";
import { Refusal, shown } from "./refusal.js";

const KEY = "$commitment";

const pointerFault = (pointer) => new Refusal("commitment.pointer", `expected a JSON pointer to a field, got \`${shown(pointer)}\``);

const tokens = (pointer) => {
  if (!/^(?:\/(?:[^/~]|~[01])*)+$/s.test(pointer)) throw pointerFault(pointer);
  return pointer.slice(1).split("/").map((token) => token.replaceAll("~1", "/").replaceAll("~0", "~"));
};

const step = (node, token, pointer) => {
  if (node instanceof Map && node.has(token)) return node.get(token);
  const isIndex = Array.isArray(node) && /^(0|[1-9][0-9]{0,9})$/.test(token) && Number(token) < node.length;
  if (isIndex) return node[Number(token)];
  throw pointerFault(pointer);
};

const depthOf = (value) => {
  if (value === null || typeof value !== "object" || value instanceof JsonNumber) return 0;
  const items = value instanceof Map ? [...value.values()] : value;
  return 1 + items.reduce((deepest, item) => Math.max(deepest, depthOf(item)), 0);
};

export const verifyDisclosure = async (body, disclosure) => {
  const copy = parseJson(canonical(body), ENTRY_DEPTH);
  const committed = tokens(disclosure.pointer).reduce((node, token) => step(node, token, disclosure.pointer), copy);
  if (!(committed instanceof Map) || committed.size !== 1 || !committed.has(KEY)) {
    throw new Refusal("commitment.absent", `expected a commitment at \`${shown(disclosure.pointer)}\`, got something else`);
  }
  if (depthOf(disclosure.value) > ENTRY_DEPTH) throw new Refusal("json.depth", "the disclosed value is nested too deep");
  if (!/^([0-9a-f]{2})+$/.test(disclosure.salt)) throw new Refusal("commitment.salt", "expected a salt in lower-case hex");
  if (disclosure.salt.length < 32) throw new Refusal("commitment.salt", "expected a salt of at least 16 bytes");
  const digest = await digestOf(utf8(canonical({ salt: disclosure.salt, value: disclosure.value })));
  if (digest !== committed.get(KEY)) {
    throw new Refusal("commitment.mismatch", `the value disclosed for \`${shown(disclosure.pointer)}\` is not the committed one`);
  }
};
