// Calls of a fake Slack in memory, with the time that they take.
import { utf8Bytes } from '#base';
import type { JsonObject } from '#base';
import type { SlackApi, SlackReply } from '#contracts';
import { uploadMethod } from './fake-slack.ts';
import type { FakeSlack, SlackOutcome } from './fake-slack.ts';
import { textField } from './slack/workspace.ts';

/** A client of the web API that makes one attempt for each call and gives up after `timeoutMs`. */
export const fakeSlackApi = (
  slack: FakeSlack,
  { latencyMs = () => 0, timeoutMs = 10_000 }: { readonly latencyMs?: () => number; readonly timeoutMs?: number } = {},
): SlackApi => {
  const sleep = async (ms: number): Promise<void> => {
    if (ms > 0) await new Promise<void>((resolve) => void slack.clock.timer(ms, resolve));
  };

  const call = async (method: string, args: JsonObject): Promise<SlackReply> => {
    // A copy, as over a network: what the caller changes later was not sent.
    const sent = structuredClone(args);
    const toMs = Math.min(latencyMs(), timeoutMs);
    await sleep(toMs);
    const outcome = slack.receive(method, sent);
    const backMs = outcome.kind === 'silence' ? Infinity : outcome.kind === 'answer' ? outcome.delayMs + toMs : toMs;
    await sleep(Math.min(backMs, timeoutMs - toMs));
    return toMs + backMs > timeoutMs ? { kind: 'unknown' } : replyOf(outcome);
  };

  return {
    call,
    async upload({ channel, thread, name, text }) {
      const prepared = await call('files.getUploadURLExternal', { filename: name, length: utf8Bytes(text) });
      if (prepared.kind !== 'ok') return prepared;
      const id = textField(prepared.body['file_id']);
      const uploaded = await call(uploadMethod, { file_id: id, text });
      if (uploaded.kind !== 'ok') return uploaded;
      const files = [{ id, title: name }];
      return call('files.completeUploadExternal', { files, channel_id: channel, thread_ts: thread });
    },
  };
};

const replyOf = (outcome: SlackOutcome): SlackReply => {
  switch (outcome.kind) {
    case 'answer':
      if (outcome.body['ok'] === true) return { kind: 'ok', body: outcome.body };
      return { kind: 'refused', error: textField(outcome.body['error']) };
    case 'limited':
      return outcome;
    case 'status':
    case 'cut':
    case 'silence':
      return { kind: 'unknown' };
  }
};
