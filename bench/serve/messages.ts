// Messages between the benchmark and the servers it starts.

/** `path`: a Unix socket that leads to the same server. */
export type Ready = { readonly ready: { readonly port: number; readonly token: string; readonly path?: string } };

export type Usage = {
  readonly usage: {
    readonly cpuMs: number;
    /** After a garbage collection, if one was requested. */
    readonly rss: number;
    readonly heap: number;
    /** The heap, and buffers outside of it. */
    readonly memory: number;
    /** Sockets whose readers do not read. */
    readonly backedUp: number;
    /** Runs that have ended. */
    readonly ended: number;
  };
};

export type UsageRequest = { readonly ask: 'usage'; readonly collect: boolean };

export const payload = JSON.stringify({ input: 'Answer the question in one line.' });
