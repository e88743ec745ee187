// What the benchmark and the servers that it starts say to each other.

/** `path`: of a Unix socket that leads to the same server. */
export type Ready = { readonly ready: { readonly port: number; readonly token: string; readonly path?: string } };

export type Usage = {
  readonly usage: {
    readonly cpuMs: number;
    /** After a collection, if one was asked for. */
    readonly rss: number;
    readonly heap: number;
    /** Sockets whose readers do not take what there is. */
    readonly backedUp: number;
  };
};

export type Ask = { readonly ask: 'usage'; readonly collect: boolean };

export const payload = JSON.stringify({ input: 'Answer the question in one line.' });
