// A refusal with its stable code: the same codes as on the command line.

export class Refusal extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

export const shown = (text) => String(text).slice(0, 80);
