// What the benchmark and the servers that it starts say to each other.

export type Ready = { readonly ready: { readonly port: number; readonly token: string } };

/** After a collection, if one is asked for. */
export type Usage = { readonly usage: { readonly cpuMs: number; readonly rss: number; readonly heap: number } };

export type Ask = { readonly ask: 'usage'; readonly collect: boolean };

export const payload = JSON.stringify({ input: 'Answer the question in one line.' });
