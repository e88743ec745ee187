/** The reply to a dead process: none, ever. */
export const never = <T>(): Promise<T> => new Promise(() => undefined);
