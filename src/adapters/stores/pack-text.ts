// Makes text shorter that has much in common with a dictionary, or with itself, or that holds digests. Made for records: some hundred
// bytes each, far too short for zlib, which takes longer to begin than this takes for all of it.
//
//   packing-pure. What a text becomes depends on the text and the dictionary only.
//   unpacking-checked. Unpacking reads and writes nothing outside its buffers, whatever the bytes are.
//
// The packed text is a sequence of parts. The first byte of each says what it is:
//
//   0x00 + n    the next n + 1 bytes as they are
//   0x80 + n    the next n + 1 bytes as lower-case hexadecimal digits
//   0xc0 + n    n + 4 bytes that were at a position before, which is in the next two bytes; positions begin with the dictionary

const [hexPart, copyPart] = [0x80, 0xc0];
const [plainMax, hexMax, copyMin, copyMax] = [128, 64, 4, 67];

/** Shorter runs of digits are not worth a part of their own. */
const hexDigitsMin = 8;

/** Positions have two bytes. */
const positionsMax = 0x1_00_00;

/** A copy of this length is taken without looking for a longer one. */
const longCopy = 32;

/** How many bytes are compared at once to find a copy. */
const [shortKey, longKey] = [4, 8];

const tableBits = 14;

const digits = Buffer.from('0123456789abcdef');

/** The value of each byte that is a digit; 255 for others. */
const digitValues = new Uint8Array(256).fill(255);
for (const [value, byte] of digits.entries()) digitValues[byte] = value;

/** Not for use by several threads, and each text is finished before the next one begins. */
export class TextPacker {
  /** The dictionary, and behind it the text. */
  readonly #bytes = Buffer.alloc(positionsMax);
  readonly #textAt: number;
  readonly #packed = Buffer.alloc(positionsMax + positionsMax / 64);
  #index: PositionIndex | undefined;
  /** The end of what was packed. */
  #to = 0;

  constructor(dictionary: string) {
    this.#textAt = this.#bytes.write(dictionary);
  }

  /** Null if the text is too long. `first`: a byte to put before it. */
  pack(text: string, first: number): Uint8Array | null {
    if (text.length > positionsMax - this.#textAt || Buffer.byteLength(text) > positionsMax - this.#textAt) return null;
    const end = this.#textAt + this.#bytes.write(text, this.#textAt);
    this.#index ??= new PositionIndex(this.#bytes, this.#textAt);
    this.#index.start();
    this.#packed[0] = first;
    this.#to = 1;
    let plainFrom = this.#textAt;
    let at = plainFrom;
    while (at + longKey <= end) {
      const length = this.#index.find(at, end);
      const hexLength = length > 0 ? 0 : this.#hexDigits(at, end);
      if (length + hexLength === 0) {
        at++;
        continue;
      }
      this.#putPlain(plainFrom, at);
      if (length > 0) this.#putCopy(this.#index.found, length);
      else this.#putHex(at, hexLength);
      at += length + hexLength;
      plainFrom = at;
    }
    this.#putPlain(plainFrom, end);
    return new Uint8Array(this.#packed.subarray(0, this.#to));
  }

  /** `from`: where the first part is. Null if it was not packed like this. */
  unpack(packed: Uint8Array, from: number): string | null {
    let to = this.#textAt;
    for (let at = from; at < packed.length;) {
      const kind = packed[at++]!;
      const room = this.#bytes.length - to;
      if (kind < hexPart) {
        const end = at + kind + 1;
        if (end > packed.length || kind + 1 > room) return null;
        while (at < end) this.#bytes[to++] = packed[at++]!;
      } else if (kind < copyPart) {
        const end = at + kind - hexPart + 1;
        if (end > packed.length || 2 * (end - at) > room) return null;
        for (; at < end; at++) {
          this.#bytes[to++] = digits[packed[at]! >> 4]!;
          this.#bytes[to++] = digits[packed[at]! & 15]!;
        }
      } else {
        const length = kind - copyPart + copyMin;
        if (at + 2 > packed.length || length > room) return null;
        let copied = (packed[at]! << 8) | packed[at + 1]!;
        at += 2;
        // Byte by byte, because a copy may reach into itself. What it has not reached yet is not text.
        if (copied >= to) return null;
        for (const end = to + length; to < end;) this.#bytes[to++] = this.#bytes[copied++]!;
      }
    }
    return this.#bytes.toString('utf8', this.#textAt, to);
  }

  /** How many hexadecimal digits begin here, if they are worth it: an even number. */
  #hexDigits(at: number, end: number): number {
    const bytes = this.#bytes;
    if (digitValues[bytes[at]!] === 255) return 0;
    let last = at + 1;
    const most = Math.min(end, at + 2 * hexMax);
    while (last < most && digitValues[bytes[last]!] !== 255) last++;
    const length = (last - at) & ~1;
    return length < hexDigitsMin ? 0 : length;
  }

  #putPlain(from: number, end: number): void {
    for (let at = from; at < end;) {
      const partEnd = Math.min(end, at + plainMax);
      this.#packed[this.#to++] = partEnd - at - 1;
      while (at < partEnd) this.#packed[this.#to++] = this.#bytes[at++]!;
    }
  }

