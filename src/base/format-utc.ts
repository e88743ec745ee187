// A point in time as words, in UTC. Arithmetic only: the time itself is handed in.
export const isoTime = (at: number): string => new Date(at).toISOString();

const days = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];

export const weekday = (at: number): string => days[new Date(at).getUTCDay()]!;
