export type { SlackAck, SlackApi, SlackDelivery, SlackFile, SlackReceiver, SlackReply } from '#contracts';