  #putHex(from: number, length: number): void {
    const bytes = this.#bytes;
    this.#packed[this.#to++] = hexPart + length / 2 - 1;
    // So that the same digest is found again, at least by its beginning.
    this.#index?.add(from);
    for (let at = from; at < from + length; at += 2)
      this.#packed[this.#to++] = (digitValues[bytes[at]!]! << 4) | digitValues[bytes[at + 1]!]!;
  }

  #putCopy(from: number, length: number): void {
    this.#packed[this.#to++] = copyPart + length - copyMin;
    this.#packed[this.#to++] = from >> 8;
    this.#packed[this.#to++] = from & 0xff;
  }
}

/** Finds where the next bytes were before: in the text, or in the dictionary. */
class PositionIndex {
  /** Where `find` found them. */
  found = 0;
  readonly #bytes: Uint8Array;
  readonly #dictionaryEnd: number;
  readonly #byShortKey = new Int32Array(1 << tableBits).fill(-1);
  readonly #byLongKey = new Int32Array(1 << tableBits).fill(-1);
  /** The newest position in the text for each key, counted on over all texts: lower ones are those of earlier texts. */
  readonly #inText = new Int32Array(1 << tableBits).fill(-1);
  #base = 0;

  constructor(bytes: Uint8Array, dictionaryEnd: number) {
    this.#bytes = bytes;
    this.#dictionaryEnd = dictionaryEnd;
    for (let at = 0; at + longKey <= dictionaryEnd; at++) {
      this.#byShortKey[shortHash(bytes, at)] = at;
      this.#byLongKey[longHash(bytes, at)] = at;
    }
  }

  /** Forgets the text before. */
  start(): void {
    this.#base += positionsMax;
    if (this.#base < 1 << 30) return;
    this.#base = 0;
    this.#inText.fill(-1);
  }

  add(at: number): void {
    this.#inText[shortHash(this.#bytes, at)] = this.#base + at;
  }

  /** How many bytes from here on were there before; 0 if they are too few. */
  find(at: number, end: number): number {
    const hash = shortHash(this.#bytes, at);
    const inText = this.#inText[hash]! - this.#base;
    this.#inText[hash] = this.#base + at;
    let best = inText < this.#dictionaryEnd ? 0 : this.#try(inText, at, end, 0);
    if (best < longCopy) best = this.#try(this.#byLongKey[longHash(this.#bytes, at)]!, at, end, best);
    if (best < longKey) best = this.#try(this.#byShortKey[hash]!, at, end, best);
    return best < copyMin ? 0 : best;
  }

  /** The better of this position and the best so far. */
  #try(from: number, at: number, end: number, best: number): number {
    if (from < 0) return best;
    const bytes = this.#bytes;
    const most = Math.min(copyMax, end - at);
    let length = 0;
    while (length < most && bytes[from + length] === bytes[at + length]) length++;
    if (length <= best) return best;
    this.found = from;
    return length;
  }
}

const word = (bytes: Uint8Array, at: number): number =>
  bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);

const shortHash = (bytes: Uint8Array, at: number): number =>
  Math.imul(word(bytes, at), 0x9e_37_79_b1) >>> (32 - tableBits);

const longHash = (bytes: Uint8Array, at: number): number =>
  (Math.imul(word(bytes, at), 0x9e_37_79_b1) ^ Math.imul(word(bytes, at + shortKey), 0x85_eb_ca_6b)) >>>
  (32 - tableBits);
