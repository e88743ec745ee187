/** One message of a dialog, as a client tells it. `agent`: the one that is asked. */
export type DialogMessage = { readonly by: 'person' | 'agent'; readonly text: string };
