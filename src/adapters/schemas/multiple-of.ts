/** Exact for the decimal numbers that were written: 19.99 is a multiple of 0.01. */
export const isMultipleOf = (value: number, divisor: number): boolean => {
  // JSON can contain 1e400, which is read as Infinity.
  if (!Number.isFinite(value)) return false;
  if (Number.isInteger(value) && Number.isInteger(divisor)) return value % divisor === 0;
  const [one, other] = [decimal(value), decimal(divisor)];
  const exponent = Math.min(one.exponent, other.exponent);
  const scale = (number: Decimal): bigint => number.digits * 10n ** BigInt(number.exponent - exponent);
  return scale(one) % scale(other) === 0n;
};

type Decimal = { readonly digits: bigint; readonly exponent: number };

const decimal = (value: number): Decimal => {
  const [mantissa = '', exponent = '0'] = String(value).split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  return { digits: BigInt(whole + fraction), exponent: Number(exponent) - fraction.length };
};
