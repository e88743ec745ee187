// Deliveries of a fake Slack without a network, in the form in which a headend gets them.
import { isObject } from '#base';
import type { SlackDelivery, SlackReceiver } from '#contracts';
import type { SlackConnection, SlackEnvelope } from './slack/delivery-queue.ts';
import type { FakeSlack } from './fake-slack.ts';
import { textField } from './slack/workspace.ts';

/** Whatever people do is delivered to this receiver or, if there are several, to one of them. */
export const connectReceiver = (slack: FakeSlack, receiver: SlackReceiver): SlackConnection =>
  slack.connect((envelope) => receiver(readEnvelope(envelope)));

const readEnvelope = ({ type, payload, retryAttempt }: SlackEnvelope): SlackDelivery => {
  if (type === 'events_api') {
    const { event, event_id: id, team_id: team } = payload;
    return {
      type: 'event',
      id: textField(id),
      team: textField(team),
      event: isObject(event) ? event : {},
      retry: retryAttempt,
    };
  }
  const id = textField(payload['trigger_id']);
  if (type === 'slash_commands') return { type: 'command', id, payload };
  switch (payload['type']) {
    case 'block_actions':
      return { type: 'action', id, payload };
    case 'view_submission':
      return { type: 'view', id, payload };
    default:
      return { type: 'shortcut', id, payload };
  }
};
