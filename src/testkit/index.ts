export { ScriptError } from './check-script.ts';
export { checkResumable } from './check-resumable.ts';
export type { RehearsedWorkflow, ResumableOptions, ResumableReport } from './check-resumable.ts';
export type { FaultPlan, FaultLog } from './choose-fault.ts';
export { countingIds } from './counting-ids.ts';
export { readScript } from './read-script.ts';
export { rehearse, unscriptedText } from './rehearse.ts';
export type { Rehearsal, RehearsalOptions } from './rehearse.ts';
export { agentLine, agentNameIn } from './request-view.ts';
export type {
  ScriptedFault,
  ScriptLine,
  RequestView,
  Script,
  ScriptedCall,
  ScriptedReply,
  ScriptedUsage,
  ScriptWithSettings,
  ToolResultView,
  When,
} from './script.ts';
export { fakeWorld } from './fake-world.ts';
export type { FakeWorld } from './fake-world.ts';
export { faultyModel } from './faulty-model.ts';
export type { FaultyModel, ModelFault } from './faulty-model.ts';
export { faultyTool } from './faulty-tool.ts';
export type { FaultyTool, ToolFault } from './faulty-tool.ts';
export { assertIsolated, checkIsolation } from './isolation/check-isolation.ts';
export type { IsolationOptions, IsolationReport } from './isolation/check-isolation.ts';
export type { Environment, Subject } from './isolation/subject.ts';
export { virtualClock } from './virtual-clock.ts';
export type { VirtualClock } from './virtual-clock.ts';
export { FakeSlack } from './fake-slack.ts';
export type { FakeSlackOptions, SlackCall } from './fake-slack.ts';
export { listenSlack } from './listen-slack.ts';
export type { SlackServer } from './listen-slack.ts';
export { fakeSlackApi } from './slack-api.ts';
export type { SlackFault, SlackFaultRule } from './slack-faults.ts';
export { connectReceiver } from './slack-receiver.ts';
export type { SlackEnvelope, SlackSent } from './slack/delivery-queue.ts';
export type { PersonMessage } from './slack/people.ts';
export { postSlackRequest, signSlackRequest } from './slack/signed-requests.ts';
export type { SlackHttpRequest } from './slack/signed-requests.ts';
export type { SlackMessage } from './slack/slack-message.ts';
export type { SlackCard, SlackLimits, SlackSession, SlackView } from './slack/workspace.ts';
