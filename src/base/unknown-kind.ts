/** For readers of logs. The compiler checks that every kind is handled; a log of another build may still contain another one. */
export const unknownKind = <T>(_kind: never, fallback: T): T => fallback;
