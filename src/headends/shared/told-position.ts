// Ids that a client brings back with its answers, and that say how far the client was told of the run.
//
//   position-decides-nothing. The position comes from the client: it only chooses which events of the caller's own run are sent again.

/** The id with the number of the newest frame that the client was told of. */
export const withPosition = (id: string, frame: number): string => `${id}.${frame}`;

/** `frame` is undefined for an id without a position. */
export const readPosition = (id: string): { readonly id: string; readonly frame: number | undefined } => {
  const [, plain, frame] = /^(.{1,200})\.(\d{1,10})$/u.exec(id) ?? [];
  return plain === undefined ? { id, frame: undefined } : { id: plain, frame: Number(frame) };
};
