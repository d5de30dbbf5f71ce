// Bytes and their texts: UTF-8, hex, base64 with one spelling, SHA-256.

const encoder = new TextEncoder();

export const utf8 = (text) => encoder.encode(text);

export const concat = (...parts) => {
  const whole = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
};

export const toHex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

export const fromHex = (text) => Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));

export const isSame = (left, right) => toHex(left) === toHex(right);

export const toBase64 = (bytes) => {
  let binary = "";
  for (let at = 0; at < bytes.length; at += 0x8000) {
    binary += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  }
  return btoa(binary);
};

// Null for whatever an encoder would not have written.
export const fromBase64 = (text) => {
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text) || text.length % 4) return null;
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  return toBase64(bytes) === text ? bytes : null;
};

export const sha256 = async (bytes) => new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));

export const digestOf = async (bytes) => `sha256:${toHex(await sha256(bytes))}`;
