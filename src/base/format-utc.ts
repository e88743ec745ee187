// Formats a point in time in UTC. The time is always passed in; this file reads no clock.
export const isoTime = (at: number): string => new Date(at).toISOString();

const days = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];

export const weekday = (at: number): string => days[new Date(at).getUTCDay()]!;
