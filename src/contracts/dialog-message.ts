/** One message of a dialog, as reported by a client. `agent`: the agent the request is for. */
export type DialogMessage = { readonly by: 'person' | 'agent'; readonly text: string };
