/** What the dead are answered. */
export const never = <T>(): Promise<T> => new Promise(() => undefined);
