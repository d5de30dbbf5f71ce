// Inclusion by RFC 9162: a leaf is SHA-256(0x00 || bytes), a node SHA-256(0x01 || left || right).

import { concat, isSame, sha256, toHex } from "./bytes.js";
import { Refusal } from "./refusal.js";

const MAX_SIZE = 2n ** 63n - 1n;
const LEAF = Uint8Array.of(0);
const NODE = Uint8Array.of(1);

export const leafHash = (content) => sha256(concat(LEAF, content));
const bitLength = (value) => (value === 0n ? 0 : value.toString(2).length);
const bitCount = (value) => value.toString(2).replaceAll("0", "").length;

// Index and size are BigInt; the size and the root must come from a signed checkpoint.
export const verifyInclusion = async (leaf, index, size, path, root) => {
  if (size < 0n || size > MAX_SIZE || index < 0n || index >= size) {
    throw new Refusal("merkle.range", `expected a leaf index from 0 and below ${size}, got ${index}`);
  }
  const inner = bitLength(index ^ (size - 1n));
  const expected = inner + bitCount(index >> BigInt(inner));
  if (path.length !== expected) {
    throw new Refusal("merkle.path_length", `expected a path of ${expected} hashes, got ${path.length}`);
  }
  if ([...path, leaf, root].some((hash) => hash.length !== 32)) {
    throw new Refusal("merkle.hash_length", "expected hashes of 32 bytes, got one of another length");
  }
  let node = leaf;
  for (const [height, sibling] of path.entries()) {
    const isLeft = height >= inner || (index >> BigInt(height)) & 1n;
    node = await sha256(isLeft ? concat(NODE, sibling, node) : concat(NODE, node, sibling));
  }
  if (!isSame(node, root)) {
    throw new Refusal("merkle.root_mismatch", `leaf ${index} leads to root ${toHex(node)}, expected ${toHex(root)}`);
  }
};
