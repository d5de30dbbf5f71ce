// Strict JSON: a text becomes a value only when every reader would read the same.
//
// Objects become Map, which keeps the order and has no names of its own; numbers keep their text.

import { Refusal, shown } from "./refusal.js";

export class JsonNumber {
  constructor(text) {
    this.text = text;
  }

  get isInteger() {
    return /^-?[0-9]+$/.test(this.text);
  }

  get value() {
    return Number(this.text);
  }
}

const LONGEST_NUMBER = 64;
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?/y;
const BLANK = /[ \t\n\r]*/y;
const PLAIN = /[^"\\\u0000-\u001f]*/y;
const HEX = /[0-9a-fA-F]{4}/y;
const CONSTANT = /NaN|-?Infinity/y;
const ESCAPES = { '"': '"', "\\": "\\", "/": "/", b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };
const WORDS = [["null", null], ["true", true], ["false", false]];

export const decodeText = (bytes, maxBytes) => {
  if (bytes.length > maxBytes) throw new Refusal("json.size", `expected at most ${maxBytes} bytes, got ${bytes.length}`);
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new Refusal("json.encoding", "expected UTF-8, got other bytes");
  }
};

export const parseJson = (text, maxDepth) => {
  if (text.startsWith("\ufeff")) {
    throw new Refusal("json.byte_order_mark", "expected JSON without a byte order mark, got one");
  }
  requireDepth(text, maxDepth);
  const reader = new Reader(text);
  reader.skip();
  const value = reader.read();
  reader.skip();
  if (reader.at < text.length) {
    throw new Refusal("json.trailing", `expected nothing after the value, got \`${shown(text.slice(reader.at))}\``);
  }
  if (reader.isTorn) throw new Refusal("json.lone_surrogate", "expected whole characters, got half of a surrogate pair");
  return value;
};

// Before reading, so that the reader's own recursion is bounded.
const requireDepth = (text, maxDepth) => {
  let depth = 0;
  let deepest = 0;
  let isQuoted = false;
  for (let at = 0; at < text.length; at += 1) {
    const one = text[at];
    if (isQuoted) {
      if (one === "\\") at += 1;
      else if (one === '"') isQuoted = false;
    } else if (one === '"') isQuoted = true;
    else if (one === "[" || one === "{") deepest = Math.max(deepest, (depth += 1));
    else if (one === "]" || one === "}") depth -= 1;
  }
  if (deepest > maxDepth) {
    throw new Refusal("json.depth", `expected at most ${maxDepth} nested arrays and objects, got ${deepest}`);
  }
};

class Reader {
  constructor(text) {
    this.text = text;
    this.at = 0;
    this.isTorn = false;
  }

  take(pattern) {
    pattern.lastIndex = this.at;
    const match = pattern.exec(this.text);
    if (match !== null) this.at += match[0].length;
    return match === null ? null : match[0];
  }

  skip() {
    this.take(BLANK);
  }

  fail(expected) {
    throw new Refusal("json.malformed", `expected ${expected} at character ${this.at}`);
  }

  expect(character) {
    if (this.text[this.at] !== character) this.fail(`\`${character}\``);
    this.at += 1;
  }

  read() {
    const first = this.text[this.at];
    if (first === "{") return this.object();
    if (first === "[") return this.array();
    if (first === '"') return this.string();
    for (const [word, value] of WORDS) {
      if (this.text.startsWith(word, this.at)) {
        this.at += word.length;
        return value;
      }
    }
    const literal = this.take(CONSTANT);
    if (literal !== null) throw new Refusal("json.non_finite", `expected a finite number, got \`${literal}\``);
    return this.number();
  }

  number() {
    const text = this.take(NUMBER);
    if (text === null) this.fail("a value");
    if (text.length > LONGEST_NUMBER) {
      throw new Refusal("json.number_length", `expected at most ${LONGEST_NUMBER} characters, got ${text.length}`);
    }
    if (!Number.isFinite(Number(text))) throw new Refusal("json.number_range", `expected a number, got \`${text}\``);
    return new JsonNumber(text);
  }

  string() {
    this.expect('"');
    let value = "";
    for (;;) {
      value += this.take(PLAIN);
      const stop = this.text[this.at];
      if (stop === '"') break;
      if (stop !== "\\") this.fail("the end of a string");
      this.at += 1;
      value += this.escape();
    }
    this.at += 1;
    if (!value.isWellFormed()) this.isTorn = true;
    return value;
  }

  escape() {
    const one = this.text[this.at];
    this.at += 1;
    if (one !== "u") return ESCAPES[one] ?? this.fail("an escape");
    const hex = this.take(HEX) ?? this.fail("four hex digits");
    return String.fromCharCode(parseInt(hex, 16));
  }

  array() {
    this.expect("[");
    const items = [];
    this.skip();
    if (this.text[this.at] !== "]") {
      items.push(this.read());
      for (this.skip(); this.text[this.at] === ","; this.skip()) {
        this.at += 1;
        this.skip();
        items.push(this.read());
      }
    }
    this.expect("]");
    return items;
  }

  object() {
    this.expect("{");
    const pairs = [];
    this.skip();
    if (this.text[this.at] !== "}") {
      pairs.push(this.pair());
      for (this.skip(); this.text[this.at] === ","; this.skip()) {
        this.at += 1;
        this.skip();
        pairs.push(this.pair());
      }
    }
    this.expect("}");
    const members = new Map(pairs);
    if (members.size !== pairs.length) throw new Refusal("json.duplicate_key", "expected distinct keys, got one twice");
    return members;
  }

  pair() {
    const key = this.string();
    this.skip();
    this.expect(":");
    this.skip();
    return [key, this.read()];
  }
}
