// Ed25519: keys that are canonical points of large order, signatures by the browser's own WebCrypto.

import { Refusal } from "./refusal.js";
import { toHex } from "./bytes.js";

const P = 2n ** 255n - 19n;
const mod = (value) => ((value % P) + P) % P;

const power = (base, exponent) => {
  let result = 1n;
  for (let left = exponent, square = mod(base); left > 0n; left >>= 1n, square = mod(square * square)) {
    if (left & 1n) result = mod(result * square);
  }
  return result;
};

const inverse = (value) => power(value, P - 2n);
const D = mod(-121665n * inverse(121666n));

export const requireKey = (raw) => {
  if (raw.length !== 32) throw new Refusal("key.malformed", `expected 32 bytes of Ed25519 public key, got ${raw.length}`);
  const y = BigInt(`0x${toHex(Uint8Array.from(raw).reverse())}`) & ~(1n << 255n);
  const square = mod(y * y);
  const xSquare = mod((square - 1n) * inverse(D * square + 1n));
  if (y >= P || power(xSquare, (P - 1n) / 2n) > 1n) {
    throw new Refusal("key.malformed", `expected a canonical point of edwards25519, got \`${toHex(raw)}\``);
  }
  if (mod(y * (square - 1n) * (D * square * square + 2n * square - 1n)) === 0n) {
    throw new Refusal("key.weak", `expected a point of large order, got \`${toHex(raw)}\``);
  }
};

// Whether this browser can check signatures at all; without it nothing holds.
export const canVerify = async () => {
  try {
    await crypto.subtle.importKey("raw", new Uint8Array(32).fill(9), "Ed25519", false, ["verify"]);
  } catch (error) {
    return error.name !== "NotSupportedError";
  }
  return true;
};

export const verifySignature = async (raw, message, signature) => {
  if (signature.length !== 64) {
    throw new Refusal("signature.length", `expected 64 bytes of Ed25519 signature, got ${signature.length}`);
  }
  requireKey(raw);
  const key = await crypto.subtle.importKey("raw", raw, "Ed25519", false, ["verify"]);
  if (!(await crypto.subtle.verify("Ed25519", key, signature, message))) {
    throw new Refusal("signature.invalid", `the signature is not by key \`${toHex(raw)}\``);
  }
};
