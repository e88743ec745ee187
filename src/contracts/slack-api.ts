// Slack as its headend uses it. `adapters/slack` implements it with Slack’s SDK, the testkit with a fake.
import type { JsonObject } from '#base';

/**
 * What became of a call of the web API. `refused`: Slack said no, with its error code, and nothing happened. `limited`: too many calls,
 * nothing happened. `unknown`: there was no answer, so it may have happened.
 */
export type SlackReply =
  | { readonly kind: 'ok'; readonly body: JsonObject }
  | { readonly kind: 'refused'; readonly error: string }
  | { readonly kind: 'limited'; readonly retryAfterMs: number }
  | { readonly kind: 'unknown' };

/** Slack's web API. */
export interface SlackApi {
  /** One attempt, never a retry. Never rejects. */
  call(method: string, args: JsonObject): Promise<SlackReply>;
  /** Puts a file into a thread. */
  upload(file: SlackFile): Promise<SlackReply>;
}

export type SlackFile = {
  readonly channel: string;
  readonly thread: string;
  readonly name: string;
  readonly text: string;
};

/** What Slack delivers, over its socket or over HTTP, after signatures are checked. `id`: the same if it is delivered again. */
export type SlackDelivery =
  | {
      readonly type: 'event';
      readonly id: string;
      readonly team: string;
      readonly event: JsonObject;
      readonly retry: number;
    }
  | { readonly type: 'command' | 'action' | 'view' | 'shortcut'; readonly id: string; readonly payload: JsonObject };

/** The body of the acknowledgement: an object for dialogs that stay open, undefined otherwise. */
export type SlackAck = JsonObject | undefined;

/** Resolves when the delivery may be acknowledged. Rejects if it could not be stored: Slack then delivers it again. */
export type SlackReceiver = (delivery: SlackDelivery) => Promise<SlackAck>;
